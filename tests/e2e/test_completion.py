"""Tab in a real bash."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

OUTREACH = str(Path(sys.executable).with_name("outreach"))
SCRIPT = """
eval "$3"
COMP_LINE=$2 COMP_POINT=${#2} COMP_TYPE=9
_python_argcomplete "$1"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def complete_in_bash(typed: str, *, folder: Path) -> list[str]:
    """What bash offers after `outreach` and the text."""
    setup = subprocess.run([OUTREACH, "completion", "bash"], capture_output=True, text=True, check=True)
    ran = subprocess.run(
        ["bash", "-c", SCRIPT, "_", OUTREACH, f"outreach {typed}", setup.stdout],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [line.rstrip() for line in ran.stdout.splitlines() if line.strip()]


def test_bash_offers_what_the_program_answers(tmp_path: Path) -> None:
    (tmp_path / "leads.csv").touch()
    for typed, offered in {
        "webh": ["webhooks"],
        "import lea": ["leads.csv"],
    }.items():
        assert complete_in_bash(typed, folder=tmp_path) == offered
