"""What people do reaches a real Bolt app, over HTTP and over Socket Mode, and its answers come back."""

from __future__ import annotations

from typing import Any

from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.slack import seed
from tests.sandbox.slack.driver import Person, actions, button, section

CARD = [section("*Interested*"), actions(button("claim", "Claim", value="al_1"))]


async def test_a_slash_command_is_answered_where_it_was_typed(running: AsyncApp, person: Person) -> None:
    seen: list[dict[str, Any]] = []

    @running.command("/outreach")
    async def command(ack: Any, command: dict[str, Any]) -> None:
        seen.append(command)
        await ack(f"you said {command['text']}")

    done = await person.do("command", user="ben", text="/outreach pause sq_1", wait=2)
    assert done["ack"]["ok"], done
    assert [one["text"] for one in done["answers"]] == ["you said pause sq_1"]
    assert done["answers"][0]["ephemeral"]
    assert done["answers"][0]["seen_by"] == seed.BEN.id
    assert seen[0]["user_id"] == seed.BEN.id
    assert seen[0]["channel_name"] == "outreach-alerts"


async def test_a_click_carries_the_button_and_changes_the_card(
    running: AsyncApp, person: Person, client: AsyncWebClient
) -> None:
    @running.action("claim")
    async def claim(ack: Any, body: dict[str, Any], respond: Any) -> None:
        await ack()
        value = body["actions"][0]["value"]
        await respond(text=f"{value} is claimed by <@{body['user']['id']}>", replace_original=True)

    posted = await client.chat_postMessage(channel=seed.ALERTS, text="Interested", blocks=CARD)
    done = await person.do("click", ts=posted["ts"], text="Claim", user="ann", wait=2)
    assert done["answers"][0]["ts"] == posted["ts"]
    assert done["answers"][0]["text"] == f"al_1 is claimed by <@{seed.ANN.id}>"
    assert done["answers"][0]["edited"]
    assert done["answers"][0]["revisions"][0]["text"] == "Interested"


async def test_an_escaped_command_carries_links_ids_and_entities(running: AsyncApp, person: Person) -> None:
    seen: list[str] = []

    @running.command("/outreach")
    async def command(ack: Any, command: dict[str, Any]) -> None:
        seen.append(command["text"])
        await ack()

    await person.do("settings", commands=[{"command": "/outreach", "should_escape": True}])
    await person.do("command", text="/outreach add ada@acme.example #sales @ben https://x.example/a?b=1 R&D")
    escaped_url = "<https://x.example/a?b=1>"
    ids = f"<#{seed.SALES}|sales> <@{seed.BEN.id}|ben>"
    assert seen == [f"add <mailto:ada@acme.example|ada@acme.example> {ids} {escaped_url} R&amp;D"]
