"""The dashboard in browsers: real connections, real viewers, a real service that counts what it is asked."""

from __future__ import annotations

import asyncio
import io
import re
import zipfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

from sandbox.service import Service
from shared.api.models import StatsRow
from shared.commands import parse
from shared.domain.health import Thresholds
from shared.history import History
from shared.records.replies import LeadReply
from shared.settings import Settings, load
from shared.storage.database import parse_url
from tests.tui.accounts import FakeFeed
from tui.entrypoints import web
from tui.entrypoints.relay import Relay, read_frame, write_frame
from tui.entrypoints.viewer import RelayFeed
from tui.entrypoints.web_access import OneTimeToken
from tui.feed import daily_counts
from tui.feed.history_access import HistoryAccess
from tui.theme.marks import Mark, MarkKind

ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


def settings_of(service: Service, folder: Path) -> Settings:
    (folder / "outreach.toml").touch()
    key = next(iter(service.api_keys.values()))
    return load(
        config=folder / "outreach.toml",
        environ={
            "OUTREACH_BASE_URL": service.base_url,
            "OUTREACH_API_KEY": key,
            "OUTREACH_DATABASE_URL": f"sqlite:///{folder}/outreach.db",
            "OUTREACH_POLL_SECONDS": "3600",
        },
    )


@asynccontextmanager
async def served(settings: Settings) -> AsyncIterator[str]:
    """The address of a dashboard in the web, until the end of the block."""
    stop, told = asyncio.Event(), asyncio.Queue[str]()
    serving = web.serve(settings, port=0, stop=stop, announce=lambda link, _: told.put_nowait(link))
    task = asyncio.create_task(serving, name="web")
    first = asyncio.create_task(told.get(), name="web-link")
    try:
        async with asyncio.timeout(10):
            await asyncio.wait({task, first}, return_when=asyncio.FIRST_COMPLETED)
        assert first.done(), task.exception()
        yield first.result()
    finally:
        stop.set()
        async with asyncio.timeout(20):
            await task


@asynccontextmanager
async def browsing(link: str) -> AsyncIterator[tuple[aiohttp.ClientSession, str]]:
    """A browser that has opened the link, and the address without its token."""
    jar = aiohttp.CookieJar(unsafe=True)  # else it keeps no cookie of an address in numbers
    async with aiohttp.ClientSession(cookie_jar=jar) as browser:
        async with browser.get(link) as answer:
            assert answer.status == 200
            assert "token" not in str(answer.url)
        yield browser, link.partition("?")[0]


async def see(socket: aiohttp.ClientWebSocketResponse, wanted: bytes) -> None:
    """Wait until a viewer's screen has shown some words."""
    seen = b""
    async with asyncio.timeout(30):
        while wanted not in ESCAPES.sub(b"", seen):
            message = await socket.receive()
            assert message.type in {aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT}, seen[-400:]
            seen += message.data if isinstance(message.data, bytes) else b""  # the page's title comes as text


async def requests_when_settled(browser: aiohttp.ClientSession, service: Service) -> int:
    """How many requests the service has answered, once three seconds bring no other."""
    count = -1
    async with asyncio.timeout(20):
        while True:
            async with browser.get(f"{service.control_url}/summary") as answer:
                summary = await answer.json()
            assert max(summary["worst_second"].values(), default=0) <= 10
            if summary["requests"] == count > 0:
                return count
            count = summary["requests"]
            await asyncio.sleep(3)  # interested leads are counted on while the rate is little used


