"""A session is recorded, read and played again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from slack_bolt.async_app import AsyncApp

from sandbox.slack.state import seed
from tests.sandbox.slack.driver import Person, actions, asked, button, modal, section

COMMAND = {"command": "/deploy", "description": "Deploy"}


@pytest.fixture
def greeting(running: AsyncApp) -> list[str]:
    """A bot that deploys, is claimed and asks for a reason; the greeting may be changed."""
    words = ["Deploying"]

    @running.command("/deploy")
    async def deploy(ack: Any, say: Any, command: Any) -> None:
        await ack()
        text = f"{words[0]} {command['text']}"
        await say(text=text, blocks=[section(text), actions(button("claim", "Claim"))])

    @running.action("claim")
    async def claim(ack: Any, body: Any, client: Any) -> None:
        await ack()
        view = modal(asked("reason", {"type": "plain_text_input", "action_id": "why"}))
        await client.views_open(trigger_id=body["trigger_id"], view=view)

    @running.view("form")
    async def submitted(ack: Any, body: Any, client: Any) -> None:
        await ack()
        why = body["view"]["state"]["values"]["reason"]["why"]["value"]
        await client.chat_postMessage(channel=seed.SALES, text=f"<@{body['user']['id']}> says {why}")

    return words


async def session(person: Person) -> dict[str, Any]:
    await person.do("settings", commands=[COMMAND])
    await person.do("command", text="/deploy now", user="ann", channel="sales", wait=5)
    [first] = (await person.see("messages", channel="sales"))["messages"]
    await person.do("click", ts=first["ts"], action_id="claim", user="ben", channel="sales", wait=5)
    await person.do("view/submit", values={"why": "late"}, user="ben", channel="sales", wait=5)
    return await person.see("transcript")


async def test_a_session_is_a_transcript(person: Person, greeting: list[str]) -> None:
    kept = await session(person)
    lines = [line[9:] for line in kept["text"].splitlines()]
    assert lines == [
        "ann > command /deploy now sales",
        "  #sales outreach: Deploying now",
        "           [Claim]"[9:],
        "ben > click claim sales",
        "  view of ben: Form",
        "           reason"[9:],
        "ben > view/submit {'why': 'late'} sales",
        "  #sales outreach: @ben says late",
    ]
    kinds = [entry["kind"] for entry in kept["transcript"]["entries"]]
    assert kinds == ["act", "posted", "act", "view", "act", "posted"]


async def test_a_session_is_played_again(person: Person, greeting: list[str]) -> None:
    recording = json.loads(json.dumps((await session(person))["transcript"]))
    assert (await person.do("replay", transcript=recording))["differences"] == []
    greeting[0] = "Shipping"
    differences = (await person.do("replay", transcript=recording))["differences"]
    first_lines = [line.split("\n")[0] for line in differences]
    assert first_lines == ["-  #sales outreach: Deploying now", "+  #sales outreach: Shipping now"]


async def test_an_impossible_action_is_not_recorded(person: Person) -> None:
    await person.do("click", element="Nothing", refused=True)
    assert (await person.see("transcript"))["transcript"]["entries"] == []


async def test_an_invalid_recording_is_refused(person: Person) -> None:
    refused = await person.do("replay", transcript={"version": 0}, refused=True)
    assert refused["error"] == "transcript: not a recording of version 1"


async def test_a_rejected_call_is_in_the_transcript(person: Person, running: AsyncApp) -> None:
    await person.do("faults", method="auth.test", kind="error", error="internal_error")
    with pytest.raises(Exception, match="internal_error"):
        await running.client.auth_test()
    assert "! auth.test: internal_error" in (await person.see("transcript"))["text"]
