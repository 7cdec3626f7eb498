"""Requests of Slack, or of someone who has its signature: other teams, repeats and oddities."""

from __future__ import annotations

import hashlib
import hmac
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from tests.kit import Team, interested
from tests.kit.clock import moment

NAME = "West Coast startups"
FOREIGN = "T0FOREIGN1"


async def test_a_command_of_another_team_with_the_id_of_one_of_our_people_does_nothing(team: Team) -> None:
    assert await team.say(f'pause "{NAME}"', user="ann", team=FOREIGN, wait=2) == []
    assert not await team.account.is_paused(NAME)


async def test_a_click_of_another_team_with_the_id_of_one_of_our_people_does_nothing(team: Team) -> None:
    await team.deliver(interested("Ada"))
    card = await team.card("Ada")
    assert await team.click(card, "Claim", team=FOREIGN, wait=2) == []
    assert "ann" not in (await team.ask("replies")).shown.lower()
    assert "Claim" in (await team.present(card)).buttons


async def test_a_command_of_another_organization_with_the_id_of_one_of_our_people_does_nothing(
    team: Team,
) -> None:
    await team.ask("whoami")
    form = await last_command(team, "/outreach whoami")
    form |= {"enterprise_id": "E0FOREIGN1", "text": f'pause "{NAME}"', "trigger_id": "1.2.other"}
    assert (await send(team, urlencode(form)))["ok"]
    await team.ask("whoami")
    assert not await team.account.is_paused(NAME)


async def test_a_colleague_from_another_team_of_the_same_organization_can_pause(team: Team) -> None:
    await team.act("settings", enterprise_id="E0OURS0001")
    await team.restart()
    await team.say(f'pause "{NAME}"', user="ann", team=FOREIGN)
    assert await team.until(lambda: team.account.is_paused(NAME))


async def test_a_command_that_is_sent_again_runs_once(team: Team) -> None:
    line = f'pause "{NAME}"'
    await team.ask(line)
    await team.ask(f'resume "{NAME}"')
    before = len(await team.settled())
    assert (await team.repeat(f"/outreach {line}"))["status"] == 200
    await team.ask("whoami")
    assert not await team.account.is_paused(NAME)
    assert len(await team.messages()) == before + 1, "but for the answer to whoami"


async def test_a_command_that_is_sent_again_after_a_restart_runs_once(team: Team) -> None:
    line = f'pause "{NAME}"'
    await team.ask(line)
    await team.ask(f'resume "{NAME}"')
    await team.restart()
    assert (await team.repeat(f"/outreach {line}"))["status"] == 200
    await team.ask("whoami")
    assert not await team.account.is_paused(NAME)


ODD_BODIES = (
    "[]",
    "5",
    "null",
    '{"type": "block_actions", "actions": [{"action_id": 5}]}',
    '{"type": "block_actions", "actions": []}',
    '{"type": "view_submission", "view": []}',
    '{"type": "view_submission", "view": {"callback_id": 5}}',
    '{"type": "event_callback", "event": {"type": ["message"]}}',
)


async def test_odd_payloads_with_a_good_signature_are_400(team: Team) -> None:
    for body in ODD_BODIES:
        form = await send(
            team, urlencode({"payload": body}), content_type="application/x-www-form-urlencoded"
        )
        event = await send(team, body, content_type="application/json")
        assert (form["status"], event["status"]) == (400, 400), body


async def test_a_modal_that_a_person_closed_is_acknowledged(team: Team) -> None:
    view = (await team.act("shortcut", callback_id="pause_form", wait=5))["view"]
    (opened, *_) = [
        one["request"] for one in await team.traffic() if one["request"].get("type") == "shortcut"
    ]
    closed = {"type": "view_closed", "is_cleared": False, "view": view}
    closed |= {name: opened[name] for name in ("team", "user", "api_app_id")}
    ack = await send(team, urlencode({"payload": json.dumps(closed)}))
    assert (ack["status"], ack["ok"]) == (200, True)
    assert team.account.asked("PATCH") == []


