"""Whatever the service calls its things, every button of every card is a line that means what it says."""

from __future__ import annotations

import asyncio
import logging

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.errors import OutreachError
from shared.commands import parse
from shared.commands.base import OnSequence
from shared.commands.errors import error_card
from shared.domain.card import Card
from tests.kit.commands import KEY, CommandHarness, scripted, text

# Each means something else in a line or outside of it: a workspace, an end, a quotation, a field, a formula.
NASTY = [
    "@globex",
    "--yes",
    "for 2h",
    "reason",
    '"',
    "a=b",
    "\x1b[31mred",
    "<!channel>",
    "=1+1",
    "\u202egnp",
    "x" * 3000,
    "\\",
]
names = st.sampled_from(NASTY) | st.text(min_size=1, max_size=12)
CHOICE = "resume sq"
LINES = ("sequences", "inboxes", "status", "leads", CHOICE, "pause 'sq2 '", "lead ld", "digest now", "stats")


async def cards(name: str, other: str, *lines: str) -> list[Card]:
    harness = scripted()
    async with harness.client:
        harness.service.sequences = [
            {"id": f"sq {name}", "name": name, "status": "active"},
            {"id": f"sq2 {other}", "name": f"{name}{other}", "status": "paused"},
        ]
        harness.service.inboxes = [
            {"email": f"a@{name}", "health_score": 1},
            {"email": f"{other}@b", "health_score": 2},
        ]
        harness.service.leads = [
            {"id": f"ld{name}", "email": f"ann@{other}", "status": "active", "company": name}
        ]
        return [await harness.say(line) for line in lines]


@given(names, names)
def test_every_button_parses(name: str, other: str) -> None:
    buttons = [button for card in asyncio.run(cards(name, other, *LINES)) for button in card.buttons]
    assert buttons
    for button in buttons:
        assert parse(button.line).workspace is None
        assert len(button.label) <= 75


@given(names, names)
def test_the_button_of_a_choice_names_the_sequence_it_shows(name: str, other: str) -> None:
    (chosen,) = asyncio.run(cards(name, other, CHOICE))
    arguments = [parse(button.line).arguments for button in chosen.buttons]
    targets = [one.target for one in arguments if isinstance(one, OnSequence)]
    if chosen.title.startswith("“sq”"):
        assert chosen.table is not None
        assert targets == [(row.cells[0],) for row in chosen.table.rows]


async def test_no_text_and_no_log_line_has_the_key(
    harness: CommandHarness, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    texts = [repr(harness.context), repr(harness.client)]
    # A service that quotes the key in its refusal must not bring it into a log.
    for instead in (
        httpx.ConnectError("no"),
        httpx.Response(401, text=f"key {KEY}"),
        httpx.Response(500, text=f"<h1>{KEY}"),
    ):
        for endpoint in ("GET /sequences", "GET /inboxes", "GET /stats", "GET /leads"):
            harness.service.failing[endpoint] = instead
        texts.append(text(await harness.say("status")))
        with pytest.raises(OutreachError) as caught:
            await harness.say("pause sq_1")
        texts += [text(error_card(caught.value, "ref")), repr(caught.value), str(caught.value)]
    texts += [repr(await harness.entries()), caplog.text]
    assert not [line for line in texts if KEY in line]
