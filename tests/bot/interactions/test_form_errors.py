"""A form shows what is wrong with an argument at the field that is to blame."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.commands.answer import Answer
from bot.interactions.forms import FormInput, FormRequest, form_view
from shared.commands.base import Problem
from shared.commands.status import Status
from shared.domain.card import Button, Card

BLAMED = {
    "pause": {"target": "sequence:acme", "duration": "length", "until": "length"},
    "add": {"email": "email", "target": "sequence:acme", "fields": "more"},
}


@pytest.mark.parametrize("verb", BLAMED)
def test_each_argument_is_blamed_at_its_field_by_its_name(verb: str) -> None:
    view = form_view(verb, FormRequest(channel="C1", workspace="acme"))
    ids = [block["block_id"] for block in view["blocks"]]
    form = FormInput(blocks={one.partition(":")[0]: one for one in ids})
    card = Card(title="NO", text=("DO THIS.",))
    for argument, block in BLAMED[verb].items():
        answer = Answer(card=card, problem=Problem(text="", argument=argument))
        assert form.errors_of(answer) == {block: "NO. DO THIS."}
        choice = replace(card, buttons=(Button(label="This one", action=Status()),))
        assert form.errors_of(replace(answer, card=choice)) == {}
    assert form.errors_of(Answer(card=card)) == {}
    assert form.errors_of(Answer(card=card, problem=Problem(text="role"))) == {}
