"""The docs, and the answers that docs/copy.md renders, stay in plain English: what was replaced doesn't come back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import pytest

from shared.domain.card import Card
from tests.copy_page import bot_cards
from tests.copy_page.answers import answers
from tests.test_docs import PAGES

pytestmark = pytest.mark.lint

REPLACED = re.compile(
    r"""\b(?:
      (?:be|is|are|was|not|now)\ told\b | tells?\ about | somebody | whoever | nobody\ (?:waits|has\ it|is\ interested)
    | waits\ for\ someone | needs?\ a\ look | checks\ are\ fine | what\ can\ wait | only\ reads | takes?\ it\ back
    | in\ vain | anew | meanwhile | in\ the\ meantime | mend | plainer | stumbled | wasn't\ asked | was\ set\ aside
    | by\ (?:itself|themselves) | wake\ now | to\ undo: | went\ wrong\ here | is\ (?:already\ there|there\ already)
    | is\ no\ (?:duration|event|channel|page|date|period|day|port) | no\ answer\ (?:yet|within|in\ time)
    | could\ be\ (?:paused|resumed) | there\ are:\ | e-mail | colours? | organisations? | \d\ %
    )""",
    re.IGNORECASE | re.VERBOSE,
)


def test_docs_and_answers_hold_no_replaced_phrase() -> None:
    lines = ((page.name, line) for page in PAGES for line in page.read_text(encoding="utf-8").splitlines())
    assert [(name, phrase[0], line) for name, line in lines if (phrase := REPLACED.search(line))] == []


INTERNAL = re.compile(
    r"\b(?:sq|ld|ib|wh|al|ev|q)_[0-9a-z]+\b"  # ids of the service and the bot
    r"|\b(?:sequence|lead|inbox|alert|channel|workspace)_id\b"
    r"|\d{4}-\d\d-\d\dT\d\d"
    r"|\b\d\d:\d\d(?::\d\d)?Z\b"
    r"|<#[CGD]\w+>|\b[CGD](?:\d|0)[A-Z0-9]{2,}\b"  # ids of Slack's channels
)
TYPED = {"Example", "Usage", "Refused"}
"""Facts that show commands, as people type them."""
LISTED = {"Id", "Command"}
"""Columns of what commands take."""


def _shown(card: Card) -> Iterator[str]:
    """What people read; code, which they type, aside."""
    texts = [card.title, *card.text, card.footer, *(button.label for button in card.buttons)]
    texts += [fact.value for fact in (*card.facts, *card.details) if fact.label not in TYPED]
    texts += [fact.label for fact in (*card.facts, *card.details)]
    if card.table:
        titles = [column.title for column in card.table.columns]
        texts += titles
        for row in card.table.rows:
            named = zip(titles, row.cells, strict=True)
            texts += [str(cell) for title, cell in named if title not in LISTED]
    yield from (re.sub(r"`[^`]*`", "", text) for text in texts)


def test_no_card_shows_an_internal_id_or_a_raw_time() -> None:
    cards = {**answers(), **bot_cards.alerts(), **dict(bot_cards.guardrails()), **dict(bot_cards.exchanges())}
    shown = (
        (name, text) for name, card in cards.items() for text in _shown(card) if not name.startswith("help")
    )
    assert [(name, found[0], text) for name, text in shown if (found := INTERNAL.search(text))] == []


OTHER_NAMES = re.compile(
    r"""\b(?:
      faults? | campaigns? | speed\ to\ lead | (?:first\ )?touch(?:es)? | time\ to\ (?:answer|reply|touch) | handled
    | resumptions? | understood:\  | many\ (?:bounces|opt-outs) | audit\ (?:trail|entry)
    | (?<!outreach\ )(?<!slack\ )workspaces?\b
    )""",
    re.IGNORECASE | re.VERBOSE,
)
"""Of what has one name: problem, sequence, time to claim, resume, rule, bounce spike, audit log, outreach or Slack workspace."""
OTHER_LABELS = {"Address", "From", "Campaign", "Workspace", "Near", "Closest"}


def test_cards_call_each_thing_by_its_one_name() -> None:
    cards = {**answers(), **bot_cards.alerts(), **dict(bot_cards.guardrails()), **dict(bot_cards.exchanges())}
    labels = [(name, fact.label) for name, card in cards.items() for fact in (*card.facts, *card.details)]
    labels += [
        (name, column.title) for name, card in cards.items() if card.table for column in card.table.columns
    ]
    assert [one for one in labels if one[1] in OTHER_LABELS] == []
    shown = (
        (name, text) for name, card in cards.items() for text in _shown(card) if not name.startswith("help")
    )
    assert [(name, found[0], text) for name, text in shown if (found := OTHER_NAMES.search(text))] == []


def test_forms_and_home_use_the_same_names() -> None:
    lines = [(name, text) for name, view in bot_cards.views() for text in _texts(view)]
    assert [one for one in lines if one[1] in {"Address", "Email address", "From"}] == []
    named = ((name, text) for name, text in lines if text != "Workspace")  # what a guardrail is for
    assert [(name, found[0], text) for name, text in named if (found := OTHER_NAMES.search(text))] == []


def _texts(part: object) -> Iterator[str]:
    """The texts of a view, as people read them."""
    if isinstance(part, list | tuple):
        for one in part:
            yield from _texts(one)
    elif isinstance(part, Mapping):
        if isinstance(text := part.get("text"), str):
            yield text
        for one in part.values():
            yield from _texts(one)
