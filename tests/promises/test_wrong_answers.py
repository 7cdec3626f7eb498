"""One wrong or empty answer of the service isn't a fact: nothing is dropped, announced or called done because of it."""

from __future__ import annotations

import pytest

from tests.kit import Account, Shell, Team, interested

NAME = "Fintech ops leaders"


async def is_active(team: Team) -> bool:
    return not await team.account.is_paused(NAME)


async def test_an_empty_list_at_the_end_of_a_pause_ends_it_all_the_same(team: Team) -> None:
    await team.ask(f'pause "{NAME}" for 1h')
    team.account.answer("GET /sequences", {"data": []})
    await team.pass_time(hours=1, minutes=1)
    assert await team.until(lambda: _resumed(team), "the PATCH that resumes")
    await team.account.recover()
    assert await team.until(lambda: is_active(team))


async def _resumed(team: Team) -> bool:
    """Return True once the program has asked to resume: the true list can't be read before that."""
    return len(team.account.asked("PATCH")) >= 2


async def test_an_empty_list_announces_no_deletion(team: Team) -> None:
    await team.ask(f'pause "{NAME}" for 1h')
    team.account.answer("GET /sequences", {"data": []})
    await team.pass_time(hours=1, minutes=1)
    await team.until(lambda: _read(team), "the list to be read")
    # Several looks, all of which read the same empty list.
    await team.pass_time(minutes=5)
    await team.ask("whoami")
    await team.settled()
    assert not any("deleted" in one.shown for one in await team.messages())


async def _read(team: Team) -> bool:
    return len(team.account.asked("GET", "/sequences")) > 3


async def test_a_sequence_that_is_gone_ends_its_timer(team: Team) -> None:
    """A 404 to the PATCH is the fact that an empty list isn't."""
    await team.ask(f'pause "{NAME}" for 1h')
    team.account.answer("PATCH /sequences/{id}", {"error": {"code": "not_found"}}, status=404)
    sequences = [one for one in await team.account.sequences() if one["name"] != NAME]
    team.account.answer("GET /sequences", {"data": sequences})
    await team.pass_time(hours=1, minutes=1)
    await team.until(lambda: _resumed(team))
    before = len(team.account.asked("PATCH"))
    for _ in range(4):  # a timer that is still there asks each time
        await team.pass_time(minutes=5)
        await team.ask("whoami")
    # Two more tries may have been under way.
    assert len(team.account.asked("PATCH")) <= before + 2


async def test_a_change_that_the_answer_contradicts_is_told_as_failed(team: Team) -> None:
    """The service answers 200 and names the old status, and so does its list: nothing has changed."""
    sequence = await team.account.sequence(NAME)
    team.account.answer("PATCH /sequences/{id}", {**sequence, "status": "active"})
    answer = await team.ask(f'pause "{NAME}"')
    assert "is paused" not in answer.title
    assert "paused until" not in answer.title
    assert "Undo" not in answer.buttons


async def test_a_contradicted_change_that_the_list_shows_as_done_is_unconfirmed(team: Team) -> None:
    await team.pass_time()  # the bot's own readings come first
    sequences = await team.account.sequences()
    (sequence,) = [one for one in sequences if one["name"] == NAME]
    team.account.answer("PATCH /sequences/{id}", {**sequence, "status": "active"}, times=1)
    others = [one for one in sequences if one["name"] != NAME]
    # The first list says which sequences there are, the second what became of this one.
    team.account.answer("GET /sequences", {"data": [{**sequence, "status": "active"}, *others]}, times=1)
    team.account.answer("GET /sequences", {"data": [{**sequence, "status": "paused"}, *others]})
    answer = await team.ask(f'pause "{NAME}"')
    assert "couldn't confirm" in answer.title
    assert "Undo" not in answer.buttons


async def test_a_shell_ends_with_1_where_a_change_was_contradicted(account: Account, shell: Shell) -> None:
    shell.use(account.environ)
    sequence = await account.sequence(NAME)
    account.answer("PATCH /sequences/{id}", {**sequence, "status": "active"})
    run = await shell.type("pause", sequence["id"])
    assert run.code == 1
    assert run.err


@pytest.mark.parametrize("status", [500, 502, 503])
async def test_an_answer_that_never_came_is_told_as_unconfirmed(team: Team, status: int) -> None:
    """The request was carried out and its answer lost: the list tells what has become of it."""
    await team.account.fail(endpoint="PATCH /sequences/{id}", status=status, times=None, executed=True)
    await team.ask(f'pause "{NAME}"')
    assert await team.account.is_paused(NAME)
    listed = await team.ask("sequences paused")
    assert NAME in listed.shown


async def test_an_empty_list_is_no_reason_to_forget_a_name(team: Team) -> None:
    team.account.answer("GET /sequences", {"data": []}, times=1)
    await team.ask("sequences")
    await team.account.recover()
    assert NAME in (await team.ask("sequences")).shown


async def test_an_empty_first_look_at_interested_leads_announces_nothing_later(team: Team) -> None:
    """Leads that were interested before the bot came aren't news, whatever its first look has read."""
    await team.stop()
    team.use_new_database()
    before = len(team.account.asked("GET", "/leads"))
    team.account.answer("GET /leads", {"data": [], "next_cursor": None})
    await team.start()

    async def looked() -> bool:
        return len(team.account.asked("GET", "/leads")) > before

    await team.until(looked, "the first look at interested leads")
    await team.account.recover()
    for _ in range(2):
        before = len(team.account.asked("GET", "/leads"))
        await team.pass_time(minutes=16)
        await team.until(looked, "the next look")
    await team.deliver(interested("Ada"))
    await team.card("Ada")
    await team.settled()
    assert len([one for one in await team.messages() if one.alert_id]) == 1


async def test_no_request_is_made_for_an_id_that_was_resolved(team: Team) -> None:
    await team.ask(f'pause "{NAME}"')
    asked = [one for one in team.account.asked("GET") if one.startswith("GET /sequences/")]
    assert asked == []
