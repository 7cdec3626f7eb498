"""`outreach forget`: a person is erased from everything that is stored, and from the bot's messages on demand."""

from __future__ import annotations

import asyncio
import re

import pytest

from tests.kit import Run, Shell, Team, interested

ADDRESS = "ada@acme.example"


async def forget(team: Team, shell: Shell, *words: str) -> Run:
    shell.use(team.environ)
    return await shell.type("forget", ADDRESS, *words)


async def told_of_ada(team: Team) -> None:
    """Deliver Ada's reply, claimed by her address; Lena's, which quotes it; and who has looked Ada up."""
    await team.deliver(interested("Ada", reply="Call me on Monday."))
    await team.card("Call me on Monday.")
    await team.ask(f"claim {ADDRESS}")
    await team.card("laimed by @ann")
    await team.deliver(interested("Lena", reply=f"Ask my colleague {ADDRESS.upper()} instead."))
    await team.card("instead.")
    await team.ask(f"lead {ADDRESS}")
    await team.settled()


async def test_forget_asks_first_and_changes_nothing_without_a_yes(team: Team, shell: Shell) -> None:
    await team.deliver(interested("Ada"))
    await team.card("Ada at Acme")
    run = await forget(team, shell)
    assert run.code == 1
    assert "--yes" in run.err
    assert "Ada" in (await team.ask("replies")).shown


async def test_a_forgotten_person_is_in_no_file_of_the_program(team: Team, shell: Shell) -> None:
    await told_of_ada(team)
    await team.stop()
    # Else the test would find nothing afterwards because it looks in the wrong place.
    assert ADDRESS.encode() in team.stored().lower()
    run = await forget(team, shell, "--yes")
    assert run.code == 0, run.err
    left = team.stored().lower()
    assert ADDRESS.encode() not in left
    assert b"call me on monday" not in left
    assert b"lena@acme.example" in left, "another person stays"
    assert b"ask my colleague (removed) instead" in left, "and what that person wrote"


async def test_a_forgotten_person_is_in_no_answer(team: Team, shell: Shell) -> None:
    await told_of_ada(team)
    run = await forget(team, shell, "--yes", "--slack")
    assert run.code == 0, run.err
    for line in ("replies", "replies mine", "audit", "digest now", "status"):
        assert not re.search(r"\bada\b", (await team.ask(line)).shown, re.IGNORECASE), line
    assert "forget" in (await team.ask("audit")).shown


async def test_the_messages_about_a_forgotten_person_are_deleted_on_demand(team: Team, shell: Shell) -> None:
    await told_of_ada(team)
    run = await forget(team, shell, "--yes", "--slack")
    assert run.code == 0, run.err
    await team.message("Ask my colleague (removed) instead.")
    shown = [one.shown for one in await team.messages() if one.alert_id]
    assert len(shown) == 1
    assert not any(re.search(r"\bada\b", one, re.IGNORECASE) for one in shown)


async def test_a_message_of_several_replies_loses_the_forgotten_one_alone(team: Team, shell: Shell) -> None:
    # The others wait behind the first post, and then share a message.
    await team.act("faults", method="chat.postMessage", kind="delay", delay=0.5)
    names = ["Nora", "Omar", "Pia", "Quin", "Rita", "Sven", "Tara", "Ada"]
    await asyncio.gather(*[team.deliver(interested(name)) for name in names])
    bundle = await team.card("Ada at Acme")
    others = re.findall(r"(\w+) at Acme", bundle.shown.replace("Ada at Acme", ""))
    assert len(others) > 2
    run = await forget(team, shell, "--yes", "--slack")
    assert run.code == 0, run.err

    async def redrawn() -> bool:
        return "Ada" not in (await team.present(bundle)).shown

    assert await team.until(redrawn, "the message without Ada")
    now = await team.present(bundle)
    assert re.findall(r"(\w+) at Acme", now.shown) == others
    assert now.buttons.count("Claim") == len(others)


async def test_forget_waits_for_a_message_that_is_on_its_way(team: Team, shell: Shell) -> None:
    """Slack has the message, and its answer was lost: where it stands is known after a look-up."""
    await team.act("faults", method="conversations.history", kind="delay", delay=1)
    await team.act("faults", method="chat.postMessage", kind="accept_then_cut")
    await team.deliver(interested("Ada"))
    await team.message("Ada at Acme")
    assert (await forget(team, shell, "--yes", "--slack")).code == 0
    await team.settled()
    assert not any("Ada" in message.shown for message in await team.messages())


async def test_the_same_delivery_does_not_bring_a_forgotten_person_back(team: Team, shell: Shell) -> None:
    body = interested("Ada")
    await team.deliver(body)
    await team.card("Ada at Acme")
    assert (await forget(team, shell, "--yes", "--slack")).code == 0
    assert await team.deliver(body) == 200
    await team.deliver(interested("Grace"))
    await team.card("Grace at Acme")
    await team.settled()
    assert not any("Ada" in one.shown for one in await team.messages() if one.alert_id)
    assert "Ada" not in (await team.ask("replies")).shown


async def test_forget_that_is_interrupted_in_slack_can_be_run_again(
    team: Team, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_settings: object) -> None:
        raise KeyboardInterrupt

    await team.deliver(interested("Ada"))
    await team.card("Ada at Acme")
    with monkeypatch.context() as patch:
        patch.setattr("cli.commands.forget.open_web_api", interrupt)
        assert (await forget(team, shell, "--yes", "--slack")).code == 130
    assert (await forget(team, shell, "--yes", "--slack")).code == 0
    assert not any("Ada" in message.shown for message in await team.messages() if message.alert_id)


async def test_forget_names_what_it_could_not_reach(team: Team, shell: Shell) -> None:
    await team.deliver(interested("Ada"))
    await team.card("Ada at Acme")
    copy = team.state_dir / "kept.txt"
    copy.write_text(f"{ADDRESS} was here", encoding="utf-8")
    await team.act("faults", method="chat.delete", kind="error", error="cant_delete_message", times=None)
    run = await forget(team, shell, "--yes", "--slack")
    told = "".join(run.out.split())  # a long path is broken into lines
    assert f"Notreached:{copy}." in told
    assert "backups" in told
    assert "cant_delete_message" in told


@pytest.mark.parametrize("wrong", ["ada", "@acme.example", ""])
def test_what_is_no_address_is_forgotten_by_nobody(shell: Shell, wrong: str) -> None:
    assert shell.run("forget", wrong, "--yes").code == 2
