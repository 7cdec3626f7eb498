"""What Slack's assistant shows of a card: within its rules, and without a button that confirms anything."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given

from bot.blockkit.actions import Cancel, Confirm, OnAlert
from bot.blockkit.tool_blocks import MOST_BUTTONS, draw, result_meta
from bot.interactions.specimens import alerts, answers
from sandbox.slack.blockkit.tool_blocks import tool_call, tool_problems
from shared.commands import COMMANDS
from shared.commands.arguments import Remove, Resume, Status
from shared.commands.pauses import Pause
from shared.domain.card import Button, Card, Chart, Fact
from tests.bot.blockkit.test_card_blocks import cards, thorough

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
EVERY = frozenset(COMMANDS)


def elements(blocks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        if block["type"] == "actions":
            yield from block["elements"]


@pytest.mark.parametrize("name", [*alerts(NOON), *answers(NOON)])
def test_every_card_is_shown_by_slacks_assistant(name: str) -> None:
    card = (alerts(NOON) | answers(NOON))[name]
    assert tool_problems(draw(card, tools=EVERY)) == []


@thorough
@given(cards)
def test_no_card_whatever_breaks_a_rule_of_slacks_assistant(card: Card) -> None:
    blocks = draw(card, tools=EVERY)
    assert tool_problems(blocks) == []
    assert all(tool_call(element) for element in elements(blocks) if "url" not in element)


def test_a_button_calls_the_tool_with_the_commands_arguments() -> None:
    card = Card(
        title="Q3", buttons=(Button(label="Pause", action=Pause(target=("sq_1",)), workspace="acme"),)
    )
    (button,) = elements(draw(card, tools=EVERY))
    assert tool_call(button) == ("pause", {"target": ["sq_1"], "workspace": "acme"})


def test_a_tool_without_arguments_gets_an_empty_object() -> None:
    (button,) = elements(
        draw(Card(title="x", buttons=(Button(label="Status", action=Status()),)), tools=EVERY)
    )
    assert button["value"] == "{}"


def test_buttons_of_one_tool_stand_in_rows_of_their_own() -> None:
    actions = (Pause(target=("sq_1",)), Pause(target=("sq_2",)), Resume(target=("sq_3",)))
    card = Card(title="x", buttons=tuple(Button(label="Do", action=action) for action in actions))
    rows = [block["elements"] for block in draw(card, tools=EVERY) if block["type"] == "actions"]
    assert [[one["action_id"] for one in row] for row in rows] == [
        ["tool:pause", "tool:resume"],
        ["tool:pause"],
    ]


def test_nothing_that_confirms_or_works_on_an_alert_becomes_a_button() -> None:
    """Slack sends a click as a call of the tool, as it sends the model's own."""
    actions = (
        Confirm(nonce="q_1"),
        Confirm(nonce="q_1", undo=True),
        Cancel(),
        OnAlert(verb="claim", alert="al_1"),
    )
    card = Card(title="x", buttons=tuple(Button(label="Yes", action=action) for action in actions))
    assert list(elements(draw(card, tools=EVERY))) == []


def test_a_confirmed_command_is_asked_for_without_its_yes() -> None:
    card = Card(title="x", buttons=(Button(label="Remove", action=Remove(who="ld_1", confirmed=True)),))
    (button,) = elements(draw(card, tools=EVERY))
    assert json.loads(button["value"]) == {"who": "ld_1"}


def test_only_tools_that_the_person_is_offered_are_called() -> None:
    card = Card(title="x", buttons=(Button(label="Pause", action=Pause(target=("sq_1",))),))
    assert list(elements(draw(card, tools={"status"}))) == []


def test_an_address_that_is_not_https_is_left_out_so_that_the_rest_is_shown() -> None:
    card = Card(
        title="Ann",
        facts=(Fact(label="Email", value="ann@acme.com", url="mailto:ann@acme.com"),),
        buttons=(Button(label="Open", url="https://crm.example/1"), Button(label="Mail", url="mailto:x@y.z")),
    )
    blocks = draw(card, tools=EVERY)
    assert "mailto" not in json.dumps(blocks)
    assert [one["url"] for one in elements(blocks)] == ["https://crm.example/1"]
    assert tool_problems(blocks) == []


def test_at_most_a_few_buttons() -> None:
    card = Card(
        title="x", buttons=tuple(Button(label="Do", action=Pause(target=(f"sq_{n}",))) for n in range(30))
    )
    assert len(list(elements(draw(card, tools=EVERY)))) == MOST_BUTTONS


@pytest.mark.parametrize(
    "blocks",
    [
        [{"type": "plan"}],
        [{"type": "divider"}] * 51,
        [
            {
                "type": "rich_text",
                "elements": [
                    {"type": "rich_text_section", "elements": [{"type": "link", "url": "mailto:a@b.c"}]}
                ],
            }
        ],
        [{"type": "data_table", "caption": "x", "rows": [[{"type": "raw_text", "text": "x" * 7000}]] * 3}],
    ],
)
def test_the_rules_of_slacks_assistant_refuse_what_breaks_them(blocks: list[dict[str, Any]]) -> None:
    assert tool_problems(blocks)


def test_more_than_two_charts_are_refused_and_never_drawn() -> None:
    chart = Chart(title="Sends", labels=("a", "b"), series=(("Sends", (1, 2)),))
    card = Card(title="x", charts=(chart,))
    one = next(block for block in draw(card, tools=EVERY) if block["type"] == "data_visualization")
    assert any("no more than 2" in found for found in tool_problems([one] * 3))
    assert tool_problems(draw(replace(card, charts=(chart,) * 4), tools=EVERY)) == []


def test_the_blocks_stand_in_the_metadata_of_the_result() -> None:
    assert result_meta(Card(title="x"), tools=EVERY)["slack"]["blocks"][0]["type"] == "header"
