"""Names of sequences and commands: what is meant is found, and nothing else is changed."""

from __future__ import annotations

import pytest

from tests.kit import Shell, Team


@pytest.mark.parametrize("command", ["pause", "resume"])
async def test_a_sequence_that_is_not_there_changes_nothing(team: Team, command: str) -> None:
    before = await team.account.sequences()
    answer = await team.ask(f"{command} fintec opps")
    assert "fintec opps" in answer.shown
    assert "Fintech ops leaders" in answer.shown, "the nearest"
    assert await team.account.sequences() == before


async def test_the_nearest_names_are_suggested(team: Team) -> None:
    before = await team.account.sequences()
    answer = await team.ask(f"pause {before[0]['id'][:-1]}")
    assert before[0]["name"] in answer.shown
    assert await team.account.sequences() == before


@pytest.mark.parametrize("words", ["Webinar follow-up", "webinar", "saas", "founders"])
async def test_a_name_that_several_have_is_asked_about_with_their_ids(team: Team, words: str) -> None:
    sequences = await team.account.sequences()
    answer = await team.ask(f"pause {words}")
    ids = [one["id"] for one in sequences if words.lower() in one["name"].lower()]
    assert len(ids) == 2
    assert all(one in answer.shown for one in ids)
    assert await team.account.sequences() == sequences


async def test_all_is_always_all(team: Team) -> None:
    allied = {"id": "sq_allied00", "name": "Allied founders", "status": "active", "steps": 3}
    known = await team.account.sequences()
    team.account.answer("GET /sequences", {"data": [*known, allied]})
    active = [one for one in known if one["status"] == "active"]
    question = await team.ask("pause all")
    assert str(len(active) + 1) in question.shown
    assert team.account.asked("PATCH") == []


async def test_a_near_miss_is_answered_with_a_button_that_runs_it(team: Team) -> None:
    answer = await team.ask("pasue west coast")
    assert not await team.account.is_paused("West Coast startups")
    await team.click(answer, answer.buttons[0])
    assert await team.account.is_paused("West Coast startups")


async def test_a_greeting_with_more_words_is_offered_help(team: Team) -> None:
    answer = await team.ask("hello there")
    assert answer.buttons == ["Help"]
    assert "Did you mean" not in answer.shown


async def test_letters_that_changed_places_are_the_nearest_command(team: Team, shell: Shell) -> None:
    answer = await team.ask("stauts")
    assert answer.buttons[0] == "Status"
    shell.use(team.account.environ)
    assert "Did you mean “outreach status”?" in (await shell.type("stauts")).err


@pytest.mark.parametrize(
    ("alias", "command"),
    [
        ("stop fintech", "pause fintech"),
        ("log", "audit"),
        ("open", "replies"),
        ("bounces", "domains"),
        ("guard", "guardrails"),
        ("hi", "help"),
        ("?", "help"),
    ],
)
async def test_an_alias_does_what_its_command_does(team: Team, alias: str, command: str) -> None:
    by_alias = await team.ask(alias)
    if command.startswith("pause"):
        assert await team.account.is_paused("Fintech ops leaders")
    else:
        assert by_alias.title == (await team.ask(command)).title


async def test_unpause_resumes(team: Team) -> None:
    await team.ask("pause fintech")
    await team.ask("unpause fintech")
    assert not await team.account.is_paused("Fintech ops leaders")
