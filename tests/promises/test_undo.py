"""Undo: my newest change is taken back, nothing of anybody else, and a pause gets its end back."""

from __future__ import annotations

from tests.kit import Account, Shell, Team

NAME = "Fintech ops leaders"
OTHER = "Recruiters Singapore"


async def is_active(team: Team, name: str = NAME) -> bool:
    return not await team.account.is_paused(name)


async def undo(team: Team, *, user: str = "ann") -> None:
    """Type `undo`, and say yes where it asks. It is done once the question shows what became of it."""
    answer = await team.ask("undo", user=user)
    if "Cancel" not in answer.buttons:
        return
    await team.click(answer, answer.buttons[0], user=user)

    async def is_answered() -> bool:
        known = await team.messages(answer.channel)
        return not any(one.ts == answer.ts and "Cancel" in one.buttons for one in known)

    assert await team.until(is_answered, "the answer to the question")


async def test_undo_reverts_my_newest_change(team: Team) -> None:
    await team.ask(f'pause "{OTHER}"')
    await team.ask(f'pause "{NAME}"')
    await undo(team)
    assert await team.until(lambda: is_active(team))
    assert await team.account.is_paused(OTHER)


async def test_undo_once_more_reverts_the_change_before(team: Team) -> None:
    await team.ask(f'pause "{OTHER}"')
    await team.ask(f'pause "{NAME}"')
    await undo(team)
    assert await team.until(lambda: is_active(team))
    await undo(team)
    assert await team.until(lambda: is_active(team, OTHER))
    assert await is_active(team), "what was undone stays undone"


async def test_undo_goes_back_through_all_changes_of_one_sequence(team: Team) -> None:
    cards = [await team.ask(f'pause "{NAME}" for {hours}h') for hours in (1, 2, 3, 4)]
    for _ in cards:
        await undo(team)
    assert await team.until(lambda: is_active(team))
    assert "Nothing to undo" in (await team.ask("undo")).title


async def test_only_the_message_of_what_was_undone_says_so_in_its_thread(team: Team) -> None:
    first = await team.ask(f'pause "{NAME}" for 1h')
    second = await team.ask(f'pause "{NAME}" for 2h')
    await undo(team)
    await team.in_thread(second, "undid this")
    await team.settled()
    lines = [one.shown for one in await team.messages() if one.data.get("thread_ts") == first.ts]
    assert not any("undid" in line for line in lines)


async def test_a_message_that_was_overtaken_says_nothing_of_its_own_end(team: Team) -> None:
    await team.ask(f'pause "{NAME}" for 2h')
    question = await team.ask(f'pause "{NAME}"')
    await team.click(question, "Pause until resumed")
    await team.message("no longer resumes")
    (told,) = [one for one in await team.settled() if "no longer resumes" in one.shown]
    await team.ask(f'resume "{NAME}"', user="ben")
    assert "no longer resumes" not in (await team.changed(told, "is sending again")).shown


async def test_the_undo_button_of_a_pause_resumes_the_sequence(team: Team) -> None:
    answer = await team.ask(f'pause "{NAME}"')
    await team.click(answer, "Undo")
    assert await team.until(lambda: is_active(team))


async def test_the_undo_button_works_for_days(team: Team) -> None:
    answer = await team.ask(f'pause "{NAME}"')
    # The button is on a card that is read days later; `undo` without one would mean something newer.
    await team.pass_time(hours=6 * 24)
    await team.click(answer, "Undo")
    assert await team.until(lambda: is_active(team))


async def test_the_undo_button_does_nothing_after_a_week(team: Team) -> None:
    answer = await team.ask(f'pause "{NAME}"')
    await team.pass_time(hours=7 * 24)
    (refused,) = await team.click(answer, "Undo")
    assert "too late" in refused.title
    assert await team.account.is_paused(NAME)


async def test_the_undo_button_does_nothing_once_it_is_overtaken(team: Team) -> None:
    """Ben has resumed and paused it anew since: Ann's button is of an older pause."""
    answer = await team.ask(f'pause "{NAME}"')
    await team.ask(f'resume "{NAME}"', user="ben")
    await team.ask(f'pause "{NAME}"', user="ben")
    if "Undo" in (await team.present(answer)).buttons:
        await team.click(answer, "Undo")
    # An answer to a later command: what the click has led to is done by then.
    await team.ask("status")
    assert await team.account.is_paused(NAME)


async def test_the_card_says_that_it_was_undone(team: Team) -> None:
    answer = await team.ask(f'pause "{NAME}"')
    await team.click(answer, "Undo")

    async def said() -> bool:
        now = await team.present(answer)
        return "is paused" not in now.title and "Undo" not in now.buttons

    assert await team.until(said)


async def test_undo_gives_a_timed_pause_its_end_back(team: Team) -> None:
    await team.ask(f'pause "{NAME}" for 2h')
    # The resumption took the end away, and its Undo has to bring back both.
    await team.ask(f'resume "{NAME}"')
    await undo(team)
    assert await team.until(lambda: team.account.is_paused(NAME))
    await team.pass_time(hours=2, minutes=1)
    assert await team.until(lambda: is_active(team))


async def test_undo_of_somebody_elses_change_is_refused(team: Team) -> None:
    await team.ask(f'pause "{NAME}"', user="ann")
    await undo(team, user="ben")
    assert await team.account.is_paused(NAME)


async def test_undo_is_too_late_after_ten_minutes(team: Team) -> None:
    await team.ask(f'pause "{NAME}"')
    # Each change can be taken back by `undo` for ten minutes.
    await team.pass_time(minutes=10)
    assert "Nothing to undo" in (await team.ask("undo")).title
    assert await team.account.is_paused(NAME)


async def test_undo_is_in_time_before_ten_minutes(team: Team) -> None:
    await team.ask(f'pause "{NAME}"')
    await team.pass_time(minutes=9)
    await undo(team)
    assert await team.until(lambda: is_active(team))


async def test_undo_leaves_what_changed_since_and_says_so(team: Team) -> None:
    await team.ask(f'pause "{NAME}"', user="ann")
    await team.ask(f'resume "{NAME}"', user="ben")
    await team.ask(f'pause "{NAME}"', user="ben")
    answer = await team.ask("undo", user="ann")
    if "Cancel" in answer.buttons:
        (answer,) = await team.click(answer, answer.buttons[0])
    assert "changed" in answer.shown or "since" in answer.shown
    assert await team.account.is_paused(NAME)


async def test_undo_of_a_pause_of_all_resumes_what_it_paused_alone(team: Team) -> None:
    before = {one["id"]: one["status"] for one in await team.account.sequences()}
    question = await team.ask("pause all")
    await team.click(question, question.buttons[0])
    assert await team.until(lambda: team.account.is_paused(NAME))
    question = await team.ask("undo")
    # What Ben does meanwhile stands.
    await team.ask(f'resume "{NAME}"', user="ben")
    await team.ask(f'pause "{NAME}"', user="ben")
    await team.click(question, question.buttons[0])
    await team.message(f"Left as is: {NAME} (paused by @ben)")
    before[(await team.account.sequence(NAME))["id"]] = "paused"

    async def restored() -> bool:
        return {one["id"]: one["status"] for one in await team.account.sequences()} == before

    assert await team.until(restored)


async def test_a_shell_undoes_its_newest_change(account: Account, shell: Shell) -> None:
    shell.use(account.environ)
    assert (await shell.type("pause", NAME)).code == 0
    assert await account.is_paused(NAME)
    run = await shell.type("undo", "--yes")
    assert run.code == 0, run.err
    assert not await account.is_paused(NAME)
