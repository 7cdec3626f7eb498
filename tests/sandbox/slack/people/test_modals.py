"""Modals and options: what a bot's acknowledgement does, and how long a trigger and a hash hold."""

from __future__ import annotations

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.slack import seed
from sandbox.slack.server import SlackStandIn
from tests.sandbox.receiver import Receiver
from tests.sandbox.slack.driver import Json, Person, asked, modal, option, payloads, plain, section

WHY = asked("why", {"type": "plain_text_input", "action_id": "text", "min_length": 3})


async def opened(slack: SlackStandIn, client: AsyncWebClient, view: Json) -> Json:
    trigger = slack.workspace.issue_trigger(seed.ANN.id)
    return dict((await client.views_open(trigger_id=trigger, view=view))["view"])


async def test_the_app_can_refuse_change_and_clear(
    slack: SlackStandIn, client: AsyncWebClient, person: Person, receiver: Receiver
) -> None:
    await opened(slack, client, modal(WHY, private_metadata="m"))
    receiver.answers = [
        {"response_action": "errors", "errors": {"why": "No."}},
        {"response_action": "errors", "errors": {"unknown": "No."}},
        {"response_action": "update", "view": modal(WHY, title=plain("Second"))},
        {"response_action": "clear"},
    ]

    async def submit(text: str = "because") -> Json:
        return await person.do("view/submit", values={"text": text})

    assert "why" in (await submit(""))["errors"], "Slack asks for it itself"
    assert (await submit())["errors"] == {"why": "No."}
    assert "" in (await submit())["errors"]
    assert (await submit())["view"]["title"]["text"] == "Second"
    assert (await submit())["view"] is None
    sent = payloads(receiver)[0]["view"]
    assert sent["private_metadata"] == "m"
    assert sent["state"]["values"]["why"]["text"] == {"type": "plain_text_input", "value": "because"}


async def test_a_trigger_works_once_and_three_seconds(
    slack: SlackStandIn, person: Person, client: AsyncWebClient
) -> None:
    used, late = (slack.workspace.issue_trigger(seed.ANN.id) for _ in range(2))
    await client.views_open(trigger_id=used, view=modal(WHY))
    with pytest.raises(SlackApiError, match="exchanged_trigger_id"):
        await client.views_open(trigger_id=used, view=modal(WHY))
    # Slack: a trigger_id expires three seconds after it was sent.
    await person.do("clock", advance=3.1)
    with pytest.raises(SlackApiError, match="expired_trigger_id"):
        await client.views_open(trigger_id=late, view=modal(WHY))


async def test_an_update_with_an_old_hash_conflicts(slack: SlackStandIn, client: AsyncWebClient) -> None:
    view = await opened(slack, client, modal(WHY))
    # Slack: the hash is for two updates that race, of which the later one must not win unseen.
    await client.views_update(view_id=view["id"], hash=view["hash"], view=modal(section("later")))
    with pytest.raises(SlackApiError, match="hash_conflict"):
        await client.views_update(view_id=view["id"], hash=view["hash"], view=modal(section("too late")))


async def test_options_are_loaded_and_chosen(
    slack: SlackStandIn, client: AsyncWebClient, person: Person, receiver: Receiver
) -> None:
    find = {"type": "external_select", "action_id": "find", "min_query_length": 1}
    await opened(slack, client, modal(asked("lead", find)))
    await person.do("settings", loads_options=True)
    ada = option("ada@acme.example", "ld_1")
    receiver.answers = [{"options": [ada]}, {}]
    found = await person.do("options", view=True, action_id="find", value="ada")
    assert found["options"] == [ada]
    await person.do("view/submit", values={"find": "ld_1"}, offered=[ada])
    searched, submitted = payloads(receiver)
    assert (searched["type"], searched["value"]) == ("block_suggestion", "ada")
    assert submitted["view"]["state"]["values"]["lead"]["find"]["selected_option"] == ada
