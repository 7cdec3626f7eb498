"""Whether somebody sits in front: who can be asked, and who can be shown a screen."""

from __future__ import annotations

import sys


def attended() -> bool:
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty())
