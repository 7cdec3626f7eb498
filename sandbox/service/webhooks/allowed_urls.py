"""Allowed webhook addresses: https to public hosts, http to this machine, no other private hosts."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from sandbox.service.base.errors import BadRequest

_URL_LENGTH = 2_048
_LABEL = r"[0-9A-Za-z]([0-9A-Za-z-]{0,61}[0-9A-Za-z])?"
_HOST_NAME = re.compile(rf"(?=.{{1,253}}\.?$)({_LABEL}\.)*{_LABEL}\.?", re.ASCII)
"""The name of a host, with or without the dot at its end (https://www.rfc-editor.org/rfc/rfc1123#section-2)."""


def check_url(url: str) -> str:
    """The address as given, if deliveries may go there.

    Raises `BadRequest`: it isn't a URL, or leads into a private network.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise BadRequest("The url can't be read.", field="url") from None
    if (
        len(url) > _URL_LENGTH
        or not (_HOST_NAME.fullmatch(host) or _address(host))
        or port == 0
        or not url.isascii()
        or not url.isprintable()
        or " " in url
    ):
        problem = "The url must be a plain ASCII address with the name or IP address of a host."
        raise BadRequest(problem, field="url")
    if parts.username is not None or parts.password is not None:
        raise BadRequest("The url must not contain a user or password.", field="url")
    if parts.scheme == "http" and is_loopback(host):
        return url
    if parts.scheme != "https":
        raise BadRequest("The url must be https (http is for loopback hosts only).", field="url")
    if not is_public(host) and not is_loopback(host):
        raise BadRequest("The url's host is private. Deliveries only go to public hosts.", field="url")
    return url


def is_loopback(host: str) -> bool:
    address = _address(host)
    return address.is_loopback if address else host.lower().rstrip(".") == "localhost"


def is_public(host: str) -> bool:
    """A host outside of private networks, as far as its name tells."""
    address = _address(host)
    if address is not None:
        return address.is_global and not address.is_multicast
    name = host.lower().rstrip(".")
    return (
        "." in name
        and not name.endswith((".local", ".internal", ".localhost", ".lan"))
        and not _numeric(name)
    )


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    if getattr(address, "scope_id", None):
        return None  # a zone names an interface of the sender's machine
    mapped = getattr(address, "ipv4_mapped", None)
    return mapped or address


def _numeric(name: str) -> bool:
    """`0x7f.1`, `2130706433` and their kin: spellings of an address that only resolvers understand."""
    last = name.rpartition(".")[2]
    return last.isdigit() or last.startswith("0x")
