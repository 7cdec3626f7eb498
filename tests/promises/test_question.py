"""Questions: a wide change asks, names what a yes changes, and a yes changes exactly that, once."""

from __future__ import annotations

import asyncio
import json
from urllib.parse import urlencode

from tests.kit import Account, Message, Shell, Team

NAME = "Fintech ops leaders"


async def statuses(team: Team) -> dict[str, str]:
    return {one["id"]: one["status"] for one in await team.account.sequences()}


def value_of(question: Message, label: str) -> str:
    """Return the value of the button with this label."""
    elements = [one for block in question.data["blocks"] for one in block.get("elements", ())]
    return str(next(one["value"] for one in elements if one.get("text", {}).get("text") == label))


def yes_of(question: Message) -> str:
    """The button that carries the question out: its first one."""
    return question.buttons[0]


async def test_pause_all_asks_first_and_a_yes_pauses_everything(team: Team) -> None:
    question = await team.ask("pause all")
    sending = [one for one, status in (await statuses(team)).items() if status == "active"]
    assert sending, "nothing is changed before the answer"
    assert str(len(sending)) in question.shown
    assert str(len(sending)) in yes_of(question)
    await team.click(question, yes_of(question))

    async def all_paused() -> bool:
        return "active" not in (await statuses(team)).values()

    assert await team.until(all_paused)


async def test_a_yes_pauses_what_the_question_named_and_not_what_came_later(team: Team) -> None:
    question = await team.ask("pause all")
    assert "Win-back 2023 customers" not in question.shown, "it is paused already"
    await team.account.change("Win-back 2023 customers", "active")
    await team.click(question, yes_of(question))
    assert await team.until(lambda: team.account.is_paused(NAME))
    assert not await team.account.is_paused("Win-back 2023 customers")


async def test_a_yes_that_is_tapped_twice_changes_once(team: Team) -> None:
    question = await team.ask("pause all")
    await asyncio.gather(*[team.click(question, yes_of(question)) for _ in range(2)])
    await team.message("This was confirmed already")

    async def all_paused() -> bool:
        return "active" not in (await statuses(team)).values()

    assert await team.until(all_paused)
    await team.account.change(NAME, "active")
    before = len(team.account.asked("PATCH"))
    assert (await team.repeat("action"))["ok"]
    await team.ask("status")
    assert len(team.account.asked("PATCH")) == before
    assert not await team.account.is_paused(NAME)


async def test_a_no_changes_nothing(team: Team) -> None:
    before = await statuses(team)
    question = await team.ask("pause all")
    await team.click(question, "Cancel")
    await team.ask("status")
    assert await statuses(team) == before
    assert question.title not in [one.title for one in await team.messages()], "nobody can answer it"


async def test_only_who_asked_can_say_yes(team: Team) -> None:
    """The answer is seen by Ann alone, so Ben's click can only be forged: signed, with the value of her button."""
    before = await statuses(team)

    async def is_changed() -> bool:
        return await statuses(team) != before

    await team.click(await team.ask("pause all"), "Cancel")
    clicked = [one for one in await team.traffic("action") if one["direction"] == "to_bot"][-1]["request"]
    question = await team.ask("pause all")
    ben = {**clicked["user"], "id": "U0BEN00002", "username": "ben", "name": "ben"}
    for user, changed in ((ben, False), (clicked["user"], True)):
        yes = {**clicked["actions"][0], "value": value_of(question, yes_of(question))}
        forged = {**clicked, "user": user, "actions": [yes], "trigger_id": f"of {user['id']}"}
        assert (await team.act("request", body=urlencode({"payload": json.dumps(forged)})))["ack"]["ok"]
        await team.ask("status", user="cleo")
        if changed:
            await team.until(is_changed, "other sequences than before")
        else:
            assert await statuses(team) == before


async def test_a_question_of_yesterday_changes_nothing(team: Team) -> None:
    before = await statuses(team)
    question = await team.ask("pause all")
    await team.pass_time(minutes=10)
    await team.click(question, yes_of(question))
    await team.ask("status")
    assert await statuses(team) == before


async def test_resume_all_leaves_out_what_this_program_did_not_pause(team: Team) -> None:
    await team.ask(f'pause "{NAME}"')
    others = [one for one, status in (await statuses(team)).items() if status == "paused"]
    question = await team.ask("resume all")
    assert "1" in yes_of(question) or NAME in yes_of(question)
    assert await team.account.is_paused(NAME), "it asks first"
    await team.click(question, yes_of(question))

    async def resumed() -> bool:
        return not await team.account.is_paused(NAME)

    assert await team.until(resumed)
    now = await statuses(team)
    assert sum(now[one] == "paused" for one in others) == len(others) - 1


async def test_resume_all_asks_first(team: Team) -> None:
    for one in await team.account.sequences():
        await team.account.change(one["id"], "active")
    await team.ask(f'pause "{NAME}"')
    assert f"Resume {NAME}" in (await team.ask("resume all")).buttons
    assert await team.account.is_paused(NAME)


async def test_a_pause_of_a_domain_asks_first(team: Team) -> None:
    before = await statuses(team)
    question = await team.ask("pause domain:useacme.example")
    assert "useacme.example" in question.shown
    assert await statuses(team) == before


async def test_turning_all_guardrails_off_asks_first(team: Team) -> None:
    question = await team.ask("guardrails off")
    assert "Cancel" in question.buttons
    assert "off" not in (await team.ask("guardrails")).shown.lower().replace("turn all off", "")


async def test_removing_a_lead_asks_first_and_a_yes_removes_it(team: Team) -> None:
    (lead,) = (await team.account.request("GET", "/leads?limit=1"))["data"]
    question = await team.ask(f"remove {lead['email']}")
    assert lead["email"] in question.shown
    assert team.account.asked("DELETE") == []
    await team.click(question, yes_of(question))

    async def removed() -> bool:
        return bool(team.account.asked("DELETE", f"/leads/{lead['id']}"))

    assert await team.until(removed)


async def test_a_shell_without_a_person_changes_nothing_wide_unless_told_to(
    account: Account, shell: Shell
) -> None:
    shell.use(account.environ)
    run = await shell.type("pause", "all")
    assert run.code != 0
    assert run.err
    assert account.asked("PATCH") == []
    run = await shell.type("pause", "all", "--yes", "--json")
    assert run.code == 0
    assert {one["status"] for one in await account.sequences()} == {"paused"}
    assert all(one["changed"] for one in run.data)


async def test_sequences_that_were_paused_together_resume_in_one_message(team: Team) -> None:
    question = await team.ask("pause all for 1h reason a storm")
    await team.click(question, yes_of(question))
    await team.message("sequences paused until")
    await team.pass_time(hours=1, seconds=1)
    ended = await team.message("sequences are sending again")
    assert NAME in ended.shown
    lines = [one for one in await team.messages() if "sending again" in one.title]
    assert len(lines) == 1
    assert "the pause has run out" in (await team.ask("audit")).shown
