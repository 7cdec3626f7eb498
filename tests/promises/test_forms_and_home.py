"""Forms, modals, Home and old buttons; the same as text where Slack refuses to draw them; several workspaces."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from tests.kit import Message, Team, interested
from tests.kit.team import ALERTS, SALES, data_of

NAME = "Fintech ops leaders"
EVERY_BLOCK = ["header", "rich_text", "context", "actions", "data_table"]


async def offered(team: Team, text: str = "", *, user: str = "ben") -> list[dict[str, Any]]:
    """The sequences that the menu of an open form offers for this text."""
    menu = {"view": True, "action_id": "sequence", "value": text, "user": user}
    return list((await team.act("options", **menu))["options"])


async def submit(team: Team, values: dict[str, Any], options: list[dict[str, Any]]) -> Any:
    return await team.act("view/submit", values=values, offered=options, user="ben")


async def post_old(team: Team, action: str, value: str, *, thread_ts: str = "") -> Message:
    """A message of the bot with a button, as an older version may have posted it."""
    label = {"type": "plain_text", "text": "Run"}
    button = {"type": "button", "action_id": action, "text": label, "value": value}
    body = {"channel": ALERTS, "text": "old", "blocks": [{"type": "actions", "elements": [button]}]}
    body |= {"thread_ts": thread_ts} if thread_ts else {}
    headers = {"Authorization": f"Bearer {team.environ['SLACK_BOT_TOKEN']}"}
    url = f"{team.environ['SLACK_API_URL']}chat.postMessage"
    async with team.http.post(url, json=body, headers=headers) as answer:
        return Message((await answer.json())["message"] | {"channel": ALERTS})


async def is_open(team: Team, words: str, user: str = "ann") -> bool:
    """True once the modal before this person shows these words."""
    return words in json.dumps(await team.open_view(user))


async def test_a_form_refuses_what_is_wrong_and_then_does_what_it_says(team: Team) -> None:
    await team.install()
    assert "Open form" not in (await team.ask("help add", user="gus")).buttons
    await team.click(await team.ask("help add", user="ben"), "Open form", user="ben")
    options = await offered(team, NAME[:8])
    sequence = await team.account.sequence(NAME)
    assert [one["value"] for one in options] == [sequence["id"]]
    values = {
        "email": {"text": "no address"},
        "sequence": {"sequence": sequence["id"]},
        "more": {"text": "Oslo"},
    }
    errors = (await submit(team, values, options))["errors"]
    assert errors["email"] == "Enter a valid email address."
    assert "“Oslo” isn't in this form" in errors["more"]
    values |= {"email": {"text": "new.lead@acme.example"}, "more": {"text": "city=Oslo"}}
    await submit(team, values, options)
    await team.message("Added ")
    assert team.account.asked("POST", "/leads")


async def test_a_form_pauses_for_as_long_as_it_says(team: Team) -> None:
    await team.install()
    await team.act("shortcut", callback_id="pause_form", user="ben", wait=5)
    options = await offered(team, NAME)
    values = {"sequence": options[0]["value"], "length": "1h", "reason": {"text": "a storm"}}
    await submit(team, values, options)
    await team.message(f"{NAME} paused until")
    assert "a storm" in (await team.ask("audit")).shown


async def test_a_form_that_nobody_can_use_any_more_and_old_buttons_say_so(team: Team) -> None:
    old = await post_old(team, "old", "x")
    (answer,) = await team.click(old, "Run")
    assert "older version" in answer.title
    assert "no longer stored" in (await team.ask("claim al_0000000000")).shown
    await team.click(await team.ask("pause", user="ben"), "Open form", user="ben")
    for view in team.slack.workspace.views.values():
        view |= {"callback_id": "of_last_year", "blocks": old.data["blocks"]}
    assert "older version" in json.dumps((await submit(team, {}, []))["view"])


async def test_what_is_changed_in_a_conversation_with_the_bot_is_posted_for_all(team: Team) -> None:
    await team.install()
    await team.act("message", text="status", channel="dm", user="ben", wait=5)
    await team.message("Sequences", channel="dm", user="ben")
    await team.act("message", text=f'pause "{NAME}" reason it\'s late', channel="dm", user="ben", wait=5)
    assert "@ben" in (await team.message(f"{NAME} paused")).shown


async def test_doctor_is_for_admins_and_names_what_fails(team: Team) -> None:
    assert "don't have permission" in (await team.ask("doctor", user="ben")).title
    assert "Channels  🟢 ok" in (await team.ask("doctor")).shown
    await team.act("scopes", remove=["chat:write.public"])
    await team.ask("doctor")  # learns that the bot posts only where it was invited
    await team.act("members", channel=ALERTS, remove="U0OUTREACH")

    async def named() -> bool:
        answer = await team.ask("doctor")
        return "/invite @outreach" in answer.shown and "checks failed" in answer.title

    await team.until(named)


@pytest.mark.parametrize("address_works", [True, False])
async def test_a_click_in_a_thread_is_answered_in_that_thread(team: Team, *, address_works: bool) -> None:
    root = (await team.act("message", text="root", channel=ALERTS))["message"]
    if not address_works:
        await team.act("faults", method="response_url", kind="status", status=404, times=None)
    for value, words in (("whoami", "You are ben"), ("nonsense", "Unknown command")):
        message = await post_old(team, "run_0", value, thread_ts=root["ts"])
        await team.click(message, "Run", user="ben", wait=0)
        answer = await team.message(words)
        assert (answer.data["thread_ts"], answer.data["seen_by"]) == (root["ts"], "U0BEN00002")


@pytest.mark.parametrize(
    "line",
    [
        "stats by moon",
        "pause",
        "x" * 3_000,
        "“",
        "🎉\n*b*",
        "lead <!channel>",
        "form pause",
        "ack al_1",
        "yes q_1",
    ],
)
async def test_no_line_is_left_without_an_answer(team: Team, line: str) -> None:
    (answer,) = await team.say(line)
    assert answer.data["seen_by"] == "U0ANN00001"
    assert answer.data["text"]


async def test_home_and_modals_are_text_where_their_blocks_are_refused(team: Team) -> None:
    await team.install()
    await team.act("shortcut", callback_id="pause_form", user="ben", wait=5)
    options = await offered(team, NAME)
    await team.act("settings", refused_blocks=EVERY_BLOCK)
    assert {block["type"] for block in (await team.home()).data["blocks"]} == {"section"}
    assert (await submit(team, {"sequence": options[0]["value"]}, options))["errors"] == {}
    await team.until(partial(is_open, team, "paused", "ben"))


async def test_home_shows_what_is_urgent_of_every_workspace_and_a_line_for_each(team: Team) -> None:
    await team.serve_two_clients()
    await team.deliver(interested("Ada"), path="/acme")
    await team.deliver(interested("Bob"), path="/globex")
    await team.card("Bob", channel=SALES)
    home = await team.home()
    for words in ("2 unclaimed replies", "acme · ", "Outreach workspaces · 2"):
        assert words in home.shown
    for place, label, words in (
        ("home", "Help", "All commands"),
        ("view", "All commands", "resume SEQUENCE"),
    ):
        await team.act("click", **{place: True}, text=label, user="ann", wait=5)
        await team.until(partial(is_open, team, words))
    assert len(await team.calls("views.open")) == 1, "a click in a modal is answered there"
    # Whoever has closed the modal by then gets the answer as a message.
    await team.act("faults", method="views.update", kind="error", error="not_found")
    await team.act("click", home=True, text="Help", user="ann", wait=5)
    await team.message("All commands", channel="dm")
    assert "Workspace globex" in (await team.ask("subscribe bounces here @globex")).shown
    listed = data_of(await team.ask("subscriptions"))
    for words in ("unsubscribe bounces @globex", "the setting alert_channel"):
        assert words in listed


async def test_a_form_offers_the_workspace_of_its_channel_and_the_others(team: Team) -> None:
    await team.serve_two_clients()
    question = await team.ask("pause", channel=SALES, user="ben")
    await team.click(question, "Open form", user="ben")
    view = await team.open_view("ben")
    assert view["blocks"][0]["element"]["initial_option"]["value"] == "globex"
    choice = {"view": True, "action_id": "workspace", "value": "acme", "user": "ben"}
    await team.act("click", **choice, wait=5)
    options = await offered(team, NAME)
    await submit(team, {"sequence": options[0]["value"], "length": "1h"}, options)
    await team.message(f"{NAME} paused until", channel=SALES)
    assert await team.account.is_paused(NAME)
