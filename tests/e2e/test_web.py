"""The dashboard in a browser: a real viewer, and a real service that counts what it is told."""

from __future__ import annotations

import asyncio
import io
import re
import zipfile
from pathlib import Path

import aiohttp
import pytest

from sandbox.service import Service
from tests.kit.browser import served, viewer_command

ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


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


async def test_a_viewer_exports_into_its_browser_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))
    config = tmp_path / "outreach.toml"
    async with Service() as service, served(*viewer_command(config)) as (browser, address):
        key = next(iter(service.api_keys.values()))
        config.write_text(f'base_url = "{service.base_url}"\napi_key = "{key}"\nstate_dir = "{tmp_path}"\n')
        config.chmod(0o600)
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
