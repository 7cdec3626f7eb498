"""What the notification of each message says, on a desktop and on a phone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import pytest

from bot.alerts import kinds
from bot.blockkit import card_blocks
from bot.blockkit.card_blocks import Message
from shared.api.events import Event, EventLead
from shared.domain.alert import Alert
from shared.domain.card import Button, Card, Table
from tests.bot.alerts.test_card_states import BRIEF, WHOLE, other, reply
from tests.kit.picture import notification

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
WORDS = "Yes, Thursday works."
REPLIES: Mapping[str, Callable[[], Card]] = {
    "interested": reply,
    "claimed": lambda: reply(nudges=2),
    "plain": lambda: other("lead.replied", reply=WORDS),
    "out of office": lambda: other("reply.ooo", reply=WORDS),
    "opt-out": lambda: other("lead.unsubscribed", reply=WORDS),
    "turned": lambda: kinds.turned(Alert(id="al_1", event=_event(), received_at=NOON.timestamp())),
}


def _event(**changes: str) -> Event:
    lead = EventLead(email="ada@acme.example", first_name="Ada", company="Acme", **changes)
    return Event(kind="reply.interested", lead=lead, sequence="Q3 founders", reply=WORDS)


@pytest.mark.parametrize("name", REPLIES)
def test_both_notifications_of_a_reply_say_who_from_where_and_what(name: str) -> None:
    drawn = card_blocks.render(REPLIES[name]())
    for text in notification(drawn.text, drawn.blocks).values():
        assert text.index("Ada") < text.index("Acme") < text.index("Yes, Thursday works")


def test_a_line_and_a_list_begin_with_who_and_what() -> None:
    lines: list[Message] = [
        card_blocks.render_condensed(
            kinds.condensed(Alert(id="al_1", event=_event(), received_at=NOON.timestamp()))
        ),
        card_blocks.render_list([kinds.listed(reply()), kinds.listed(reply())]),
    ]
    for drawn in lines:
        desktop = notification(drawn.text, drawn.blocks)["desktop"]
        assert desktop.index("Ada") < desktop.index("Acme") < desktop.index("Yes, Thursday works")


@pytest.mark.parametrize("name", [*WHOLE, *BRIEF])
def test_the_first_block_of_every_message_is_read_as_its_title(name: str) -> None:
    drawn = BRIEF[name]() if name in BRIEF else card_blocks.render(WHOLE[name]())
    assert drawn.blocks[0]["type"] in {"header", "rich_text"}
    desktop = notification("", drawn.blocks[:1])["desktop"].strip("🟢🟠🔴⚪ ")
    assert desktop.split()[0] in notification(drawn.text, [])["mobile"]


def test_the_quote_of_an_answer_stays_below_its_facts() -> None:
    table = Table(columns=(), rows=())
    card = Card(title="Ada", quote=WORDS, text=("Interested",), table=table, buttons=(Button(label="x"),))
    assert [block["type"] for block in card_blocks.render(card).blocks][:2] == ["header", "rich_text"]
    assert WORDS not in str(card_blocks.render(card).blocks[0])


def test_a_list_of_alerts_shows_the_beginning_of_each_reply_with_claim_and_details() -> None:
    long = " ".join(["Thursday works for me and my team of forty."] * 8)
    event = _event()
    event = Event(kind=event.kind, lead=event.lead, sequence=event.sequence, reply=long)
    cards = [
        kinds.listed(kinds.card(Alert(id=f"al_{n:016}", event=event, received_at=NOON.timestamp())))
        for n in range(13)
    ]
    drawn = card_blocks.render_list(cards)
    assert card_blocks.size(drawn.blocks) <= card_blocks.TOTAL
    words, buttons = drawn.blocks[-2:]
    assert f"“{long[:119]}…”" in str(words)
    assert [one["text"]["text"] for one in buttons["elements"]] == ["Claim", "Details"]
    ids = [
        one["action_id"] for block in drawn.blocks if block["type"] == "actions" for one in block["elements"]
    ]
    assert len(ids) == len(set(ids)) == 26
