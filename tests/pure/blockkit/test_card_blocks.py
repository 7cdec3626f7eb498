from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot import blockkit as card_blocks
from bot.blockkit import Message, draw_table, show_cell
from bot.cards import card as card_of
from bot.interactions import forms
from sandbox.slack import blockkit
from shared.api.events import Event, EventLead
from shared.commands.leads import Lead
from shared.commands.stats import Stats
from shared.domain.alert import Alert
from shared.domain.card import Button, Card, Column, Fact, Row, Table, Tone, Typed

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)

hostile = st.sampled_from(
    [
        "<!channel>",
        "<@U0ANN00001> &amp; <https://x|bank>",
        "*bold* _it_ ~no~ `code`",
        "\x1b[31mred\u202e",
        "=1+1",
        ":tada:",
        "😀" * 900,
        "\\" * 4000,
        "\n" * 500,
        "\ud800",
    ]
)
text = st.one_of(st.text(max_size=60), hostile, st.text(min_size=1, max_size=40).map(lambda t: t * 120))
tones = st.sampled_from(Tone)
actions = st.builds(Typed, text) | st.builds(Lead, who=text)
buttons = st.builds(Button, label=text, action=actions, tone=tones, menu=st.booleans())
cells = st.one_of(st.none(), text, st.floats(allow_nan=False), st.integers())
tables = st.builds(
    Table,
    columns=st.just((Column(title="A"), Column(title="B", numeric=True), Column(title="C"))),
    rows=st.lists(st.builds(Row, cells=st.tuples(cells, cells, cells), tone=tones), max_size=130).map(tuple),
)
cards = st.builds(
    Card,
    title=text,
    tone=tones,
    text=st.lists(text, max_size=12).map(tuple),
    facts=st.lists(st.builds(Fact, label=text, value=text, tone=tones), max_size=25).map(tuple),
    quote=text,
    table=st.none() | tables,
    buttons=st.lists(buttons, max_size=14).map(tuple),
    footer=text,
)
thorough = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def parsed_by_slack(value: Any) -> Iterator[str]:
    """Every string that Slack would read as mrkdwn."""
    if isinstance(value, dict):
        if value.get("type") == "mrkdwn":
            yield value["text"]
        for inner in value.values():
            yield from parsed_by_slack(inner)
    if isinstance(value, list):
        for inner in value:
            yield from parsed_by_slack(inner)


DRAWN: tuple[Callable[[Card], Message], ...] = (
    card_blocks.render,
    card_blocks.render_condensed,
)


@pytest.mark.parametrize("draw", DRAWN, ids=lambda draw: draw.__name__)
@thorough
@given(card=cards)
def test_no_card_whatever_breaks_a_limit_or_an_escape(draw: Callable[[Card], Message], card: Card) -> None:
    message = draw(card)
    assert blockkit.problems(message.blocks) == []
    assert 0 < len(message.text) <= 4_000
    assert "<" not in message.text
    assert ">" not in message.text
    assert list(parsed_by_slack(message.blocks)) == []
    assert len(json.dumps(message.blocks)) <= 13_200
    assert message.text.encode("utf-8")


items = st.builds(
    Card,
    title=text,
    tone=tones,
    facts=st.lists(st.builds(Fact, label=text, value=text), max_size=3).map(tuple),
    quote=text,
    buttons=st.lists(st.builds(Button, label=st.text(max_size=12), action=actions), max_size=1).map(tuple),
)


@settings(thorough, max_examples=20)
@given(card=cards, listed=st.lists(items, max_size=40), many=items.map(lambda one: [one] * 20))
def test_no_list_of_cards_alone_or_below_another_breaks_a_limit(
    card: Card, listed: list[Card], many: list[Card]
) -> None:
    for message in (card_blocks.render_list("Many", many), card_blocks.render(card, listed)):
        assert blockkit.problems(message.blocks) == []
        assert len(json.dumps(message.blocks)) <= 13_200
        assert len(message.blocks) <= 50


def test_a_cards_words_are_all_shown_as_they_are_when_they_fit() -> None:
    event = Event(kind="reply.interested", lead=EventLead(first_name="Ada"), reply="*no* <!channel>")
    card = card_of(Alert(id="al_1", event=event, received_at=NOON.timestamp()))
    shown = json.dumps(card_blocks.render(card).blocks)
    assert '"*no* <!channel>"' in shown


def test_a_command_too_long_for_its_menu_or_button_is_left_out() -> None:
    card = Card(
        title="x",
        buttons=(
            Button(label="menu", action=Typed("m" * 150), menu=True),
            Button(label="also", action=Typed("m"), menu=True),
            Button(label="row", action=Typed("r" * 151), menu=True),
            Button(label="gone", action=Typed("g" * 2001)),
        ),
    )
    drawn = card_blocks.render(card).blocks[-1]["elements"]
    assert [one["type"] for one in drawn] == ["overflow"]
    assert [option["text"]["text"] for option in drawn[0]["options"]] == ["menu", "also"]


