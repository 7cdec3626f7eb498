"""With any text: views stay within Slack's limits, forms make lines that parse back, outside text is never markup."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.cards import CardSettings
from bot.interactions import forms, home
from bot.interactions.home import HomeState, Place
from shared.api.events import Event, EventLead
from shared.api.models import Inbox, Sequence
from shared.domain.alert import Alert
from shared.domain.event_kinds import INTERESTED
from shared.domain.health import roll_up
from shared.store.store import UnclaimedReplies

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
ODD = st.one_of(
    st.text(max_size=200), st.sampled_from(["", "x" * 3000, "<!channel>", "`pause sq_1`", "\n🎉"])
)


def checked(view: dict[str, Any]) -> None:
    assert len(view["blocks"]) <= 100
    assert len(json.dumps(view)) < 250_000
    for block in view["blocks"]:
        assert len(block.get("block_id", "")) <= 255
        if block["type"] == "header":
            assert 1 <= len(block["text"]["text"]) <= 150
        if block["type"] == "section":
            assert 1 <= len(block["text"]["text"]) <= 3000
        for element in (*block.get("elements", ()), block.get("accessory")):
            if element and element.get("type") == "button":
                assert 1 <= len(element["text"]["text"]) <= 75
                assert len(element.get("value", "")) <= 2000


sequences = st.builds(
    Sequence,
    id=st.text(min_size=1, max_size=100),
    name=ODD,
    status=st.sampled_from(["active", "paused", None, "odd"]),
    steps=st.none() | st.integers(0, 9),
)
AGENCY = tuple(f"client-{n}" for n in range(60))
replies = st.builds(
    lambda name, words: Alert(
        id="al_1",
        received_at=(NOW - timedelta(hours=1)).timestamp(),
        event=Event(
            kind=INTERESTED, lead=EventLead(first_name=name, company=name), sequence=name, reply=words
        ),
    ),
    ODD,
    ODD,
)


@settings(max_examples=10, deadline=None)
@given(
    waiting=st.none() | st.lists(replies, max_size=3),
    inboxes=st.none()
    | st.lists(st.builds(Inbox, email=ODD, health_score=st.none() | st.floats(0, 100)), max_size=12),
    workspaces=st.sampled_from([AGENCY[:1], AGENCY[:12], AGENCY]),
)
def test_home_is_inside_every_limit_whatever_the_account(waiting: Any, inboxes: Any, workspaces: Any) -> None:
    place = Place(
        name=workspaces[0],
        unclaimed=None if waiting is None else UnclaimedReplies(count=len(waiting)),
        paused={f"{n}.example": NOW for n in range(len(waiting or ()))},
        domains=None if inboxes is None else roll_up(inboxes),
    )
    others = [Place(name=name, paused={}) for name in workspaces[1:]]
    replied = waiting or ()
    places = (place, *others)
    state = HomeState(now=NOW, places=places, waiting=replied, claims=replied, cards=CardSettings())
    checked(home.view(state))


def test_home_shows_what_is_urgent_and_counts_the_rest() -> None:
    claims = [Alert(id="al_1", received_at=0.0, event=Event(kind=INTERESTED))] * 7
    paused = {f"{n}.example": NOW for n in range(6)}
    places = [Place(name=f"client-{n:02}", paused={} if n else paused) for n in range(21)]
    shown = json.dumps(
        home.view(HomeState(now=NOW, places=places, waiting=(), claims=claims, cards=CardSettings()))
    )
    assert [f"and 1 more: /outreach {line}" in shown for line in ("replies mine", "domains")] == [True, True]
    assert ("client-19" in shown, "client-20" in shown) == (True, False)


@settings(max_examples=25, deadline=None)
@given(known=st.lists(sequences, max_size=400), text=ODD)
def test_a_menu_of_four_hundred_sequences_holds_a_hundred_short_options(
    known: list[Sequence], text: str
) -> None:
    for option in (found := forms.options(known, text)):
        assert 1 <= len(option["text"]["text"]) <= 75
        assert 1 <= len(option["value"]) <= 150
    assert len(found) <= 100
    if not text:
        assert len(found) == min(len(known), 100)
