"""The dashboard in browsers: real connections, real viewers, a real service that counts what it is told."""

from __future__ import annotations

import asyncio
import io
import re
import sys
import zipfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import psutil
import pytest

from sandbox.service import Service
from tests.kit.waiting import until
from tui.entrypoints import web

ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")
HOST = "dash.example.com"


@asynccontextmanager
async def served(*command: str) -> AsyncIterator[str]:
    """The address of a dashboard in the web, until the end of the block."""
    stop, told = asyncio.Event(), asyncio.Queue[str]()
    serving = web.serve(command, port=0, stop=stop, announce=told.put_nowait, hosts=(HOST,))
    task = asyncio.create_task(serving, name="web")
    try:
        async with asyncio.timeout(10):
            address = await told.get()
        yield address
    finally:
        stop.set()
        async with asyncio.timeout(20):
            await task


@asynccontextmanager
async def opened(
    service: Service, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[aiohttp.ClientSession, str]]:
    """A browser, and the address of a dashboard of the service's first workspace."""
    config = folder / "outreach.toml"
    key = next(iter(service.api_keys.values()))
    config.write_text(f'base_url = "{service.base_url}"\napi_key = "{key}"\nstate_dir = "{folder}"\n')
    config.chmod(0o600)
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))
    command = web.viewer_command(config=config, workspace=None, wall=False)
    async with served(*command) as address, aiohttp.ClientSession() as browser:
        yield browser, address


async def see(viewer: aiohttp.ClientWebSocketResponse, wanted: bytes) -> None:
    """Wait until a viewer's screen has shown some words."""
    seen = b""
    async with asyncio.timeout(40):
        while wanted not in ESCAPES.sub(b"", seen):
            message = await viewer.receive()
            assert message.type in {aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT}, seen[-400:]
            seen += message.data if isinstance(message.data, bytes) else b""


async def press(viewer: aiohttp.ClientWebSocketResponse, *keys: str) -> None:
    for key in keys:
        await viewer.send_json(["stdin", key])
        # As fast as a person types: Esc and a key that come together are one key with Alt.
        await asyncio.sleep(0.2)


async def wait_for_packet(viewer: aiohttp.ClientWebSocketResponse, kind: str) -> str:
    """Wait for what a viewer's page is told besides the picture."""
    async with asyncio.timeout(30):
        while True:
            message = await viewer.receive()
            assert message.type in {aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT}
            if message.type is aiohttp.WSMsgType.TEXT and (packet := message.json())[0] == kind:
                return str(packet[1])


@pytest.mark.e2e
async def test_a_viewer_exports_into_its_browser_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncExitStack() as stack:
        service = await stack.enter_async_context(Service())
        browser, address = await stack.enter_async_context(opened(service, tmp_path, monkeypatch))
        viewer = await browser.ws_connect(f"{address}ws?width=160&height=48")
        await see(viewer, b" at risk")
        await press(viewer, "2", "p", "y")
        await press(viewer, ":", *"pause all", "\r")
        await see(viewer, b"Nothing was changed.")
        await press(viewer, "\x1b", ":", *"export", "\r")
        key = await wait_for_packet(viewer, "deliver_file_start")
        async with browser.get(f"{address}download/{key}") as answer:
            assert "outreach-" in answer.headers["Content-Disposition"]
            archive = zipfile.ZipFile(io.BytesIO(await answer.read()))
        assert {name.rpartition(".")[2] for name in archive.namelist()} == {"csv", "txt", "svg"}
        async with browser.get(f"{address}download/nonsense") as answer:
            assert answer.status == 404
        await viewer.close()
        async with browser.get(f"{service.control_url}/summary") as answer:
            # Counted by the service, whatever the screen says.
            assert "PATCH" not in str(await answer.json())


@pytest.mark.e2e
async def test_the_page_is_complete_and_nothing_comes_from_outside() -> None:
    async with served() as address, aiohttp.ClientSession() as browser:
        async with browser.get(f"{address}?fontsize=28") as answer:
            page = await answer.text()
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert 'data-font-size="28"' in page
        assert f'data-session-websocket-url="ws://{urlsplit(address).netloc}/ws"' in page
        assets = re.findall(rf'"({re.escape(address)}static/[^"]+\.(?:js|css))"', page)
        assert len(assets) == 2
        for asset in assets:
            async with browser.get(asset) as answer:
                assert answer.status == 200, asset
        # Behind a proxy the browser is at another address, and a page of https may open no ws://.
        forwarded = {"Host": HOST, "X-Forwarded-Proto": "https"}
        async with browser.get(address, headers=forwarded) as answer:
            assert f'"wss://{HOST}/ws"' in await answer.text(), "the address that the browser shows"


@pytest.mark.e2e
async def test_foreign_names_and_pages_of_other_sites_are_refused() -> None:
    async with served() as address, aiohttp.ClientSession() as browser:
        netloc = urlsplit(address).netloc
        # DNS rebinding: a foreign page's name may lead to this machine, but its Host header keeps the name.
        for path in ("", "ws", "static/js/textual.js", "download/x"):
            async with browser.get(f"{address}{path}", headers={"Host": "rebound.example"}) as answer:
                assert answer.status == 403, path
        for origin in ("http://elsewhere.example", "null", f"http://{netloc}.evil.example", "http://["):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await browser.ws_connect(f"{address}ws", headers={"Origin": origin})
            assert refused.value.status == 403, origin
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await browser.ws_connect(f"{address}ws", headers={"Host": HOST, "Origin": f"http://{netloc}"})
        assert refused.value.status == 403, "each name is an origin of its own"
        host = netloc.encode()
        for odd in (b"Host: [", b"Host: %b\r\nOrigin: http://[" % host):
            assert await raw_status(address, b"GET / HTTP/1.1\r\n%b\r\n\r\n" % odd) == b"403", odd


async def raw_status(address: str, request: bytes) -> bytes:
    """The status of a request that no client would send so."""
    place = urlsplit(address)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    writer.write(request)
    status = (await reader.readline()).split()[1]
    writer.close()
    return status


SLEEPER = (sys.executable, "-c", "import time; time.sleep(600)")


def asleep() -> int:
    found = psutil.Process().children(recursive=True)
    return sum(one.status() != psutil.STATUS_ZOMBIE and SLEEPER[2] in one.cmdline() for one in found)


async def test_a_fifth_viewer_is_refused_and_none_outlives_its_tab(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "END_SECONDS", 0.5)
    async with aiohttp.ClientSession() as browser, served(*SLEEPER) as address:
        tabs = [await browser.ws_connect(f"{address}ws") for _ in range(web.MOST_VIEWERS)]
        await until(lambda: asleep() == 4, seconds=20)
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await browser.ws_connect(f"{address}ws")
        assert refused.value.status == 503
        async with browser.get(address) as answer:
            assert answer.status == 503
            assert "Close another tab" in await answer.text()
        await tabs.pop().close()
        await until(lambda: asleep() == 3, seconds=20)
        # Anybody can write what they like into the address.
        tabs.append(await browser.ws_connect(f"{address}ws?width=99999999&height=x"))
        await until(lambda: asleep() == 4, seconds=20)
        # Without its numbers: it ends this viewer, and no other.
        await tabs[0].send_str('["resize"]')
        await until(lambda: asleep() == 3, seconds=20)
        assert (await tabs[0].receive()).type is aiohttp.WSMsgType.CLOSE
        await asyncio.gather(*(tab.close() for tab in tabs))
        await until(lambda: asleep() == 0, seconds=20)
