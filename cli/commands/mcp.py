"""`outreach mcp`: the tools of this shell's user over stdio. Only the protocol is on stdout."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from contextlib import AsyncExitStack
from importlib.util import find_spec
from typing import TYPE_CHECKING

from cli.console import exit_codes

if TYPE_CHECKING:
    from shared.settings import Settings

MISSING = "This needs the package of the protocol: pip install 'outreach-ops[mcp]'"


def run(options: Namespace) -> int:
    """Serve until the client closes stdin."""
    from shared.settings import Need, load

    if find_spec("mcp") is None:
        raise exit_codes.Failed(MISSING)
    asyncio.run(_serve(load(config=options.config, needs=(Need.API,))))
    return exit_codes.DONE


async def _serve(settings: Settings) -> None:
    from bot.assistants.protocol import serve_stdio
    from cli.console.resources import open_context
    from shared import operations
    from shared.assistants.session import AssistantSession
    from shared.commands import Invocation
    from shared.commands.result import Result

    async with AsyncExitStack() as stack:
        contexts = {
            name: await stack.enter_async_context(open_context(settings, workspace))
            for name, workspace in settings.workspaces.items()
        }

        async def act(invocation: Invocation) -> Result:
            workspace = settings.workspace(invocation.workspace)
            return await operations.run(invocation, contexts[workspace.name])

        await serve_stdio(AssistantSession(act))
