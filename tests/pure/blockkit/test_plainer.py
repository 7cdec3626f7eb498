"""Whatever Slack refuses, a plainer form follows, until it is text alone; and every one obeys Slack's limits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot import blockkit as card_blocks
from bot.blockkit import OnAlert, plain
from bot.interactions import forms
from sandbox.slack import blockkit
from sandbox.slack.views import view_problems
from shared.domain.card import Button, Card, Column, Row, Table
from tests.pure.blockkit.test_card_blocks import cards, thorough

CARD = Card(
    title="Stats of <Q3>",
    text=("Rates are per send.",),
    quote="Call me <!channel>",
    table=Table(
        columns=(Column(title="Group"), Column(title="Sends", numeric=True)),
        rows=(Row(cells=("Spring", 1200)),),
    ),
    buttons=(
        Button(label="Claim", action=OnAlert(verb="claim", alert="al_1")),
        Button(label="Open", url="https://x.example/1"),
    ),
)


def forms_of(body: dict[str, Any], code: str) -> list[dict[str, Any]]:
    """Every form that follows, one refusal after the other."""
    found: list[dict[str, Any]] = []
    while (body := card_blocks.plainer(body, code) or {}) and len(found) < 9:
        found.append(body)
    return found


def drawn(card: Card) -> dict[str, Any]:
    message = card_blocks.render(card)
    metadata = {"event_type": "outreach_alert", "event_payload": {"key": "p7"}}
    return {"channel": "C1", "text": message.text, "blocks": message.blocks, "metadata": metadata}


def test_refused_blocks_become_their_words() -> None:
    (bare,) = forms_of(drawn(CARD), "invalid_blocks")
    assert bare["blocks"] == []
    assert bare["metadata"] == drawn(CARD)["metadata"]
    assert bare["text"].splitlines() == [
        "Stats of &lt;Q3&gt;",
        "Rates are per send.",
        "> Call me &lt;!channel&gt;",
        "Group · Sends",
        "Spring · 1,200",
        "Claim: `/outreach claim al_1`",
        "Open: https://x.example/1",
    ]


@thorough
@given(card=cards, items=st.lists(cards, max_size=3))
def test_every_plainer_form_of_any_card_is_one_that_slack_takes(card: Card, items: list[Card]) -> None:
    message = card_blocks.render(card, items)
    for body in forms_of({"text": message.text, "blocks": message.blocks}, "invalid_blocks"):
        assert blockkit.problems(body["blocks"]) == []
        assert len(body["text"]) <= 4_000
        assert body["text"] or body["blocks"]
        assert "<!channel>" not in body["text"]


@settings(max_examples=20, deadline=None)
@given(card=cards)
def test_a_plain_view_of_any_card_is_one_that_slack_takes(card: Card) -> None:
    view = card_blocks.plain_view(forms.answer_view(card))
    assert view_problems(view, kind="modal") == []
    assert card_blocks.plain_view(view) == view, "plainer than that it does not get"


@pytest.mark.parametrize("code", ["channel_not_found", "ratelimited", "internal_error", ""])
def test_other_refusals_change_nothing(code: str) -> None:
    assert card_blocks.plainer(drawn(CARD), code) is None
    assert card_blocks.plainer({"view": {"type": "modal", "title": plain("x"), "blocks": []}}, code) is None
