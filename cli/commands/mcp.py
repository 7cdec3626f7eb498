"""`outreach mcp`: the tools of this shell's user over stdio. Only the protocol is on stdout."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from contextlib import AsyncExitStack
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

from cli.console import exit_codes

if TYPE_CHECKING:
    from shared.settings import Settings

MISSING = "This needs the package of the protocol: pip install 'outreach-ops[mcp]'"


def run(options: Namespace) -> int:
    """Serve until the client closes stdin, or manage the tokens for `/mcp`."""
    from shared.settings import Need, load

    if options.what:
        from cli.commands.mcp_tokens import manage

        return asyncio.run(manage(load(config=options.config), options))

    if find_spec("mcp") is None:
        raise exit_codes.Failed(MISSING)
    asyncio.run(_serve(load(config=options.config, needs=(Need.API,))))
    return exit_codes.DONE


async def _serve(settings: Settings) -> None:
    from bot.assistants.protocol import serve_stdio
    from cli.commands.mcp_confirm import TerminalProposals
    from cli.console.resources import open_context
    from shared import operations
    from shared.assistants.dry_run import reading_only
    from shared.assistants.gate import Gate
    from shared.assistants.session import AssistantSession, Caller
    from shared.commands import Invocation
    from shared.commands.result import Result
    from shared.operations.context import CommandContext
    from shared.operations.outcome import need_records
    from shared.records.audit import ASSISTANT

    async with AsyncExitStack() as stack:
        opened = {
            name: await stack.enter_async_context(open_context(settings, workspace))
            for name, workspace in settings.workspaces.items()
        }
        own = opened[settings.default_workspace]
        actor = replace(own.actor, via=ASSISTANT)
        contexts = {name: replace(context, actor=actor) for name, context in opened.items()}

        def context_of(invocation: Invocation) -> CommandContext:
            return contexts[settings.workspace(invocation.workspace).name]

        async def act(invocation: Invocation) -> Result:
            return await operations.run(invocation, reading_only(context_of(invocation)))

        caller = Caller(actor=actor, records=need_records(own), now=own.now, settings=settings)
        proposals = TerminalProposals(context_of)
        await serve_stdio(AssistantSession(caller, act, gate=Gate(), proposals=proposals))
