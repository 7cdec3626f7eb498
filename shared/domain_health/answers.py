"""The answers of DNS, as the checks ask for them. Pure: whoever makes the checks brings the resolver, or a zone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from shared.domain_health.report import Code
from shared.frozen import frozen


@frozen
class Answer:
    """A resolver's answer: the records of a name and type, none where there are none."""

    records: tuple[bytes, ...] = ()
    """TXT as text, with its strings joined (RFC 7208, 3.3); others as zone files write them."""
    is_gone: bool = False
    """There is no such name; else there may be no records of this type."""


class Failed(Exception):
    """An answer that a check needs is unknown: what DNS has there was not learned."""

    def __init__(self, code: Code) -> None:
        self.code = code
        super().__init__(code)


Ask = Callable[[str, str], Awaitable[Answer]]
"""Looks a name and type up. Raises `Failed`."""


async def texts_at(ask: Ask, name: str) -> tuple[str, ...]:
    """The TXT records of a name; bytes beyond ASCII as they are, one character each. Raises `Failed`."""
    return tuple(record.decode("latin-1") for record in (await ask(name, "TXT")).records)
