"""What the dashboard shows of the bot's records, and what it asks of service and records for one page."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from shared.api.errors import Unreachable
from shared.api.models import StatsRow
from shared.commands import invocation, parse
from shared.commands.pause import SetStatus
from shared.records import DomainPast, PauseEnd, PeriodRecords, RecordsUnavailable
from shared.settings import load
from tests.kit.snapshots import NOW, Clock, FakeFeed, account, fired
from tests.pure.dashboard.test_pending_changes import Desk
from tui.app.acts import Acts
from tui.feed.poller import Poller, intervals
from tui.feed.startup import ServiceFeed, read_marks
from tui.feed.workspace_state import WorkspaceState
from tui.model.frame import Frame

MINUTE = timedelta(minutes=1)


def answers(value: Any) -> Callable[..., Awaitable[Any]]:
    """A method that answers this, or fails with it."""

    async def answer(*_: object, **__: object) -> Any:
        if isinstance(value, Exception):
            raise value
        return value

    return answer


class BotsRecords:
    """The bot's records, as much of them as a dashboard reads, which may stop answering."""

    def __init__(self) -> None:
        self.asked = list[str]()
        timers = [
            SimpleNamespace(key=f"sq_{n}", due_at=NOW, payload={"by": "ann"} if n else {}) for n in (1, 0)
        ]
        incidents = (
            fired(sentence="many"),
            fired(id=2),
            fired(id=3, sentence="many", ended_at=NOW.timestamp()),
        )
        pauses = SimpleNamespace(timers={timer.key: timer for timer in timers})
        self.interested_replies, self.pauses = answers(()), answers(pauses)
        self.guardrails = SimpleNamespace(incidents=answers(incidents))
        self.domains = SimpleNamespace(
            broken=answers({"a.example": ("SPF",)}), reports=answers({}), changes=answers(())
        )
        self.period = answers(PeriodRecords(lost=[NOW]))

    async def domain_past(self, workspace: str, domain: str, since: object) -> DomainPast:
        self.asked.append(domain)
        if domain == "silent.example":
            raise RecordsUnavailable("locked")
        return DomainPast(bounced=3)

    def fall_silent(self) -> None:
        for place in (self, self.guardrails, self.domains):
            for name in vars(place):
                if callable(getattr(place, name)):
                    setattr(place, name, answers(RecordsUnavailable("locked")))


def feed_of(clock: Clock, **environ: str) -> ServiceFeed:
    place = {"OUTREACH_BASE_URL": "https://service.test/v1", "OUTREACH_API_KEY": "key"}
    settings = load(environ={"OUTREACH_CONFIG": "/dev/null", **place, **environ})
    return ServiceFeed(settings, workspace="default", now=clock)


async def test_sends_of_today_are_read_once_a_minute_and_stay_where_the_service_is_silent() -> None:
    clock = Clock()
    feed, asked = feed_of(clock), list[object]()

    class Client:
        service_time = None

        async def stats(self, **about: object) -> list[StatsRow]:
            asked.append(about["start"])
            if len(asked) == 2:
                raise Unreachable
            return [StatsRow(group="ann@a.example", sends=len(asked))]

    assert await feed.sent_today() == {}
    feed._client = Client()  # type: ignore[assignment] # as much as is read
    sent = []
    for seconds in (0, 60, 1, 61):
        clock.advance(seconds)
        sent.append((await feed.sent_today(), len(asked)))
    assert sent == [({"ann@a.example": times}, reads) for times, reads in ((1, 1), (1, 1), (1, 2), (3, 3))]
    assert set(asked) == {NOW.date()}


async def test_what_the_bot_recorded_is_shown_and_stays_where_its_database_is_silent() -> None:
    feed, records = feed_of(Clock()), BotsRecords()
    poller = Poller(workspace="default", intervals=intervals(30), now=Clock())
    poller.troubled_domains = frozenset(f"{n:02}.example" for n in range(22))
    for _ in range(2):
        await feed._read_records(records, poller)  # type: ignore[arg-type] # as much as is read
        noted = poller.snapshot
        assert [one.id for one in noted.firings] == [1]
        pauses = tuple(
            PauseEnd(sequence=f"sq_{n}", until=NOW.timestamp(), by="ann" if n else "") for n in (1, 0)
        )
        assert noted.pauses == pauses
        records.fall_silent()
    assert records.asked == sorted(poller.troubled_domains)[:20] * 2
    assert set(poller._domain_facts.pasts) == set(records.asked)
    assert poller._domain_facts.broken == {}, "what is wrong now isn't known"


async def test_a_page_asks_for_what_it_shows_and_for_nothing_of_a_silent_database() -> None:
    feed, quiet = feed_of(Clock()), feed_of(Clock(), OUTREACH_DNS_ENABLED="false")
    assert await feed.domain_pasts(["a.example"]) == {}
    assert await feed.recorded_marks(account(), start=NOW, end=NOW) == ()
    assert await feed.domain_dns("a.example") == ((), ())
    records = BotsRecords()
    for one in (feed, quiet):
        one._records = records  # type: ignore[assignment] # likewise
    assert await quiet.domain_dns("a.example") == ((), ())
    (unknown,) = (await feed.domain_dns("a.example"))[0]
    assert unknown.value != "unknown: the bot's database doesn't answer"
    names = [f"{n}.example" for n in range(21)]
    assert list(await feed.domain_pasts(names)) == names[:20]
    assert list(await feed.domain_pasts(["a.example", "silent.example", "b.example"])) == ["a.example"]
    assert records.asked[-1] == "silent.example"
    records.fall_silent()
    (unread,) = (await feed.domain_dns("a.example"))[0]
    assert unread.value == "unknown: the bot's database doesn't answer"


async def test_marks_of_a_time_are_those_within_it() -> None:
    records = BotsRecords()
    for begun, count in ((-1, 1), (0, 2), (2, 2), (3, 1)):
        began_at = (NOW + begun * MINUTE).timestamp()
        records.guardrails.incidents = answers((fired(began_at=began_at),))
        marks = await read_marks(records, account(), start=NOW, end=NOW + 2 * MINUTE)  # type: ignore[arg-type]
        assert len(marks) == count, "the lost reply, and the guardrail"
    records.fall_silent()
    assert await read_marks(records, account(), start=NOW, end=NOW) == ()  # type: ignore[arg-type]


@pytest.mark.parametrize("is_past", [False, True])
async def test_a_change_is_followed_by_a_reading_and_refused_in_the_past(*, is_past: bool) -> None:
    desk, feed = Desk(), FakeFeed()
    state = WorkspaceState(workspace="acme", feed=feed, pending_changes=desk.changes)
    frame = replace(Frame.empty("acme", now=NOW), is_past=is_past)
    app: Any = SimpleNamespace(frame=frame, running="", hand_frame=lambda: None)
    listing, pause = parse("sequences"), invocation(SetStatus(targets=(), status="paused"))
    assert (await Acts(app).run(listing, state)).card.title == "Done"
    assert feed.requested == []
    title = (await Acts(app).run(pause, state)).card.title
    assert title == ("You are viewing the past" if is_past else "Done")
    assert feed.requested == ([] if is_past else [()])
    assert desk.ran == [listing, *([] if is_past else [pause])]
    assert app.running == ""


async def test_the_first_command_opens_the_bots_records_at_once() -> None:
    feed = feed_of(Clock())
    running = asyncio.create_task(feed.run(parse("sequences")))
    assert await asyncio.wait_for(feed._is_wanted.wait(), 10)
    running.cancel()
