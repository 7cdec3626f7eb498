"""`open`, `open mine` and Home say who wrote, from where, the first words, and how long ago."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from bot.blockkit import card_list
from bot.commands.alerts import alert_actions
from bot.commands.alerts.open_replies import OpenReplies
from bot.interactions import home_view
from bot.interactions.home_view import HomeState, Waiting
from bot.slack.permissions import Person
from sandbox.slack import blockkit
from shared.commands.replies import Replies
from shared.domain.card import Tone
from shared.records.audit import Actor
from shared.records.replies import OpenReply
from shared.store.queue.alert_row import AlertRow
from tests.bot.harness import interested
from tests.shared.doubles import NOW, CommandHarness, MemoryRecords, open_harness

ADA = OpenReply(
    alert_id="al_1",
    received_at=NOW - timedelta(minutes=40),
    lead="Ada Lovelace",
    email="ada@acme.example",
    company="Acme",
    sequence="Q3 founders",
    reply="Yes, Thursday works for us.",
)


@pytest.fixture
async def harness() -> AsyncIterator[CommandHarness]:
    opened = open_harness()
    yield opened
    await opened.client.aclose()


ANN = Person(id="U1", name="ann")


async def listed(harness: CommandHarness, *, mine: bool) -> str:
    harness.actor = Actor(name="ann", id="U1", face="slack")
    records = harness.records
    assert isinstance(records, MemoryRecords)
    records.replies, records.owned = [ADA], {"U1": [ADA]}
    answer = await OpenReplies(links=_links)(Replies(mine=mine), harness.context, ANN)
    drawn = card_list.render_with(answer.card, answer.items)
    assert blockkit.problems(drawn.blocks) == []
    return json.dumps(drawn.blocks, ensure_ascii=False)


async def _links(_: object) -> dict[str, str]:
    return {}


async def test_open_shows_the_first_words_of_each_reply(harness: CommandHarness) -> None:
    text = await listed(harness, mine=False)
    assert (
        text.index("Ada Lovelace at Acme") < text.index("“Yes, Thursday works") < text.index("waiting 40 min")
    )
    assert '"Claim"' in text


async def test_open_mine_shows_claims_with_mark_done_and_release(harness: CommandHarness) -> None:
    text = await listed(harness, mine=True)
    assert "1 claim not done" in text
    assert text.index("Ada Lovelace at Acme") < text.index("“Yes, Thursday works")
    assert "received 40 min ago" in text
    assert '"Mark done"' in text
    assert '"Release"' in text


def test_home_shows_the_first_words_of_each_reply() -> None:
    now = datetime(2026, 11, 20, 12, tzinfo=UTC)
    one = Waiting(
        alert="al_1", lead="Ada at Acme", sequence="Q3", since=now - timedelta(minutes=5), workspace="default",
        reply="Yes, Thursday works.",
    )  # fmt: skip
    view = home_view.view(
        HomeState(now=now, workspaces=("default",), viewed_workspace="default", waiting=[one])
    )
    text = json.dumps(view["blocks"], ensure_ascii=False)
    assert text.index("Ada at Acme") < text.index("“Yes, Thursday works.”") < text.index("waiting 5 min")


def test_a_reply_that_is_closed_as_not_interested_is_not_green() -> None:
    row = AlertRow(id="al_1", kind="reply.interested", received_at=NOW.timestamp(), body=interested(1))
    ben = Actor(name="ben", id="U2", face="slack")
    closed, done = (
        alert_actions.changed_card(verb, row, ben, until=NOW, now=NOW) for verb in ("dismiss", "done")
    )
    assert (closed.title, closed.tone) == ("@ben closed Ada 1 at Acme as not interested", Tone.INFO)
    assert done.tone is Tone.GOOD
