"""`dashboard --web`: whom it answers, what its page loads, and how long its viewers live."""

from __future__ import annotations

import contextlib
import re
import sys
from urllib.parse import urlsplit

import aiohttp
import psutil
import pytest

from tests.kit.browser import PROXIED, raw_status, served
from tests.kit.waiting import until


async def test_the_page_is_complete_and_nothing_comes_from_outside() -> None:
    async with served() as (browser, address):
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
        forwarded = {"Host": PROXIED, "X-Forwarded-Proto": "https"}
        async with browser.get(address, headers=forwarded) as answer:
            assert f'"wss://{PROXIED}/ws"' in await answer.text(), "the address that the browser shows"


async def test_foreign_names_and_pages_of_other_sites_are_refused() -> None:
    async with served() as (browser, address):
        netloc = urlsplit(address).netloc
        # DNS rebinding: a foreign page's name may lead to this machine, but its Host header keeps the name.
        for path in ("", "ws", "static/js/textual.js", "download/x"):
            async with browser.get(f"{address}{path}", headers={"Host": "rebound.example"}) as answer:
                assert answer.status == 403, path
                assert (
                    await answer.text() == f"This dashboard only answers to 127.0.0.1, {PROXIED}, localhost."
                )
        for origin in ("http://elsewhere.example", "null", f"http://{netloc}.evil.example", "http://["):
            async with browser.get(f"{address}ws", headers={"Origin": origin}) as answer:
                assert answer.status == 403, origin
                assert await answer.text() == "Only the dashboard's own page can connect here."
        # Each name is an origin of its own.
        for headers in (
            b"Host: [",
            b"Host: %b\r\nOrigin: http://[" % netloc.encode(),
            b"Host: dash.example.com\r\nOrigin: http://%b" % netloc.encode(),
        ):
            assert await raw_status(address, b"GET / HTTP/1.1\r\n%b\r\n\r\n" % headers) == 403, headers


SLEEPER = (sys.executable, "-c", "import time; time.sleep(600)")


async def viewers(*sizes: str) -> None:
    """Wait until the viewers that run have these sizes."""

    def running() -> bool:
        environs = []
        for one in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):  # it ends meanwhile, or is a zombie
                if SLEEPER[2] in one.cmdline():
                    environs.append(one.environ())
        return sorted(sizes) == sorted(f"{one['COLUMNS']}x{one['ROWS']}" for one in environs)

    await until(running)


TOO_LONG = 65_536
"""Bytes from which on a message is refused."""


async def test_a_fifth_viewer_is_refused_and_none_outlives_its_tab() -> None:
    async with served(*SLEEPER) as (browser, address):
        # Anybody can write what they like into the address.
        queries = ("", "?width=0&height=501", "?width=99999&height=000050", "?width=x&height=²")
        tabs = [await browser.ws_connect(f"{address}ws{query}") for query in queries]
        await viewers("80x24", "1x500", "500x24", "80x24")
        with pytest.raises(aiohttp.WSServerHandshakeError, match="503"):
            await browser.ws_connect(f"{address}ws")
        async with browser.get(address) as answer:
            assert answer.status == 503
            assert "4 people are looking at the dashboard already. Close another tab" in await answer.text()
        await tabs.pop().close()
        await viewers("80x24", "1x500", "500x24")
        tabs.append(await browser.ws_connect(f"{address}ws"))
        await tabs[3].send_str('["ping", 7]'.ljust(TOO_LONG - 1))
        assert await tabs[3].receive_json() == ["pong", 7]
        # Without its numbers, or too long: it ends this viewer, and no other.
        for tab, message in ((tabs[0], '["resize"]'), (tabs[3], '["ping", 7]'.ljust(TOO_LONG))):
            await tab.send_str(message)
            assert (await tab.receive()).type is aiohttp.WSMsgType.CLOSE
        await viewers("1x500", "500x24")
        await tabs[1].close()
        await viewers("500x24")
    assert (await tabs[2].receive()).type is aiohttp.WSMsgType.CLOSE
    await viewers()


QUITTER = r"""import sys; sys.stdout.buffer.write(b'__GANGLION__\nM\0\0\0\x0f{"type":"exit"}')"""
"""What a viewer writes when its person quits."""


async def test_a_viewer_that_ends_closes_its_page() -> None:
    async with served(sys.executable, "-c", QUITTER) as (browser, address):
        tab = await browser.ws_connect(f"{address}ws")
        assert (await tab.receive(10)).type is aiohttp.WSMsgType.CLOSE
