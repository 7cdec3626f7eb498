"""What Slack refuses, and what nobody can do there, case by case as `refused.json` lists it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.slack.blockkit import problems
from tests.sandbox.cases import built
from tests.sandbox.slack.driver import Json, Person, refused

CASES: dict[str, list[Any]] = json.loads(Path(__file__).with_name("refused.json").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES["calls"], ids=lambda case: case["what"])
async def test_slack_would_refuse_a_call(case: Json, client: AsyncWebClient) -> None:
    answer = await refused(client.api_call(case["method"], json=built(case["args"], 0)))
    assert answer["error"] == case["error"]


@pytest.mark.parametrize("case", CASES["blocks_at_a_limit"], ids=lambda case: case["what"])
def test_a_limit_of_blocks_holds_to_the_last_one(case: Json) -> None:
    assert problems(built(case["blocks"], case["most"])) == []
    found = problems(built(case["blocks"], case["most"] + 1))
    assert found
    assert all("[json-pointer:/blocks" in one for one in found)


@pytest.mark.parametrize("block", CASES["bad_blocks"], ids=str)
def test_a_block_that_slack_cannot_draw_is_refused(block: Any) -> None:
    assert problems([block])


@pytest.mark.parametrize("case", CASES["acts"], ids=lambda case: f"{case['act']} {case['body']}")
async def test_what_cannot_be_done_is_explained_and_changes_nothing(case: Json, person: Person) -> None:
    before = await person.see("state")
    assert case["error"] in (await person.do(case["act"], refused=True, **case["body"]))["error"]
    assert {**await person.see("state"), "now": 0} == {**before, "now": 0}