@pytest.mark.parametrize(("cell", "shown"), [(None, "–"), (0.0, "0"), (1234567.0, "1,234,567"), ("x", "x")])
def test_unknown_values_are_never_shown_as_zero(cell: str | float | None, shown: str) -> None:
    table = Table(columns=(Column(title="A"),), rows=(Row(cells=(cell,)),))
    drawn = card_blocks.render(Card(title="x", table=table)).blocks[-1]
    assert drawn["rows"][1][0]["text"] == shown


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        (1240, 1240),
        (6.6, 6.6),
        ("6.6 %", 6.6),
        ("11.6 %", 11.6),
        ("1,240", 1240.0),
        ("–", None),
        ("6 to 8", None),
    ],
)
def test_a_figure_is_sorted_by_its_value_and_reads_as_it_did(cell: Any, value: float | None) -> None:
    table = Table(
        columns=(Column(title="Group"), Column(title="Rate", numeric=True)), rows=(Row(cells=("All", cell)),)
    )
    drawn = card_blocks.render(Card(title="Stats", table=table)).blocks[1]["rows"][1][1]
    assert drawn.get("value") == value
    assert drawn["text"] == show_cell(cell)


LONG = "The second of two columns of text"


@pytest.mark.parametrize(
    ("columns", "cells", "titles"),
    [
        (
            (Column(title="Inbox"), Column(title="Health", numeric=True)),
            ("ann@mail.example", 91),
            ["Inbox", "Health"],
        ),
        (
            (
                Column(title="Name"),
                Column(title="Reply rate", narrow="Replies"),
                Column(title="Id", narrow=""),
            ),
            ("Q3", "7.1 % ±1.8", "sq_1"),
            ["Name", "Replies"],
        ),
        ((Column(title="Name"), Column(title="Why")), ("Q3", LONG), None),
    ],
)
def test_a_table_that_is_wider_than_a_phone_becomes_lines(
    columns: tuple[Column, ...], cells: tuple[Any, ...], titles: list[str] | None
) -> None:
    (drawn,) = draw_table(Table(columns=columns, rows=(Row(cells=cells),)))
    assert drawn["type"] == ("data_table" if titles else "rich_text")
    if titles:
        assert [cell["text"] for cell in drawn["rows"][0]] == titles
    else:
        assert LONG in str(drawn)


def test_a_line_names_no_cell_that_is_empty() -> None:
    table = Table(
        columns=(Column(title="Waiting"), Column(title="Lead"), Column(title="Card"), Column(title="Step")),
        rows=(Row(cells=("3 min", "Ann of a company with a long name", "", None)),),
    )
    (line,) = draw_table(table, in_view=True)[0]["elements"]
    assert line["elements"][1]["text"] == "  Ann of a company with a long name\n"


def test_a_long_wide_table_keeps_its_pages_and_the_columns_that_fit() -> None:
    columns = (Column(title="Name"), Column(title="Status"), Column(title="Why"))
    rows = tuple(Row(cells=(f"Q{n}", "paused", LONG)) for n in range(30))
    (drawn,) = draw_table(Table(columns=columns, rows=rows))
    assert [cell["text"] for cell in drawn["rows"][0]] == ["Name", "Status"]
    assert len(drawn["rows"]) == 31


@thorough
@given(card=cards, items=st.lists(cards, max_size=3))
def test_any_answer_is_a_view_that_slack_takes(card: Card, items: list[Card]) -> None:
    view = forms.answer_view(card, items=items)
    assert blockkit.problems(view["blocks"], surface="modal") == []


def test_a_tables_rows_are_lines_that_say_what_each_figure_is() -> None:
    columns = (Column(title="Group"), Column(title="Sends", numeric=True), Column(title="Id", narrow=""))
    table = Table(columns=columns, rows=(Row(cells=("Spring", 1200, "sq_1"), tone=Tone.BAD),), total=3)
    card = Card(title="Stats", table=table, buttons=(Button(label="More", action=Stats()),))
    kinds = [block["type"] for block in card_blocks.render_view(card)]
    assert kinds == ["header", "rich_text", "actions"]
    words = [
        piece["text"]
        for section in card_blocks.render_view(card)[1]["elements"]
        for piece in section["elements"]
    ]
    assert words == ["🔴 Spring", "  Sends 1,200\n", "and 2 more"]


def test_a_list_shows_times_to_each_reader_in_their_zone_and_a_backtick_as_it_is() -> None:
    at = datetime(2026, 11, 20, 12, tzinfo=UTC)
    facts = (Fact("", "a `b` c"), Fact("Snoozed until", "20 Nov 12:00 UTC", at=at))
    (entry,) = card_blocks.render_list("Some", [Card("Ada", text=("Say `claim`.",), facts=facts)]).blocks[1:2]
    (part,) = entry["elements"]
    assert [(one.get("text"), one.get("timestamp")) for one in part["elements"][1:]] == [
        ("\n", None),
        ("Say ", None),
        ("claim", None),
        (".", None),
        (" · ", None),
        ("a `b` c", None),
        (" · ", None),
        ("Snoozed until ", None),
        (None, at.timestamp()),
    ]


@pytest.mark.parametrize(
    ("title", "said"), [("Paused", "Paused: Until noon."), ("Pause it?", "Pause it? Until noon.")]
)
def test_a_notification_reads_as_a_sentence(title: str, said: str) -> None:
    assert card_blocks.render(Card(title, text=("Until noon.",))).text == said
