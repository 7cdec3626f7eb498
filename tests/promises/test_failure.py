"""Failures: who asks is answered soon, with the true cause, and with what to do."""

from __future__ import annotations

import asyncio

from tests.kit import Account, Shell, Team


async def test_a_command_that_the_service_fails_names_itself_and_its_cause_and_offers_to_retry(
    team: Team,
) -> None:
    await team.account.fail(endpoint="GET /sequences", status=503, times=None)
    began = asyncio.get_running_loop().time()
    answer = await team.ask("sequences paused")
    assert asyncio.get_running_loop().time() - began < 12
    assert "sequences paused" in answer.shown
    assert "503" in answer.shown
    await team.account.recover()
    (listed,) = await team.click(answer, "Retry")
    assert "paused sequence" in listed.title


async def test_a_shell_says_which_command_failed(account: Account, shell: Shell) -> None:
    await account.fail(endpoint="GET /sequences", status=503, times=None)
    shell.use(account.environ)
    run = await asyncio.to_thread(shell.run, "sequences", "paused")
    assert run.code == 1
    assert "sequences paused" in run.err
    assert "503" in run.err
