"""Looks a domain up in the DNS at once, for a person who asks before the bot has checked it."""

from __future__ import annotations

import asyncio

from shared.commands.run import CommandContext
from shared.domain_health.lookup import Lookup, resolvers_of, system_resolvers
from shared.domain_health.report import DomainReport

LOOK_UP_SECONDS = 8.0
"""A person gets an answer within ten."""


async def look_up(name: str, context: CommandContext) -> DomainReport | None:
    """The domain's report; None where the DNS isn't checked, or doesn't answer in time."""
    settings = context.settings.dns if context.settings else None
    if settings is None or not settings.enabled:
        return None
    resolvers = resolvers_of(settings.resolvers) or system_resolvers()
    lookup = Lookup(resolvers, selectors=settings.selectors)
    try:
        async with asyncio.timeout(LOOK_UP_SECONDS):
            return (await lookup.look(name, None, context.now())).followed.report
    except TimeoutError:
        return None
