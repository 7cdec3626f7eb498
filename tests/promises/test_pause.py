"""Pauses: what was asked for is done once, ends when it says, and can be undone."""

from __future__ import annotations

import pytest

from tests.kit import Team


async def active(team: Team) -> str:
    """The name of an active sequence of the service."""
    return str((await team.account.sequence())["name"])


async def is_active(team: Team, name: str) -> bool:
    return not await team.account.is_paused(name)


async def test_a_pause_pauses_the_sequence_at_the_service(team: Team) -> None:
    name = await active(team)
    answer = await team.ask(f'pause "{name}"')
    assert "paused" in answer.title
    assert "Undo" in answer.buttons
    assert await team.account.is_paused(name)


async def test_a_pause_of_a_paused_sequence_is_no_error(team: Team) -> None:
    name = await active(team)
    await team.ask(f'pause "{name}"')
    answer = await team.ask(f'pause "{name}"')
    assert "already" in answer.shown


async def test_a_timed_pause_ends_by_itself(team: Team) -> None:
    name = await active(team)
    await team.ask(f'pause "{name}" for 2h')
    assert await team.account.is_paused(name)
    await team.pass_time(hours=2, minutes=1)
    assert await team.until(lambda: is_active(team, name))


async def test_a_timed_pause_ends_after_a_restart_too(team: Team) -> None:
    name = await active(team)
    await team.ask(f'pause "{name}" for 2h')
    await team.stop()
    await team.pass_time(hours=3)
    await team.start()
    assert await team.until(lambda: is_active(team, name))


async def test_a_pause_without_an_end_stays_until_a_person_resumes(team: Team) -> None:
    name = await active(team)
    await team.ask(f'pause "{name}"')
    await team.pass_time(hours=72)
    await team.ask("status")
    assert await team.account.is_paused(name)
    await team.ask(f'resume "{name}"')
    assert await is_active(team, name)


async def test_undo_reverts_my_newest_change(team: Team) -> None:
    name = await active(team)
    await team.ask(f'pause "{name}"')
    question = await team.ask("undo")
    assert name in question.shown
    await team.click(question, "Resume 1 sequence")
    assert await team.until(lambda: is_active(team, name))


async def test_the_undo_button_of_a_pause_resumes_the_sequence(team: Team) -> None:
    name = await active(team)
    answer = await team.ask(f'pause "{name}"')
    await team.click(answer, "Undo")
    assert await team.until(lambda: is_active(team, name))


async def test_undo_of_somebody_elses_change_is_refused(team: Team) -> None:
    name = await active(team)
    await team.ask(f'pause "{name}"', user="ann")
    await team.ask("undo", user="ben")
    assert await team.account.is_paused(name)


async def test_undo_is_too_late_after_ten_minutes(team: Team) -> None:
    name = await active(team)
    await team.ask(f'pause "{name}"')
    await team.pass_time(minutes=11)
    await team.ask("undo")
    assert await team.account.is_paused(name)


async def test_pause_all_asks_first_and_a_yes_pauses_everything(team: Team) -> None:
    question = await team.ask("pause all")
    sending = [one for one in await team.account.sequences() if one["status"] == "active"]
    assert sending, "nothing is changed before the answer"
    assert str(len(sending)) in question.shown
    (yes,) = [label for label in question.buttons if label.startswith("Pause")]
    await team.click(question, yes)

    async def all_paused() -> bool:
        return not any(one["status"] == "active" for one in await team.account.sequences())

    assert await team.until(all_paused)


@pytest.mark.parametrize("line", ["pause nothing-like-this", "resume nothing-like-this"])
async def test_a_sequence_that_is_not_there_changes_nothing(team: Team, line: str) -> None:
    before = await team.account.sequences()
    answer = await team.ask(line)
    assert "nothing-like-this" in answer.shown
    assert await team.account.sequences() == before


async def test_a_word_that_is_no_time_is_refused_and_is_no_reason(team: Team) -> None:
    name = await active(team)
    answer = await team.ask(f'pause "{name}" for tuesdya')
    assert "tuesdya" in answer.shown
    assert await is_active(team, name)


async def test_a_guest_can_pause_nothing(team: Team) -> None:
    name = await active(team)
    await team.say(f'pause "{name}"', user="gus")
    assert await is_active(team, name)


async def test_a_change_that_the_service_refuses_is_told_as_failed(team: Team) -> None:
    name = await active(team)
    await team.account.fail(endpoint="PATCH /sequences/{id}", status=500, times=None)
    answer = await team.ask(f'pause "{name}"')
    assert "paused" not in answer.title.removeprefix("Couldn't")
    await team.account.recover()
    assert await is_active(team, name)


async def test_the_audit_log_names_who_changed_what(team: Team) -> None:
    name = await active(team)
    await team.ask(f'pause "{name}"', user="ben")
    log = await team.ask("audit")
    assert name in log.shown
    assert "ben" in log.shown
