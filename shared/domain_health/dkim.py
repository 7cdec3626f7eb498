"""DKIM keys (RFC 6376), their strength (RFC 8301), and where the big senders have them. Pure."""

from __future__ import annotations

import base64
import binascii
from enum import StrEnum

from shared.frozen import frozen

SELECTORS = (
    "google",  # Google Workspace
    "selector1",  # Microsoft 365
    "selector2",
    "s1",  # SendGrid, and many that copied it
    "s2",
    "k1",  # Mailchimp, Mailgun
    "k2",
    "k3",
    "mandrill",
    "smtp",  # Mailgun
    "mx",
    "krs",
    "pm",  # Postmark
    "mail",  # Brevo
    "brevo1",
    "brevo2",
    "mailjet",
    "zoho",  # Zoho Mail
    "zmail",
    "protonmail",
    "protonmail2",
    "protonmail3",
    "fm1",  # Fastmail
    "fm2",
    "fm3",
    "sig1",  # iCloud
    "hs1",  # HubSpot
    "hs2",
    "default",
    "dkim",
)
PROBE = "no-such-selector"
"""A selector that nobody has: what is found under it is a wildcard's."""
FEWEST_BITS = 1024
"""Bits of an RSA key; receivers must not accept shorter ones (RFC 8301, 3.2)."""
LONGEST = 16_384
"""Characters of a record that is read; a key of 16,384 bits has 2,700."""


class Key(StrEnum):
    """The state of a selector's record."""

    GOOD = "good"
    WEAK = "weak"
    REVOKED = "revoked"
    INVALID = "invalid"
    UNREADABLE = "unreadable"
    """The algorithm isn't known here: the key may be good."""


@frozen
class DkimKey:
    """A record under a selector."""

    state: Key
    bits: int | None = None


def parse(record: str) -> DkimKey | None:
    """A key's record; None for a text that is none."""
    tags = _tags(record[:LONGEST])
    if tags is None or "p" not in tags or ("v" in tags and tags["v"] != "DKIM1"):
        return None
    value = "".join(tags["p"].split())
    if not value:
        return DkimKey(state=Key.REVOKED)
    try:
        data = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return DkimKey(state=Key.INVALID)
    if tags.get("h", "sha256") and "sha256" not in [
        one.strip().lower() for one in tags.get("h", "sha256").split(":")
    ]:
        return DkimKey(state=Key.WEAK)  # SHA-1 alone (RFC 8301, 3.1)
    kind = tags.get("k", "rsa").lower()
    if kind == "ed25519":
        return DkimKey(state=Key.GOOD if len(data) == 32 else Key.INVALID)
    return _rsa(data) if kind == "rsa" else DkimKey(state=Key.UNREADABLE)


def _tags(record: str) -> dict[str, str] | None:
    tags: dict[str, str] = {}
    for part in record.split(";"):
        name, sign, value = part.partition("=")
        if not part.strip():
            continue
        if not sign or name.strip() in tags:
            return None
        tags[name.strip()] = value.strip()
    return tags


def _rsa(data: bytes) -> DkimKey:
    """A SubjectPublicKeyInfo, or a bare RSAPublicKey, which some publish."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    try:
        key = load_der_public_key(data)
    except (ValueError, UnsupportedAlgorithm):  # also of fewer than 512 bits
        return DkimKey(state=Key.INVALID)
    if not isinstance(key, RSAPublicKey):
        return DkimKey(state=Key.INVALID)
    return DkimKey(state=Key.WEAK if key.key_size < FEWEST_BITS else Key.GOOD, bits=key.key_size)
