"""The page of replies, where what it needs is missing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from shared.domain.card import Action, Card
from shared.domain.reply_queue import Change, Permission, QueuedReplies, QueuedReply, Verb
from shared.records import RecordsUnavailable
from shared.settings import Need, Settings
from shared.settings import load as load_settings
from tests.kit.snapshots import NOW
from tests.screens.desk import at_desk
from tui.feed.startup import opened_replies


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
    """A queue in memory, whose database may stop answering."""

    replies: list[QueuedReply] = field(default_factory=list)
    granted: Permission = field(default_factory=lambda: Permission(name="ann"))
    acts: list[str] = field(default_factory=list)
    broken: bool = False

    async def permission(self) -> Permission:
        return self.granted

    async def read(self) -> QueuedReplies:
        if self.broken:
            raise RecordsUnavailable("The bot's database doesn't respond.")
        ordered = sorted(self.replies, key=lambda one: not one.is_unclaimed)
        return QueuedReplies(unclaimed=sum(one.is_unclaimed for one in ordered), replies=ordered)

    async def act(self, verb: Verb, alert: str, *, detail: str = "", person: str = "") -> Change:
        self.acts.append(verb)
        return Change(card=Card(title=verb), changed=True)

    async def press(self, action: Action, *, detail: str = "", person: str = "") -> Change:
        raise AssertionError("nothing is asked here, so nothing is pressed")

    async def people(self) -> Sequence[str]:
        return ("ann", "ben", "cleo")

    @asynccontextmanager
    async def open(self) -> AsyncIterator[FakeQueue]:
        yield self


async def test_a_database_that_stops_answering_leaves_what_was_read_and_says_so() -> None:
    queue = FakeQueue([reply("Ada", minutes=7)])
    async with at_desk(open_replies=queue.open) as desk:
        await desk.press("3")
        await desk.until("You are @ann in Slack")
        queue.broken = True
        await desk.until("The bot's database doesn't respond.")
        assert "Ada" in desk.text
        await desk.press("c")
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
