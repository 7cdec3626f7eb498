"""The links in a message's text."""

from __future__ import annotations

import re

_LINK = re.compile(r"https?://[^\s<>|]+")


def links_of(text: str) -> tuple[str, ...]:
    """Each address once, within `<...>` and with a label or without; punctuation after it isn't part of it."""
    return tuple(dict.fromkeys(found.rstrip(".,;:!?)'\"") for found in _LINK.findall(text)))
