"""The page of replies: what it shows, and what its keys do in the name of a Slack user."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest
from textual.geometry import Region
from textual.pilot import Pilot

from shared.domain.card import Action, Card, Tone
from shared.domain.reply_queue import Change, Permission, QueuedReplies, QueuedReply, Verb
from shared.records.records import RecordsUnavailable
from shared.settings import Need, Settings
from shared.settings import load as load_settings
from tests.tui.accounts import NOW, Clock, FakeFeed, account, tick_of
from tests.tui.commanded import Commanded
from tui.app.dashboard import DashboardApp
from tui.feed.pending_changes import PendingChanges
from tui.feed.startup import opened_replies
from tui.feed.workspace_state import WorkspaceState
from tui.model.replies import ReplyLine
from tui.screens import replies
from tui.screens.replies import RepliesPage


def reply(name: str, *, minutes: int, **more: object) -> QueuedReply:
    email = f"{name.lower()}@acme.example"
    words = f"{name} here.\nPlease call me."
    known = QueuedReply(
        alert_id=f"al_{name}",
        received_at=NOW - timedelta(minutes=minutes),
        lead=name,
        email=email,
        company="Acme",
        sequence="Q3 Founders",
        text=words,
    )
    return replace(known, **more)  # type: ignore[arg-type] # fields by name


@dataclass
class FakeQueue:
    """A queue in memory that obeys, unless an answer is laid ready."""

    replies: list[QueuedReply] = field(default_factory=list)
    granted: Permission = field(default_factory=lambda: Permission(name="ann"))
    acts: list[tuple[str, str, str, str]] = field(default_factory=list)
    answers: list[Change] = field(default_factory=list)
    broken: bool = False

    async def permission(self) -> Permission:
        return self.granted

    async def read(self) -> QueuedReplies:
        if self.broken:
            raise RecordsUnavailable("The bot's database no response.")
        ordered = sorted(self.replies, key=lambda one: not one.is_unclaimed)
        return QueuedReplies(unclaimed=sum(one.is_unclaimed for one in ordered), replies=ordered)

    async def act(self, verb: Verb, alert: str, *, detail: str = "", person: str = "") -> Change:
        self.acts.append((verb, alert, detail, person))
        if self.answers:
            return self.answers.pop(0)
        if verb == "claim":
            self.replies = [
                replace(one, claimed_by="ann", is_own=True, claimed_at=NOW) if one.alert_id == alert else one
                for one in self.replies
            ]
        if verb == "done":
            self.replies = [one for one in self.replies if one.alert_id != alert]
        return Change(card=Card(title=f"@ann {verb} {alert}"), changed=True)

    async def press(self, action: Action, *, detail: str = "", person: str = "") -> Change:
        self.acts.append(("press", action.line, detail, person))
        return self.answers.pop(0) if self.answers else Change(card=Card(title="Done"), changed=True)

    async def people(self) -> Sequence[str]:
        return ("ann", "ben", "cleo")

    @asynccontextmanager
    async def open(self) -> AsyncIterator[FakeQueue]:
        yield self


@asynccontextmanager
async def opened(
    queue: FakeQueue | None, *, read_only: bool = False, size: tuple[int, int] = (160, 50)
) -> AsyncIterator[tuple[DashboardApp, Pilot[int]]]:
    clock = Clock()
    state = WorkspaceState(
        workspace="acme",
        feed=FakeFeed(),
        pending_changes=PendingChanges(Commanded(clock), now=clock, read_only=read_only),
        open_replies=queue.open if queue else None,
    )
    app = DashboardApp([state], now=clock)
    async with app.run_test(size=size) as pilot:
        app.post_message(DashboardApp.Ticked(tick_of(account())))
        await press(pilot, "3")
        yield app, pilot


async def press(pilot: Pilot[int], *keys: str) -> None:
    await pilot.press(*keys)
    for _ in range(4):  # an act, its answer, the next look
        await pilot.pause()


def page(app: DashboardApp) -> RepliesPage:
    assert isinstance(app.screen, RepliesPage)
    return app.screen


def listed(app: DashboardApp) -> list[str]:
    return [line.reply.lead for line in page(app).replies.table.shown]  # type: ignore[attr-defined] # lines of this page


def chosen(app: DashboardApp) -> ReplyLine:
    line = page(app).line
    assert line
    return line


def written(app: DashboardApp) -> str:
    """The words of the lead as they stand on the page."""
    words = page(app).words
    return "\n".join(strip.text.rstrip() for strip in words.render_lines(Region(0, 0, *words.size)))


@pytest.mark.parametrize(
    ("queue", "read_only", "reason"),
    [
        (None, False, replies.NO_RECORDS),
        (FakeQueue([reply("Ada", minutes=7)]), True, replies.READ_ONLY),
        (
            FakeQueue([reply("Ada", minutes=7)], granted=Permission(refusal="Set slack_user.")),
            False,
            "Set slack_user.",
        ),
    ],
)
async def test_a_page_that_only_reads_says_why_and_changes_nothing(
    queue: FakeQueue | None, *, read_only: bool, reason: str
) -> None:
    async with opened(queue, read_only=read_only) as (app, pilot):
        assert reason in page(app).note.plain + page(app).replies.note.plain
        assert not page(app).key_of("replies.claim"), "what would be refused isn't shown"
        for key in ("c", "d", "z", "x", "A"):
            await press(pilot, key)
            assert isinstance(app.screen, RepliesPage)
        assert queue is None or queue.acts == []


async def test_a_database_that_stops_answering_leaves_what_was_read_and_says_so() -> None:
    queue = FakeQueue([reply("Ada", minutes=7)])
    async with opened(queue) as (app, pilot):
        queue.broken = True
        page(app)._woken.set()
        await press(pilot)
        assert listed(app) == ["Ada"]
        assert "no response" in page(app).note.plain
        await press(pilot, "c")
        assert queue.acts == []


async def test_settings_that_became_invalid_are_told_on_the_page() -> None:
    def load() -> Settings:
        return load_settings(environ={"OUTREACH_CONFIG": "/dev/null"}, needs=(Need.API,))

    @asynccontextmanager
    async def queue_of(_settings: Settings, _workspace: str) -> AsyncIterator[FakeQueue]:
        yield FakeQueue()

    with pytest.raises(RecordsUnavailable, match="OUTREACH_API_KEY"):
        async with opened_replies(load, "acme", queue_of):
            pass


async def test_a_bot_that_does_not_run_is_named() -> None:
    queue = FakeQueue([reply("Ada", minutes=7)], granted=Permission(name="ann", bot_runs=False))
    async with opened(queue) as (app, _):
        assert replies.NO_BOT in page(app).note.plain
    queue = FakeQueue([], granted=Permission(name="ann", bot_runs=False))
    async with opened(queue) as (app, _):
        assert "none recorded" in page(app).replies.head.plain


async def test_a_hostile_reply_moves_no_cursor_and_styles_nothing() -> None:
    queue = FakeQueue(
        [reply("Ada", minutes=7, text="\x1b[2J[bold]hi[/bold]\u202egnp", company="[red]x\x1b]0;t\x07")]
    )
    async with opened(queue, size=(80, 24)) as (app, _):
        shown = written(app)
        assert "\x1b" not in shown
        # Markup to Textual, and words to the lead who wrote them.
        assert "[bold]hi[/bold]" in shown
        assert "\u202e" not in shown
        assert chosen(app).tone is Tone.BAD
