"""`outreach mcp`: tools that only read, for an assistant of this shell's user, by the official SDK on stdio.

Only the protocol is on stdout.
"""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, cast

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

from cli.console import exit_codes
from cli.console.resources import open_context, service_settings
from shared.api.version import VERSION
from shared.assistants.quoting import NOTICE
from shared.assistants.session import Assistant, tools

LONGEST_LINE_BYTES = 1_000_000
INSTRUCTIONS = f"Tools of an email outreach account, which only read. {NOTICE}"


async def run(options: Namespace) -> None:
    """Serve until the client closes stdin."""
    settings = service_settings(options)
    async with AsyncExitStack() as stack:
        contexts = {
            name: await stack.enter_async_context(open_context(settings, workspace))
            for name, workspace in settings.workspaces.items()
        }
        server = _server(Assistant(settings, contexts))
        # The SDK only goes through its lines.
        stdin = cast("anyio.AsyncFile[str]", _lines())
        reading, writing = await stack.enter_async_context(stdio_server(stdin))
        await server.run(reading, writing, server.create_initialization_options())


async def _lines() -> AsyncIterator[str]:
    """The lines of stdin; the SDK's own reader would keep one without an end in memory. Raises `Failed`."""
    read = partial(sys.stdin.buffer.readline, LONGEST_LINE_BYTES)
    while line := await anyio.to_thread.run_sync(read, abandon_on_cancel=True):
        if len(line) == LONGEST_LINE_BYTES:
            raise exit_codes.Failed(f"a message has more than {LONGEST_LINE_BYTES:,} bytes")
        yield line.decode("utf-8", "replace")


def _server(assistant: Assistant) -> Server[Any]:
    hints = types.ToolAnnotations(
        read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )

    async def list_tools(
        _context: ServerRequestContext[Any, Any], _page: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(**tool, annotations=hints) for tool in tools()])

    async def call_tool(
        _context: ServerRequestContext[Any, Any], call: types.CallToolRequestParams
    ) -> types.CallToolResult:
        outcome = await assistant.call(call.name, call.arguments or {})
        content = dict(outcome.content)
        # As text too, for clients of revisions without structured content.
        texts = (outcome.summary, json.dumps(content, ensure_ascii=False))
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text) for text in texts],
            structured_content=content,
            is_error=outcome.failed,
        )

    return Server(
        "outreach",
        version=VERSION,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
