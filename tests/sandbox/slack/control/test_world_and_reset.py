"""A world of one's own, and a reset that leaves nothing."""

from __future__ import annotations

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.slack.server import SlackStandIn
from tests.sandbox.slack.driver import Json, Person

WORLD: Json = {
    "team": {"name": "Acme"},
    "users": {"zoe": {"real_name": "Zoe Brook", "is_admin": True}, "max": None},
    "groups": {"oncall": {"users": ["zoe"]}},
    "channels": {"ops": None, "payroll": {"is_private": True, "members": ["zoe"]}},
}


async def test_the_bot_runs_in_a_custom_world(client: AsyncWebClient, person: Person) -> None:
    await person.do("world", **WORLD)
    assert (await client.auth_test())["team"] == "Acme"
    members = (await client.users_list())["members"]
    assert [one["name"] for one in members if not one["is_bot"]] == ["zoe", "max"]
    assert (await client.users_info(user="U0ZOE00000"))["user"]["is_admin"] is True
    listed = await client.conversations_list(types="public_channel,private_channel")
    assert [(one["id"], one["name"]) for one in listed["channels"]] == [("C0OPS00000", "ops")]
    assert (await client.usergroups_users_list(usergroup="S0ONCALL00"))["users"] == ["U0ZOE00000"]
    posted = (await person.do("message", text="hello"))["message"]
    assert (posted["user_name"], posted["channel"]) == ("zoe", "C0OPS00000")


@pytest.mark.parametrize(
    ("world", "sentence"),
    [
        ({**WORLD, "users": {}}, "users: at least one person"),
        ({**WORLD, "channels": None}, "channels: at least one"),
        ({**WORLD, "teams": {}}, "unknown: teams"),
        ({**WORLD, "users": {"zoe": {"age": 7}}}, "unknown: users.zoe.age"),
        ({**WORLD, "users": {"zoe": "admin"}}, "users.zoe: not an object"),
        ({**WORLD, "groups": {"oncall": {"users": ["eve"]}}}, "no user is named 'eve'"),
        ({**WORLD, "users": {"zoe": None, "Zoe": None}}, "the same id twice: U0ZOE00000"),
    ],
)
async def test_a_world_that_cannot_be_is_explained(person: Person, world: Json, sentence: str) -> None:
    assert sentence in (await person.do("world", refused=True, **world))["error"]
    assert len((await person.see("state"))["channels"]) == 6


async def test_a_full_reset_leaves_nothing(slack: SlackStandIn, person: Person) -> None:
    before = await person.see("state")
    await person.do("message", text="hello")
    await person.do("manifest", features={"slash_commands": [{"command": "/deploy"}]}, settings={})
    await person.do("world", **WORLD)
    await person.do("token", revoked=True)
    await person.do("clock", advance=9000)
    await person.do("sockets", act="silence")
    await person.do("faults", kind="status")
    await person.do("reset", everything=True)
    after = await person.see("state")
    assert after.pop("now") < before.pop("now") + 60
    assert after == before
    assert (await person.see("messages", channel="outreach-alerts"))["messages"] == []
    assert (slack.workspace.first.revoked, slack.sockets.silent) == (False, False)


async def test_a_full_reset_returns_to_what_was_kept(person: Person) -> None:
    await person.do("world", **WORLD)
    await person.do("settings", burst=9)
    await person.do("keep")
    await person.do("settings", burst=2)
    await person.do("channel", channel="ops", name="operations")
    await person.do("reset", everything=True)
    state = await person.see("state")
    assert state["settings"]["burst"] == 9
    assert [one["name"] for one in state["channels"]] == ["ops", "payroll"]
