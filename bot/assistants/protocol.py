"""The official SDK's server over an `AssistantSession`: the only module that knows the SDK's server."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Sequence
from importlib.metadata import version
from typing import Any, BinaryIO, cast

import anyio
import anyio.to_thread
import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

from bot.blockkit.tool_blocks import result_meta, tool_meta
from shared.assistants import documents, prompts
from shared.assistants.quoting import NOTICE
from shared.assistants.session import AssistantSession, Outcome, failure
from shared.assistants.tools import Tool, tools
from shared.commands import Command, Role

NAME = "outreach"
LONGEST_LINE = 256 * 1024
"""Bytes of a message on stdio."""
INSTRUCTIONS = f"Tools of an email outreach account. {NOTICE}"

SESSION = "outreach.session"
"""Where the scope of a request has the session."""
FindSession = Callable[[ServerRequestContext[Any, Any]], AssistantSession | None]
"""None: of somebody who isn't named, such as Slack itself while it looks for tools."""


def build_server(session_of: FindSession) -> Server[Any]:
    """A server for the people whose sessions `session_of` finds by the request."""

    async def list_tools(
        context: ServerRequestContext[Any, Any], _page: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[_tool(one) for one in _tools(session_of(context))],
            ttl_ms=0,  # roles change
            cache_scope="private",
        )

    async def call_tool(
        context: ServerRequestContext[Any, Any], call: types.CallToolRequestParams
    ) -> types.CallToolResult:
        session = session_of(context)
        if session is None:
            return _result(failure("Slack didn't say who asks. Ask through Slack's assistant."))
        outcome = await session.call(call.name, call.arguments or {})
        return _result(outcome, meta=_blocks(outcome, session) if session.in_slack else None)

    return Server(
        NAME,
        version=version("outreach-ops"),
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=_list_pages,
        on_read_resource=_read_page,
        on_list_prompts=_list_prompts,
        on_get_prompt=_get_prompt,
    )


async def _list_pages(_context: Any, _page: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    return types.ListResourcesResult(
        resources=[
            types.Resource(
                uri=page.uri,
                name=page.path,
                title=page.title,
                description=page.summary,
                mime_type=documents.KIND,
            )
            for page in documents.pages().values()
        ]
    )


async def _read_page(_context: Any, asked: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    try:
        text = documents.read(str(asked.uri))
    except documents.NoSuchPageError:
        raise MCPError(types.INVALID_PARAMS, "There is no such page. List the resources.") from None
    content = types.TextResourceContents(uri=asked.uri, mime_type=documents.KIND, text=text)
    return types.ReadResourceResult(contents=[content])


async def _list_prompts(_context: Any, _page: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=prompt.name,
                title=prompt.title,
                description=prompt.summary,
                arguments=[
                    types.PromptArgument(name=blank.name, description=blank.means, required=blank.required)
                    for blank in prompt.blanks
                ],
            )
            for prompt in prompts.PROMPTS.values()
        ]
    )


async def _get_prompt(_context: Any, asked: types.GetPromptRequestParams) -> types.GetPromptResult:
    try:
        text = prompts.fill(asked.name, asked.arguments or {})
    except prompts.PromptError as error:
        raise MCPError(types.INVALID_PARAMS, str(error)) from None
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.GetPromptResult(description=prompts.PROMPTS[asked.name].summary, messages=[message])


async def serve_stdio(session: AssistantSession) -> None:
    """Serve one client on stdin and stdout until it leaves."""
    server = build_server(lambda _context: session)
    lines = cast("anyio.AsyncFile[str]", _Lines(sys.stdin.buffer))
    async with stdio_server(lines) as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


class _Lines:
    """The lines of stdin; one over the limit is never held, and reads as no message."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def __aiter__(self) -> AsyncIterator[str]:
        return self._read()

    async def _read(self) -> AsyncIterator[str]:
        while line := await anyio.to_thread.run_sync(self._line, abandon_on_cancel=True):
            yield line

    def _line(self) -> str:
        line = self._stream.readline(LONGEST_LINE)
        if len(line) < LONGEST_LINE or line.endswith(b"\n"):
            return line.decode(errors="replace")
        while line and not line.endswith(b"\n"):
            line = self._stream.readline(LONGEST_LINE)
        return "too long\n"


def session_of_request(context: ServerRequestContext[Any, Any]) -> AssistantSession | None:
    """The session that the request came with over HTTP."""
    session: AssistantSession | None = getattr(context.request, "scope", {}).get(SESSION)
    return session


def _tools(session: AssistantSession | None) -> Sequence[Tool]:
    return session.tools() if session else tools(changes=False, allowed=_reads)


def _reads(command: Command) -> bool:
    return Role.READER.includes(command.role)


def _tool(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.summary,
        description=tool.description,
        input_schema=tool.schema,
        annotations=types.ToolAnnotations(
            read_only_hint=tool.reads_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        ),
        _meta=tool_meta(),
    )


def _blocks(outcome: Outcome, session: AssistantSession) -> dict[str, Any] | None:
    """The card for Slack's assistant; its buttons call only tools that the person is offered."""
    if outcome.card is None:
        return None
    return result_meta(outcome.card, tools={tool.name for tool in session.tools()})


def _result(outcome: Outcome, *, meta: dict[str, Any] | None = None) -> types.CallToolResult:
    return types.CallToolResult(
        _meta=meta,
        content=[types.TextContent(type="text", text=text) for text in outcome.texts],
        structured_content=dict(outcome.content),
        is_error=outcome.failed,
    )
