"""A shell that runs the real program, in this process."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cli.main import main


@dataclass(frozen=True)
class Run:
    """What a run of the program came to."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The JSON on stdout."""
        return json.loads(self.out)


class Shell:
    """Types command lines, with settings of its own."""

    def __init__(self, home: Path, capture: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self.home = home
        self.set = patch.setenv
        self.unset = patch.delenv
        self._capture = capture
        for name in [name for name in os.environ if name.startswith(("OUTREACH_", "SLACK_"))]:
            patch.delenv(name)
        self.use({"HOME": str(home), "OUTREACH_DATABASE_URL": f"sqlite:///{home}/outreach.db"})

    def use(self, environ: Mapping[str, str]) -> None:
        """Take these settings, such as those of an account or of a team."""
        for name, value in environ.items():
            self.set(name, value)

    def run(self, *words: str) -> Run:
        """Run `outreach WORDS…`. Not from within an event loop: call it in a thread there."""
        self._capture.readouterr()
        code = main(words)
        output = self._capture.readouterr()
        return Run(code, output.out, output.err)