async def test_no_odd_part_of_a_request_is_answered_500(team: Team) -> None:
    await team.deliver(interested("Ada"))
    await team.click(await team.card("Ada"), "Claim")
    await team.act("message", text=f"<@{await own_id(team)}> status", wait=5)
    form = (await team.act("shortcut", callback_id="pause_form", wait=5))["view"]
    taken = {json.dumps(one["request"]) for one in await team.traffic() if one["direction"] == "to_bot"}
    kinds = {str(request.get("type")): request for request in map(json.loads, taken)}
    assert {"block_actions", "event_callback", "shortcut"} <= set(kinds)
    submitted = {"view": {**form, "state": {"values": {"b": {"a": {"type": "plain_text_input"}}}}}}
    kinds["view_submission"] = {**kinds.pop("shortcut"), "type": "view_submission", **submitted}
    found: list[int] = []
    for request in kinds.values():
        for odd in variants(request):
            is_event = odd.get("type") == "event_callback"
            if is_event and isinstance(odd.get("event_id"), str):
                odd["event_id"] = f"another-{len(found)}"  # else it is a repeat, which does nothing
            sent = json.dumps(odd) if is_event else urlencode({"payload": json.dumps(odd)})
            kind = "application/json" if is_event else "application/x-www-form-urlencoded"
            found.append((await send(team, sent, content_type=kind))["status"])
    assert set(found) <= {200, 400}
    assert found.count(400) > 50


def variants(request: Mapping[str, Any], depth: int = 1) -> Iterator[dict[str, Any]]:
    """The same request with one part of another type."""
    for name, value in request.items():
        others: list[Any] = [5, [], {}]
        for odd in others:
            if type(odd) is not type(value):
                yield {**request, name: odd}
        if isinstance(value, dict) and depth:
            yield from ({**request, name: inner} for inner in variants(value, depth - 1))
        if isinstance(value, list) and value and isinstance(value[0], dict) and depth:
            yield from ({**request, name: [inner]} for inner in variants(value[0], depth - 1))


async def send(team: Team, body: str, *, content_type: str = "") -> dict[str, Any]:
    """Send any body with Slack's signature; how the bot acknowledged it."""
    kind = {"content_type": content_type} if content_type else {}
    return dict((await team.act("request", body=body, **kind))["ack"])


async def last_command(team: Team, line: str) -> dict[str, Any]:
    return dict((await team.traffic(line))[-1]["request"])


async def own_id(team: Team) -> str:
    """The bot's own id, as Slack told it."""
    return str((await team.traffic("auth.test"))[-1]["answer"]["user_id"])


JSON = {"Content-Type": "application/json; charset=utf-8"}
HOSTILE = {
    "Request-Timestamp": ("now", "-1", "9" * 400, "0", "99999999999"),
    "Signature": ("é", "", "v0=" + "0" * 64),
}


async def test_a_malformed_slack_request_is_401(team: Team) -> None:
    body = urlencode({"command": "/outreach", "text": "whoami"}).encode()
    for name, values in HOSTILE.items():
        for value in values:
            assert (await post(team, body, **{f"X-Slack-{name}": value}))[0] == 401, value[:20]


async def test_a_binary_or_deep_slack_body_is_400_and_a_huge_one_413(team: Team) -> None:
    huge = b"x" * (1024 * 1024 + 1)
    for body, status in ((b"\xff\xfe", 400), (b"[" * 100_000, 400), (huge, 413)):
        assert (await post(team, body, **JSON))[0] == status, body[:9]


async def test_the_url_verification_challenge_is_answered(team: Team) -> None:
    body = json.dumps({"type": "url_verification", "challenge": "3eZbrw1aB"}).encode()
    status, text = await post(team, body, **JSON)
    assert (status, "3eZbrw1aB" in text) == (200, True)


async def post(team: Team, body: bytes, **changed: str) -> tuple[int, str]:
    """Send what is signed like Slack's requests, but for these headers."""
    url, headers = f"{team.url}/slack/events", {**signed(team, body), **changed}
    async with team.http.post(url, data=io.BytesIO(body), headers=headers) as answer:
        return answer.status, await answer.text()


def signed(team: Team, body: bytes) -> dict[str, str]:
    at = str(int(moment().timestamp()))
    secret = team.slack.credentials.signing_secret.encode()
    digest = hmac.new(secret, f"v0:{at}:".encode() + body, hashlib.sha256).hexdigest()
    return {
        "X-Slack-Request-Timestamp": at,
        "X-Slack-Signature": f"v0={digest}",
        "Content-Type": "application/x-www-form-urlencoded",
    }
