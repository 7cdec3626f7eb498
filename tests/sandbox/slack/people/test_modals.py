"""Modals, Home, options and shortcuts, with a real Bolt app over both transports."""

from __future__ import annotations

from typing import Any

import pytest
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.slack import seed
from sandbox.slack.server import SlackStandIn
from tests.sandbox.slack.driver import Json, Person, asked, modal, option, plain, section

WHY = asked("why", {"type": "plain_text_input", "action_id": "text", "min_length": 3})
WHEN = asked("when", {"type": "datetimepicker", "action_id": "day"}, optional=True)
WHICH = asked(
    "which",
    {"type": "static_select", "action_id": "seq", "options": [option("One", "sq_1"), option("Two", "sq_2")]},
)
HOW = asked(
    "how",
    {
        "type": "checkboxes",
        "action_id": "ways",
        "options": [option("A", "a"), option("B", "b")],
        "initial_options": [option("A", "a")],
    },
)


def opens(app: AsyncApp, view: Json) -> list[str]:
    """`/outreach` opens `view`; answers the trigger ids that were used."""
    used: list[str] = []

    @app.command("/outreach")
    async def command(ack: Any, command: Json, client: AsyncWebClient) -> None:
        await ack()
        used.append(command["trigger_id"])
        await client.views_open(trigger_id=command["trigger_id"], view=view)

    return used


async def test_a_modal_is_filled_in_and_submitted(running: AsyncApp, person: Person) -> None:
    got: list[Json] = []
    opens(running, modal(WHY, WHEN, WHICH, HOW, private_metadata="m"))

    @running.view("form")
    async def submitted(ack: Any, view: Json) -> None:
        got.append(view)
        await ack()

    opened = await person.do("command", text="/outreach open", wait=3)
    assert opened["view"]["callback_id"] == "form"
    values = {"text": "because", "day": 1_772_000_000, "seq": "sq_2", "how": {"ways": ["b"]}}
    done = await person.do("view/submit", values=values)
    assert (done["errors"], done["view"]) == ({}, None)
    state = got[0]["state"]["values"]
    assert state["why"]["text"] == {"type": "plain_text_input", "value": "because"}
    assert state["when"]["day"]["selected_date_time"] == 1_772_000_000
    assert state["which"]["seq"]["selected_option"] == option("Two", "sq_2")
    assert [one["value"] for one in state["how"]["ways"]["selected_options"]] == ["b"]
    assert got[0]["private_metadata"] == "m"


async def test_the_app_can_refuse_change_and_clear(running: AsyncApp, person: Person) -> None:
    opens(running, modal(WHY))
    answers: list[Json] = [
        {"response_action": "errors", "errors": {"why": "No."}},
        {"response_action": "errors", "errors": {"unknown": "No."}},
        {"response_action": "update", "view": modal(WHY, title=plain("Second"))},
        {"response_action": "clear"},
    ]

    @running.view("form")
    async def submitted(ack: Any) -> None:
        await ack(**answers.pop(0))

    async def submit() -> Json:
        return await person.do("view/submit", values={"text": "because"})

    await person.do("command", text="/outreach open", wait=3)
    assert (await submit())["errors"] == {"why": "No."}
    assert "" in (await submit())["errors"]
    assert (await submit())["view"]["title"]["text"] == "Second"
    assert (await submit())["view"] is None


async def test_a_trigger_works_once_and_three_seconds(
    running: AsyncApp, person: Person, client: AsyncWebClient, slack: SlackStandIn
) -> None:
    used = opens(running, modal(WHY))
    await person.do("command", text="/outreach open", wait=3)
    with pytest.raises(SlackApiError, match="exchanged_trigger_id"):
        await client.views_open(trigger_id=used[0], view=modal(WHY))
    late = slack.workspace.issue_trigger(seed.ANN.id)
    await person.do("clock", advance=3.1)
    with pytest.raises(SlackApiError, match="expired_trigger_id"):
        await client.views_open(trigger_id=late, view=modal(WHY))


async def test_an_update_with_an_old_hash_conflicts(
    running: AsyncApp, person: Person, client: AsyncWebClient
) -> None:
    opens(running, modal(WHY))
    view = (await person.do("command", text="/outreach open", wait=3))["view"]
    await client.views_update(view_id=view["id"], hash=view["hash"], view=modal(section("later")))
    with pytest.raises(SlackApiError, match="hash_conflict"):
        await client.views_update(view_id=view["id"], hash=view["hash"], view=modal(section("too late")))


async def test_options_are_loaded_and_chosen(running: AsyncApp, person: Person) -> None:
    seen: list[Json] = []
    opens(
        running, modal(asked("lead", {"type": "external_select", "action_id": "find", "min_query_length": 1}))
    )

    @running.options("find")
    async def find(ack: Any, payload: Json) -> None:
        await ack(options=[option(f"{payload['value']}@acme.example", "ld_1")])

    @running.view("form")
    async def submitted(ack: Any, view: Json) -> None:
        seen.append(view["state"]["values"]["lead"]["find"]["selected_option"])
        await ack()

    await person.do("settings", loads_options=True)
    await person.do("command", text="/outreach open", wait=3)
    found = await person.do("options", view=True, action_id="find", value="ada")
    assert found["options"] == [option("ada@acme.example", "ld_1")]
    await person.do("view/submit", values={"find": "ld_1"}, offered=found["options"])
    assert seen == [option("ada@acme.example", "ld_1")]
