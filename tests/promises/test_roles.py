"""What people may read and change in Slack: outsiders, bots, guests, and who became one meanwhile."""

from __future__ import annotations

import json

import pytest

from tests.kit import Team, interested
from tests.kit.team import ALERTS, SALES, data_of

NAME = "Fintech ops leaders"
ELSEWHERE, OURS, ROBOT = "E0NORTHWND", "E0OUTBOUND", "U0ROBOT007"
OPEN_SALES = f'[roles]\noutsiders = ["{SALES}"]\n'
READING = ("status", "lead ada@acme.example", "subscriptions", "audit", "whoami", "help", "sequences @acme")


async def mention(team: Team, line: str, **event: str) -> str:
    """An app_mention as Slack sends it for what is not typed by a person, and what its thread then says."""
    ts = (await team.act("message", text="by an app", channel=ALERTS))["message"]["ts"]
    fields = {"type": "app_mention", "text": f"<@U0OUTREACH> {line}", "channel": ALERTS, "ts": ts}
    await team.act("event", event={**fields, **event})

    async def answered() -> str:
        known = [one for one in await team.messages() if one.data.get("thread_ts") == ts != one.ts]
        return known[0].shown if known else ""

    return str(await team.until(answered))


@pytest.mark.parametrize("stranger", [True, False])
@pytest.mark.parametrize("enterprise", ["", OURS])
async def test_an_admin_of_another_organization_can_change_nothing(
    team: Team, enterprise: str, *, stranger: bool
) -> None:
    await team.act("settings", enterprise_id=enterprise)
    await team.act("user", user="eva", enterprise_id=ELSEWHERE, is_admin=True, is_stranger=stranger)
    for line in (f'pause "{NAME}"', "doctor"):
        assert "other organizations" in (await team.ask(line, user="eva", channel=SALES)).shown
    assert not await team.account.is_paused(NAME)


async def test_a_bot_can_read_but_not_change_anything_whoever_it_writes_as(team: Team) -> None:
    await team.act("user", user=ROBOT, name="robot", is_bot=True)
    for event in ({"user": ROBOT}, {"user": "U0BEN00002", "bot_id": "B0WORKFLOW"}):
        assert "Bots can't change anything" in await mention(team, f'pause "{NAME}"', **event)
    assert NAME in await mention(team, "sequences", user=ROBOT)
    assert not await team.account.is_paused(NAME)


async def test_who_became_a_guest_cannot_confirm_and_can_once_a_member_again(team: Team) -> None:
    question = await team.ask("pause all", user="cleo")
    await team.act("user", user="cleo", is_restricted=True)
    await team.restart()  # else Slack is asked about a person once a minute
    (answer,) = await team.click(question, question.buttons[0], user="cleo")
    assert "Guests of this Slack workspace can view" in answer.shown
    assert not await team.account.is_paused(NAME)
    await team.act("user", user="cleo", is_restricted=False)
    await team.restart()
    await team.click(question, question.buttons[0], user="cleo")
    await team.until(lambda: team.account.is_paused(NAME))


async def test_a_refused_act_and_a_refused_form_are_in_the_audit_log(team: Team) -> None:
    await team.install()
    await team.deliver(interested("Ada"))
    await team.click(await team.card("Ada"), "Claim", user="gus")
    await team.ask("release Ada", user="gus")
    await team.act("shortcut", callback_id="pause_form", user="gus", wait=5)
    assert "have permission" in str(await team.open_view("gus"))
    log = data_of(await team.ask("audit"))
    assert all(line in log for line in ("claim al_", "release Ada", "slack · pause"))
    assert log.count("refused: role") == 3
    assert "Claim" in (await team.card("Ada")).buttons


async def test_people_of_other_organizations_read_nothing_by_default(team: Team) -> None:
    await team.serve_two_clients()
    for line in READING:
        answer = await team.ask(line, user="eva", channel=SALES)
        assert answer.data["seen_by"] == "U0EVA00006", line
        assert "don't have access in this channel" in answer.shown, line
        assert not any(name in data_of(answer) for name in (NAME, "acme", "globex")), line


async def test_an_admin_opens_a_channels_own_workspace_to_people_of_other_organizations(team: Team) -> None:
    await team.serve_two_clients(OPEN_SALES)
    for line in ("sequences", "sequences @globex"):
        assert NAME in (await team.ask(line, user="eva", channel=SALES)).shown
    assert "Interested replies" in (await team.ask("subscriptions", user="eva", channel=SALES)).shown
    for line in ("sequences @acme", "sequences @nobody", "subscriptions #outreach-alerts", "audit"):
        answer = await team.ask(line, user="eva", channel=SALES)
        assert "other organizations can view" in answer.shown, line
        assert not any(name in data_of(answer) for name in (NAME, "globex")), line
    answer = await team.ask(f'pause "{NAME}"', user="eva", channel=SALES)
    assert "not change anything" in answer.shown
    assert not await team.account.is_paused(NAME)


async def test_home_and_forms_show_people_of_other_organizations_nothing(team: Team) -> None:
    await team.serve_two_clients(OPEN_SALES)
    home = data_of(await team.home("eva"))
    opened = await team.act("shortcut", callback_id="pause_form", user="eva", channel=SALES, wait=5)
    for shown in (home, json.dumps(opened["view"])):
        assert "other organizations" in shown
        assert not any(name in shown for name in (NAME, "acme", "globex"))


async def test_a_person_of_whom_slack_says_nothing_reads_nothing(team: Team) -> None:
    await team.act("faults", method="users.info", kind="error", error="internal_error", times=None)
    assert "didn't say who you are" in (await team.ask("sequences", user="ben")).shown
