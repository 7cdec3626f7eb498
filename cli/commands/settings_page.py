"""docs/settings.md, made from the file that `outreach init` writes: `python -m cli.commands.settings_page FILE`."""

from __future__ import annotations

import sys
from pathlib import Path

from shared.settings import commented_template

_HEAD = """\
# Settings

From the environment, or from `outreach.toml`: the file that `--config` names, else `$OUTREACH_CONFIG`, else
`./outreach.toml`, else the one in your configuration folder. The environment wins. Everything missing or wrong is
reported at once, by name, with its cure, and the command ends with exit code 2.

`outreach init` writes this file, for you to uncomment what you need:
"""


def page() -> str:
    return f"{_HEAD}\n```toml\n{commented_template().rstrip()}\n```\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
