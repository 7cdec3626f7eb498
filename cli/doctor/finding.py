"""The result of one check. Pure."""

from __future__ import annotations

from shared.domain.card import Tone
from shared.frozen import frozen

PATIENCE_SECONDS = 60
"""A check waits so long for the other side: a Raspberry Pi, or a busy machine, takes many for what others do in one."""


@frozen
class Finding:
    """A check, its result (BAD makes the doctor exit with 1), what was found, and the fix."""

    check: str
    tone: Tone
    found: str
    fix: str = ""


def good(check: str, found: str) -> Finding:
    return Finding(check=check, tone=Tone.GOOD, found=found)


def doubtful(check: str, found: str, *, fix: str) -> Finding:
    return Finding(check=check, tone=Tone.WARN, found=found, fix=fix)


def bad(check: str, found: str, *, fix: str) -> Finding:
    return Finding(check=check, tone=Tone.BAD, found=found, fix=fix)
