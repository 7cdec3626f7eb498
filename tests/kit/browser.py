"""The dashboard in browsers: its server, with real connections."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

from tui.entrypoints import web

PROXIED = "dash.example.com"
"""The name under which browsers come through a proxy."""


@contextlib.asynccontextmanager
async def served(*command: str) -> AsyncIterator[tuple[aiohttp.ClientSession, str]]:
    """A browser, and the address of a dashboard whose viewers this command starts; they have little time to end."""
    patched = pytest.MonkeyPatch()
    patched.setattr(web, "END_SECONDS", 0.5)
    stop, told = asyncio.Event(), asyncio.Queue[str]()
    serving = web.serve(command, port=0, stop=stop, announce=told.put_nowait, hosts=(PROXIED,))
    task = asyncio.create_task(serving, name="web")
    async with aiohttp.ClientSession() as browser:
        try:
            async with asyncio.timeout(10):
                address = await told.get()
            yield browser, address
        finally:
            stop.set()
            async with asyncio.timeout(20):
                await task
            patched.undo()


def viewer_command(config: Path) -> list[str]:
    """The command of a viewer with these settings."""
    return web.viewer_command(config=config, workspace=None, wall=False)


async def raw_status(address: str, request: bytes) -> int:
    """The status of a request that no client would send so."""
    place = urlsplit(address)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    writer.write(request)
    status = (await reader.readline()).split()[1]
    writer.close()
    return int(status)
