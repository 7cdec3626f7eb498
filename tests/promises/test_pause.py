"""Pauses: what was asked for is done once, and ends when it says."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import pytest

from tests.kit import Account, Shell, Team
from tests.kit.clock import moment

NAME = "Fintech ops leaders"
OTHER = "Recruiters Singapore"


async def is_active(team: Team, name: str = NAME) -> bool:
    return not await team.account.is_paused(name)


async def test_a_pause_pauses_the_sequence_at_the_service(team: Team) -> None:
    answer = await team.ask(f'pause "{NAME}"')
    assert NAME in answer.title
    assert "paused" in answer.title
    assert "Undo" in answer.buttons
    assert await team.account.is_paused(NAME)


async def test_a_pause_of_a_paused_sequence_is_no_error(team: Team) -> None:
    await team.ask(f'pause "{NAME}"')
    answer = await team.ask(f'pause "{NAME}"')
    assert "already" in answer.shown


async def test_a_pause_of_a_paused_sequence_answers_only_the_person(team: Team) -> None:
    await team.ask(f'pause "{NAME}"')
    answer = await team.ask(f'pause "{NAME}"', user="ben")
    assert "already" in answer.shown
    assert answer.data["ephemeral"]


async def test_a_timed_pause_ends_by_itself(team: Team) -> None:
    await team.ask(f'pause "{NAME}" for 2h')
    # Two minutes of room, as the clock goes on while the bot answers.
    await team.pass_time(hours=1, minutes=58)
    await team.ask("status")
    assert await team.account.is_paused(NAME)
    await team.pass_time(minutes=3)
    assert await team.until(lambda: is_active(team))


async def test_a_timed_pause_ends_after_a_restart_too(team: Team) -> None:
    await team.ask(f'pause "{NAME}" for 2h')
    # The end passes while no bot runs: the next one finds it overdue.
    await team.stop()
    await team.pass_time(hours=3)
    await team.start()
    assert await team.until(lambda: is_active(team))


async def test_a_pause_without_an_end_stays_until_a_person_resumes(team: Team) -> None:
    await team.ask(f'pause "{NAME}"')
    await team.pass_time(hours=72)
    await team.ask("status")
    assert await team.account.is_paused(NAME)
    await team.ask(f'resume "{NAME}"')
    assert await is_active(team)


async def test_a_timer_that_was_set_before_never_shortens_a_pause(team: Team) -> None:
    await team.ask(f'pause "{NAME}" for 1h')
    question = await team.ask("pause all for 1h")
    await team.ask(f'pause "{NAME}" for 4h')
    await team.click(question, question.buttons[0])
    await team.pass_time(hours=1, minutes=2)
    assert await team.until(lambda: is_active(team, OTHER)), "the timers of that time have fired"
    assert await team.account.is_paused(NAME)
    await team.pass_time(hours=3)
    assert await team.until(lambda: is_active(team))


async def test_a_shorter_pause_than_the_present_one_is_not_taken_without_a_question(team: Team) -> None:
    await team.ask(f'pause "{NAME}" for 4h')
    question = await team.ask(f'pause "{NAME}" for 1h')
    assert len(question.buttons) >= 2
    await team.ask(f'pause "{OTHER}" for 1h')
    await team.pass_time(hours=1, minutes=2)
    assert await team.until(lambda: is_active(team, OTHER))
    assert await team.account.is_paused(NAME)


async def test_a_pause_without_an_end_of_a_timed_one_asks_which_is_meant(team: Team) -> None:
    await team.ask(f'pause "{NAME}" for 2h')
    question = await team.ask(f'pause "{NAME}"')
    assert len(question.buttons) >= 2
    await team.pass_time(hours=2, minutes=1)
    assert await team.until(lambda: is_active(team)), "nothing changes before the answer"
    await team.ask(f'pause "{NAME}"')
    question = await team.ask(f'pause "{NAME}" for 1h')
    await team.click(question, question.buttons[0])
    await team.message("paused until")
    await team.pass_time(hours=1, minutes=1)
    assert await team.until(lambda: is_active(team))


async def test_a_resume_ends_the_timer_too(team: Team) -> None:
    await team.ask(f'pause "{NAME}" for 1h')
    await team.ask(f'resume "{NAME}"')
    # Whoever paused it at the service didn't ask for an end: the timer of before must not give it one.
    await team.account.change(NAME, "paused")
    await team.ask(f'pause "{OTHER}" for 1h')
    await team.pass_time(hours=1, minutes=2)
    assert await team.until(lambda: is_active(team, OTHER))
    assert await team.account.is_paused(NAME), "somebody else's pause has no end"


def tomorrow_at_nine() -> datetime:
    day = moment().astimezone() + timedelta(days=1)
    return day.replace(hour=9, minute=0, second=0, microsecond=0)


ENDS = {
    "for 90 minutes": lambda: moment() + timedelta(minutes=90),
    "for a week": lambda: moment() + timedelta(days=7),
    "until tomorrow morning": tomorrow_at_nine,
}


@pytest.mark.parametrize("words", ENDS)
async def test_the_end_of_a_pause_is_understood(account: Account, shell: Shell, words: str) -> None:
    shell.use(account.environ)
    run = await shell.type("pause", NAME, *words.split(), "--json")
    assert run.code == 0, run.err
    (paused,) = run.data
    assert abs(datetime.fromisoformat(paused["paused_until"]) - ENDS[words]()) < timedelta(minutes=1)


async def test_an_end_is_promised_only_where_a_bot_runs(account: Account, shell: Shell) -> None:
    shell.use(account.environ)
    run = await shell.type("pause", NAME, "for", "2h")
    assert await account.is_paused(NAME)
    # Only a bot resumes a sequence: where none runs, it would stay paused.
    assert "no bot uses this database" in " ".join(run.out.split())


async def test_a_status_that_is_unknown_is_set_anyway(account: Account, shell: Shell) -> None:
    sequence = await account.sequence(NAME)
    del sequence["status"]
    account.answer("GET /sequences", {"data": [sequence]})
    shell.use(account.environ)
    await shell.type("pause", NAME)
    assert account.changes == [(sequence["id"], "paused")]


async def test_a_person_in_slack_is_asked_in_their_own_time_zone(team: Team) -> None:
    """Cleo is in New York: her 9 is not that of the bot, of Ann in Berlin or of the service."""
    for other in ("ann", "cleo"):
        await team.act("user", user=other, tz={"ann": "Europe/Berlin", "cleo": "America/New_York"}[other])
    await team.ask(f'pause "{NAME}" until tomorrow 9am', user="cleo")
    await team.ask(f'pause "{OTHER}" until tomorrow 9am', user="ann")
    tomorrow = (moment() + timedelta(days=1)).date()
    in_berlin = datetime.fromisoformat(f"{tomorrow}T09:00:00+01:00")
    await team.pass_time(seconds=(in_berlin - moment()).total_seconds() + 60)
    assert await team.until(lambda: is_active(team, OTHER))
    assert await team.account.is_paused(NAME)
    await team.pass_time(hours=6)
    assert await team.until(lambda: is_active(team))


@pytest.mark.parametrize("words", ["until the cows come home", "bounces are high"])
async def test_a_word_that_is_no_time_is_refused_and_is_no_reason(team: Team, words: str) -> None:
    answer = await team.ask(f'pause "{NAME}" {words}')
    assert words.rsplit(maxsplit=1)[-1] in answer.shown or words in answer.shown
    assert await is_active(team)
    assert not any(label.startswith("Pause ") for label in answer.buttons), "no button offers less"


async def test_a_word_that_is_nearly_a_day_is_answered_with_the_day(team: Team) -> None:
    answer = await team.ask(f'pause "{NAME}" until tuesdya')
    assert "tuesday" in answer.shown.lower()
    assert await is_active(team)


async def test_a_reason_follows_its_word_and_is_kept(team: Team) -> None:
    await team.ask(f'pause "{NAME}" for 2h reason ask <@U0BEN00002> first')
    assert await team.account.is_paused(NAME)
    log = await team.ask("audit")
    assert "ask @ben first" in log.shown
    assert "U0BEN00002" not in log.shown


async def test_a_reason_is_drawn_as_its_words_and_never_as_code(team: Team) -> None:
    answer = await team.ask(f'pause "{NAME}" for 2h reason see `resume all` first')
    shown = json.dumps(answer.data["blocks"])
    assert "see 'resume all' first" in answer.shown
    assert "`" not in shown
    assert '"code": true' not in shown


async def test_a_guest_can_pause_nothing(team: Team) -> None:
    await team.say(f'pause "{NAME}"', user="gus")
    assert await is_active(team)


async def test_a_person_of_another_slack_team_can_pause_nothing(team: Team) -> None:
    await team.say(f'pause "{NAME}"', user="ann", team="T0FOREIGN1", wait=2)
    assert await is_active(team)


async def test_a_change_that_the_service_refuses_is_told_as_failed(team: Team) -> None:
    await team.account.fail(endpoint="PATCH /sequences/{id}", status=500, times=None)
    answer = await team.ask(f'pause "{NAME}"')
    assert "paused" not in answer.title.removeprefix("Couldn't")
    await team.account.recover()
    assert await is_active(team)


async def test_the_card_of_a_pause_says_when_it_is_over(team: Team) -> None:
    card = await team.ask(f'pause "{NAME}" for 1h')
    await team.pass_time(hours=1, minutes=1)
    assert await team.until(lambda: is_active(team))

    async def over() -> bool:
        now = await team.present(card)
        return "is sending again" in now.title and now.shown == now.title

    assert await team.until(over)


async def test_the_card_of_a_pause_says_that_a_person_resumed(team: Team) -> None:
    card = await team.ask(f'pause "{NAME}"')
    await team.ask(f'resume "{NAME}"', user="ben")

    async def over() -> bool:
        return "is paused" not in (await team.present(card)).title

    assert await team.until(over)


async def test_the_message_of_an_old_pause_is_left_as_it_ended(team: Team) -> None:
    """A channel with many of them is not edited all over at each change."""
    first = await team.ask(f'pause "{NAME}"')
    await team.ask(f'resume "{NAME}"', user="ben")
    ended = await team.changed(first, "sending again")
    second = await team.ask(f'pause "{NAME}"')
    await team.ask(f'resume "{NAME}"', user="ben")
    await team.changed(second, "sending again")
    assert (await team.present(first)).data["revisions"] == ended.data["revisions"]


async def test_the_card_of_a_pause_says_that_someone_resumed_at_the_service(team: Team) -> None:
    """The end of that pause is gone too: it would end the next one."""
    card = await team.ask(f'pause "{NAME}" for 2h')
    await team.pass_time(minutes=5)
    await team.account.change(NAME, "active")

    async def over() -> bool:
        await team.pass_time(seconds=10)
        return "is sending again" in (await team.present(card)).title

    assert await team.until(over)
    assert "Someone at the service resumed it" in (await team.in_thread(card, "resumed")).shown
    await team.ask(f'pause "{NAME}"')
    # The other sequence resumes when both timers would: only then is it certain that none is left.
    await team.ask(f'pause "{OTHER}" for 1h')
    await team.pass_time(hours=3)
    assert await team.until(lambda: is_active(team, OTHER)), "the timers of that time have fired"
    assert await team.account.is_paused(NAME)


async def test_one_list_in_which_a_paused_sequence_is_active_changes_nothing(team: Team) -> None:
    card = await team.ask(f'pause "{NAME}" for 2h')
    await team.pass_time(minutes=5)
    paused = await team.account.sequences()
    # One list that contradicts a confirmed pause isn't a fact: an edge of the service may answer with an old one.
    wrong = [{**one, "status": "active"} for one in paused]
    asked = len(team.account.asked("GET", "/sequences"))
    team.account.answer("GET /sequences", {"data": wrong}, times=1)

    async def looked_thrice() -> bool:
        await team.pass_time(seconds=10)
        return len(team.account.asked("GET", "/sequences")) > asked + 2

    assert await team.until(looked_thrice)
    assert "paused until" in (await team.present(card)).title


async def test_a_pause_names_its_end_to_each_reader_in_their_zone(team: Team) -> None:
    card = await team.ask(f'pause "{NAME}" for 2h')
    end = moment() + timedelta(hours=2)
    assert "<!date^" in card.mrkdwn
    (stamp,) = {part.partition("^")[0] for part in card.mrkdwn.split("<!date^")[1:]}
    assert abs(int(stamp) - end.timestamp()) < 120


async def test_the_audit_log_names_who_changed_what(team: Team) -> None:
    await team.ask(f'pause "{NAME}"', user="ben")
    log = await team.ask("audit")
    assert NAME in log.shown
    assert "ben" in log.shown


async def test_a_resumption_that_arrives_late_does_not_end_a_pause_that_was_confirmed_since(
    team: Team,
) -> None:
    """The answer to the first PATCH is lost, its repetition is answered, and the service carries the first out later."""
    await team.ask(f'pause "{NAME}"')
    team.account.answer("PATCH /sequences/{id}", {}, status=504, times=1)
    await team.ask(f'resume "{NAME}"')
    await team.ask(f'pause "{NAME}" for 2h')
    await team.account.change(NAME, "active")

    async def reverted() -> bool:
        await team.pass_time(seconds=6)
        return await team.account.is_paused(NAME)

    assert await team.until(reverted)
    assert f"{NAME}  by @ann · until" in (await team.ask("sequences paused")).shown
    # The pause keeps its end, and nothing keeps others out any more.
    await team.pass_time(hours=2)
    assert await team.until(lambda: is_active(team))