@pytest.mark.e2e
async def test_a_second_viewer_costs_the_service_no_request(
    tmp_path: Path, account: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(daily_counts, "FIRST_AFTER", 3600.0)  # the days of the past come later
    async with AsyncExitStack() as stack:
        service = await stack.enter_async_context(Service(database=account))
        link = await stack.enter_async_context(served(settings_of(service, tmp_path)))
        browser, address = await stack.enter_async_context(browsing(link))
        first = await browser.ws_connect(f"{address}ws?width=160&height=48")
        await see(first, b" at risk")
        before = await requests_when_settled(browser, service)
        second = await browser.ws_connect(f"{address}ws?width=160&height=48")
        await see(second, b" at risk")
        assert await requests_when_settled(browser, service) == before
        for viewer in (first, second):
            await viewer.close()


async def wait_for_packet(socket: aiohttp.ClientWebSocketResponse, kind: str) -> str:
    """Wait for what a viewer's page is told besides the picture."""
    async with asyncio.timeout(30):
        while True:
            message = await socket.receive()
            assert message.type in {aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT}
            if message.type is aiohttp.WSMsgType.TEXT and (packet := message.json())[0] == kind:
                return str(packet[1])


@pytest.mark.e2e
async def test_a_viewer_exports_into_its_browser(
    tmp_path: Path, account: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    async with AsyncExitStack() as stack:
        service = await stack.enter_async_context(Service(database=account))
        link = await stack.enter_async_context(served(settings_of(service, tmp_path)))
        browser, address = await stack.enter_async_context(browsing(link))
        viewer = await browser.ws_connect(f"{address}ws?width=160&height=48")
        await see(viewer, b" at risk")
        await viewer.send_json(["stdin", "e"])
        key = await wait_for_packet(viewer, "deliver_file_start")
        async with browser.get(f"{address}download/{key}") as answer:
            assert "outreach-" in answer.headers["Content-Disposition"]
            archive = zipfile.ZipFile(io.BytesIO(await answer.read()))
        assert {name.rpartition(".")[2] for name in archive.namelist()} == {"csv", "txt", "svg"}
        async with browser.get(f"{address}download/nonsense") as answer:
            assert answer.status == 404
        await viewer.close()


REPLY = LeadReply(
    alert_id="al_1", received_at=datetime(2026, 3, 2, tzinfo=UTC), sequence="Q3", step=2, text="Yes."
)


COUNTS = {date(2026, 3, 2): StatsRow(group="ann@useacme.example", sends=26, replies=None)}
PAUSE = Mark(
    at=datetime(2026, 3, 2, tzinfo=UTC),
    kind=MarkKind.PAUSED,
    subject="Q3",
    text="paused by Ann",
    about="sq_1",
)


async def test_the_shared_poller_answers_a_viewers_requests(tmp_path: Path) -> None:
    relay = Relay({"workspaces": []})
    poller = FakeFeed(sends={"ann@useacme.example": [26, None]})
    poller.replies["maya@harbor.example"] = REPLY
    poller.counts["ann@useacme.example"], poller.marks = COUNTS, (PAUSE,)
    relay.feeds["acme"] = poller
    async with relay.serving(tmp_path / "feed"), History(parse_url("sqlite:///:memory:")) as store:
        reader, writer = await asyncio.open_unix_connection(tmp_path / "feed")
        assert await read_frame(reader) == {"workspaces": []}
        feed = RelayFeed(
            workspace="acme",
            intervals={},
            history=HistoryAccess(store, workspace="acme"),
            thresholds=Thresholds(),
            ask=partial(write_frame, writer),
        )
        await write_frame(writer, {"name": "a workspace that is not there", "question": 0})

        async def follow() -> None:
            while frame := await read_frame(reader):
                assert frame["name"] == "acme"
                feed.learn(frame["question"], frame["answer"])

        following = asyncio.create_task(follow(), name="viewer-following")
        async with asyncio.timeout(5):
            assert await feed.inbox_sends() == {"ann@useacme.example": [26, None]}
            assert await feed.last_reply("maya@harbor.example") == REPLY
            assert await feed.last_reply("nobody@harbor.example") is None
            assert await feed.recent_counts("inbox", ["ann@useacme.example"], days=14) == COUNTS
            assert await feed.recorded_marks(start=PAUSE.at, end=PAUSE.at) == [PAUSE]
            result = await feed.run("ann", parse("pause sq_1 for 2h"))
        assert result.card.title == "Done: pause sq_1 for 2h"
        assert poller.commands == [("ann", "pause sq_1 for 2h")]
        following.cancel()
        writer.close()


@pytest.mark.e2e
async def test_the_page_is_complete_and_only_its_own_may_look(
    tmp_path: Path, account: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    async with AsyncExitStack() as stack:
        service = await stack.enter_async_context(Service(database=account))
        link = await stack.enter_async_context(served(settings_of(service, tmp_path)))
        browser, address = await stack.enter_async_context(browsing(link))
        async with browser.get(f"{address}?fontsize=28") as answer:
            page = await answer.text()
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert 'data-font-size="28"' in page
        async with browser.get(f"{address}?rotate=20") as answer:
            assert "/ws/rotate/20" in await answer.text()
        assert not re.findall(r"https?://", page), "nothing comes from outside"
        assets = re.findall(r'"(/(?:static/|page)[^"]+)"', page)
        assert assets
        for asset in assets:
            async with browser.get(f"{address.rstrip('/')}{asset}") as answer:
                assert answer.status == 200, asset
        async with browser.get(address, headers={"Host": "rebound.example"}) as answer:
            assert answer.status == 403
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await browser.ws_connect(f"{address}ws", origin="http://elsewhere.example")
        assert refused.value.status == 403
        used = link.rpartition("/")[2]
        async with aiohttp.ClientSession() as stranger:
            for path in ("", "?token=0123", used, "ws", "ws/rotate/20", "download/x"):
                async with stranger.get(f"{address}{path}") as answer:
                    assert answer.status == 403, path
        host = urlsplit(address).netloc.encode()
        for odd in (
            b"Host: %b\r\nCookie: outreach-dashboard-%d=\xff" % (host, urlsplit(address).port or 0),
            b"Host: [",
            b"Host: %b\r\nOrigin: http://[" % host,
        ):
            assert await raw_status(address, b"GET / HTTP/1.1\r\n%b\r\n\r\n" % odd) == b"403", odd
        away = b"GET //evil.example/?%b HTTP/1.1\r\nHost: %b\r\n\r\n" % (urlsplit(link).query.encode(), host)
        assert await raw_status(address, away) == b"403", "the token leads to no other site"


async def raw_status(address: str, request: bytes) -> bytes:
    """The status of a request that no client would send so."""
    place = urlsplit(address)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    writer.write(request)
    status = (await reader.readline()).split()[1]
    writer.close()
    return status


@pytest.mark.e2e
async def test_a_viewer_too_many_takes_the_place_of_the_one_unused_longest(
    tmp_path: Path, account: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(web, "MOST_VIEWERS", 2)
    async with AsyncExitStack() as stack:
        service = await stack.enter_async_context(Service(database=account))
        link = await stack.enter_async_context(served(settings_of(service, tmp_path)))
        browser, address = await stack.enter_async_context(browsing(link))
        first, second = [await browser.ws_connect(f"{address}ws?width=160&height=48") for _ in range(2)]
        await asyncio.gather(see(first, b" at risk"), see(second, b"risk"))
        await first.send_json(["stdin", "2"])
        await asyncio.sleep(0.2)
        third = await browser.ws_connect(f"{address}ws?width=160&height=48")
        await see(third, b" at risk")
        async with asyncio.timeout(10):
            while (await second.receive()).type is not aiohttp.WSMsgType.CLOSE:
                pass
        assert not first.closed
        for viewer in (first, third):
            await viewer.close()


def test_a_link_opens_one_browser_and_prints_the_next_link() -> None:
    told: list[str] = []
    link = OneTimeToken(told.append)
    first = link.token
    assert not link.use("")
    assert not link.use(first[:-1])
    assert link.use(first)
    assert not link.use(first)
    assert told == [link.token]
    assert link.use(told[0])
