"""`outreach mcp`: tools that only read, for an assistant of this shell's user, by the official SDK on stdio.

Only the protocol is on stdout.
"""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Any

import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

from cli.console import exit_codes
from cli.console.resources import open_context
from shared.assistants.quoting import NOTICE
from shared.assistants.reading import WouldChangeError, reading_only
from shared.assistants.session import AssistantSession, Caller, Outcome
from shared.assistants.tools import Tool, tools
from shared.commands import Invocation
from shared.commands.base import Question, Result
from shared.commands.run import run as run_command
from shared.records.audit import ASSISTANT
from shared.settings import Need, Settings, load

NAME = "outreach"
LONGEST_LINE_BYTES = 10 * 10**6
INSTRUCTIONS = f"Tools of an email outreach account, which only read. {NOTICE}"


def run(options: Namespace) -> int:
    """Serve until the client closes stdin."""
    asyncio.run(_serve(load(config=options.config, needs=(Need.API,))))
    return exit_codes.DONE


async def _serve(settings: Settings) -> None:
    async with AsyncExitStack() as stack:
        opened = {
            name: await stack.enter_async_context(open_context(settings, workspace))
            for name, workspace in settings.workspaces.items()
        }
        own = opened[settings.default_workspace]
        actor = replace(own.actor, via=ASSISTANT)
        # A second bar: a command that writes without asking finds no method that does.
        contexts = {name: reading_only(replace(context, actor=actor)) for name, context in opened.items()}

        async def act(invocation: Invocation) -> Result:
            workspace = settings.workspace(invocation.workspace).name
            done = await run_command(invocation, contexts[workspace])
            # What asks would change something; the one who could confirm it isn't here.
            if isinstance(done, Question):
                raise WouldChangeError
            return done

        caller = Caller(actor=actor, records=own.records, now=own.now, settings=settings)
        await _serve_stdio(_server(AssistantSession(caller, act)))


def _server(session: AssistantSession) -> Server[Any]:
    async def list_tools(
        _context: ServerRequestContext[Any, Any], _page: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(tool) for tool in tools()])

    async def call_tool(
        _context: ServerRequestContext[Any, Any], call: types.CallToolRequestParams
    ) -> types.CallToolResult:
        return _result(await session.call(call.name, call.arguments or {}))

    return Server(
        NAME,
        version=version("outreach-ops"),
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _serve_stdio(server: Server[Any]) -> None:
    """Serve one client until it leaves."""
    stdin: Any = _lines()
    async with stdio_server(stdin) as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


async def _lines() -> AsyncIterator[str]:
    """The lines of stdin; one without end would fill the memory, so the rest of it is dropped as it comes."""
    read = partial(anyio.to_thread.run_sync, sys.stdin.buffer.readline, LONGEST_LINE_BYTES)
    while line := await read():
        # Bytes that are no text are refused as one bad line, and don't end the session.
        yield line.decode("utf-8", "replace")
        while len(line) == LONGEST_LINE_BYTES and not line.endswith(b"\n"):
            line = await read()


def _tool(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.summary,
        description=tool.description,
        input_schema=tool.schema,
        annotations=types.ToolAnnotations(
            read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
    )


def _result(outcome: Outcome) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text) for text in outcome.texts],
        structured_content=dict(outcome.content),
        is_error=outcome.failed,
    )
