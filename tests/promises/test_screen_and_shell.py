"""The dashboard and the shell: the same account, in the same words."""

from __future__ import annotations

import pytest

from tests.kit import Account, Shell
from tests.kit.screen import Screen


async def test_the_board_tells_the_state_of_the_account(account: Account, screen: Screen) -> None:
    sequence = await account.sequence()
    assert await screen.until("DOMAINS")
    await screen.press("2")
    assert await screen.until(sequence["name"][:12])


async def test_a_shell_lists_the_sequences_as_data(account: Account, shell: Shell) -> None:
    shell.use(account.environ)
    run = await shell.type("sequences", "--json")
    assert run.code == 0
    assert [one["id"] for one in run.data] == [one["id"] for one in await account.sequences()]


@pytest.mark.parametrize("listing", ["sequences", "inboxes", "domains", "leads", "stats by step"])
async def test_a_list_is_cut_to_its_limit(account: Account, shell: Shell, listing: str) -> None:
    shell.use(account.environ)
    run = await shell.type(*listing.split(), "--limit", "2", "--csv")
    assert run.code == 0
    assert len(run.out.splitlines()) == 3, "the names of the columns, and two rows"


async def test_a_limit_of_inboxes_counts_inboxes_in_each_form(account: Account, shell: Shell) -> None:
    shell.use(account.environ)
    shell.set("COLUMNS", "160")
    rows = (await shell.type("inboxes", "--limit", "3", "--json")).data
    text = (await shell.type("inboxes", "--limit", "3")).out
    assert len(rows) == 3
    assert all(row["email"] in text for row in rows)
    count = len((await shell.type("inboxes", "--json")).data)
    assert f"{count} inboxes" in text
    assert f"the first 3 of {count}" in text


async def test_a_shell_claims_nothing_about_replies_that_no_bot_records(
    account: Account, shell: Shell
) -> None:
    shell.use(account.environ)
    digest = await shell.type("digest", "now")
    assert digest.code == 0
    assert "none recorded: no bot is running" in digest.out
    (status,) = (await shell.type("status", "--json")).data
    assert status["unclaimed_replies"] is None


async def test_a_quiet_list_has_no_heading(account: Account, shell: Shell) -> None:
    shell.use(account.environ)
    whole = await shell.type("sequences", "--limit", "2")
    quiet = await shell.type("sequences", "--limit", "2", "--quiet")
    assert quiet.code == 0
    assert "sequences" in whole.out
    assert "sequences" not in quiet.out
    assert quiet.out.strip() in whole.out


async def test_a_shell_that_cannot_reach_the_service_says_so_and_ends_with_1(shell: Shell) -> None:
    shell.use({"OUTREACH_BASE_URL": "http://127.0.0.1:9/v1", "OUTREACH_API_KEY": "live_nobody"})
    run = await shell.type("sequences")
    assert run.code == 1
    assert run.out == ""
    assert "127.0.0.1" in run.err or "reach" in run.err


async def test_a_shell_with_settings_missing_ends_with_2_and_names_them(shell: Shell) -> None:
    run = await shell.type("sequences")
    assert run.code == 2
    assert "OUTREACH_BASE_URL" in run.err
    assert "OUTREACH_API_KEY" in run.err


async def test_wrong_usage_ends_with_2(account: Account, shell: Shell) -> None:
    shell.use(account.environ)
    run = await shell.type("pause")
    assert run.code == 2


async def test_a_shell_pauses_as_slack_does(account: Account, shell: Shell) -> None:
    shell.use(account.environ)
    sequence = await account.sequence()
    run = await shell.type("pause", sequence["id"])
    assert run.code == 0
    assert await account.is_paused(sequence["id"])
