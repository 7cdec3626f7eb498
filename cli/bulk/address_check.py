"""Which addresses are not worth sending to the service, and why. Pure; strict about form, not about taste."""

from __future__ import annotations

import re

_LOCAL = re.compile(r"[^\s@<>(),:;\\\"\[\]\x00-\x1f\x7f]{1,64}")
_LABEL = re.compile(r"[^\W_](?:[\w-]{0,61}[^\W_])?")
_TOP = re.compile(r"[^\W\d_]{2,63}|xn--[a-z0-9-]{1,59}", re.IGNORECASE)
LONGEST = 254


def cleaned(text: str) -> str:
    """Without the space around it and a leading `mailto:`."""
    text = text.strip()
    return text[7:] if text[:7].lower() == "mailto:" else text


def fault(address: str) -> str | None:
    """What is wrong with an address, as a reason to show; None where it can be sent."""
    if not address:
        return "no e-mail address"
    local, at, domain = address.rpartition("@")
    if not at or not _LOCAL.fullmatch(local) or ".." in local or local[0] == "." or local[-1] == ".":
        return "not an e-mail address"
    labels = domain.split(".")
    if (
        len(labels) < 2
        or not all(_LABEL.fullmatch(label) for label in labels)
        or not _TOP.fullmatch(labels[-1])
    ):
        return "not a mail domain"
    return "longer than an e-mail address can be" if len(address) > LONGEST else None
