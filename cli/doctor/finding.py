"""What one check found. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from shared.domain.card import Tone


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A check, how it stands (BAD makes the doctor exit with 1), what was seen, and the cure."""

    check: str
    tone: Tone
    word: str
    cure: str = ""


def good(check: str, word: str) -> Finding:
    return Finding(check=check, tone=Tone.GOOD, word=word)


def doubtful(check: str, word: str, *, cure: str) -> Finding:
    return Finding(check=check, tone=Tone.WARN, word=word, cure=cure)


def bad(check: str, word: str, *, cure: str) -> Finding:
    return Finding(check=check, tone=Tone.BAD, word=word, cure=cure)
