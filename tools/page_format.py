"""Formats the stand-in's page: `python -m tools.page_format [--check]`.

With `--check`, as in `make lint`, nothing is written; a file that the formatter would change, or a line over 120
characters, is an error.
"""

from __future__ import annotations

import sys
from pathlib import Path

import cssbeautifier
import jsbeautifier

FOLDER = Path(__file__).parents[1] / "sandbox" / "slack" / "static"
MOST, PASSES = 120, 4


def formatted(file: Path) -> str:
    beautifier = cssbeautifier if file.suffix == ".css" else jsbeautifier
    options = beautifier.default_options()
    options.indent_size = 2
    options.end_with_newline = True
    if beautifier is jsbeautifier:
        options.wrap_line_length = 112
        options.brace_style = "collapse,preserve-inline"
        options.operator_position = "after-newline"
    text = file.read_text("utf-8")
    for _ in range(PASSES):  # a wrapped line can be wrapped better in the next pass
        text = str(beautifier.beautify(text, options))
    return text


def problems(file: Path) -> list[str]:
    text = formatted(file)
    found = [] if text == file.read_text("utf-8") else [f"{file}: not as the formatter writes it"]
    lines = enumerate(text.splitlines(), start=1)
    return found + [f"{file}:{number}: over {MOST} characters" for number, line in lines if len(line) > MOST]


def main() -> int:
    files = sorted(one for one in FOLDER.iterdir() if one.suffix in (".js", ".css"))
    if "--check" not in sys.argv:
        for file in files:
            file.write_text(formatted(file), "utf-8")
    found = [line for file in files for line in problems(file)]
    sys.stderr.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
