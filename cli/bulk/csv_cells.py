"""Cells that no spreadsheet takes for a formula, and back again (contract, section 5). Pure."""

from __future__ import annotations

DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # full-width forms count, too


def guarded(text: str) -> str:
    return f"'{text}" if _calculates(text) else text


def unguarded(text: str) -> str:
    """The inverse of `guarded`, for every text."""
    return text[1:] if text[:1] == "'" and _calculates(text[1:]) else text


def _calculates(text: str) -> bool:
    bare = text.lstrip("'")
    return bare.startswith(DANGEROUS) and not _is_number(bare)


def _is_number(text: str) -> bool:
    digits = text[1:].replace(".", "", 1)
    return text[0] in "+-" and digits.isascii() and digits.isdecimal()
