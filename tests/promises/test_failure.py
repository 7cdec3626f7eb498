"""Failures: who asks is answered soon, with the true cause, and with what to do."""

from __future__ import annotations

import asyncio
import re

from tests.kit import Account, Shell, Team


async def test_a_command_that_the_service_fails_names_itself_and_its_cause_and_offers_to_retry(
    team: Team,
) -> None:
    for endpoint in ("GET /sequences", "GET /inboxes"):
        await team.account.fail(endpoint=endpoint, status=503, times=None)
    assert "The service: " in (await team.home()).shown
    began = asyncio.get_running_loop().time()
    answer = await team.ask("sequences paused")
    assert asyncio.get_running_loop().time() - began < 12
    assert "sequences paused" in answer.shown
    assert "503" in answer.shown
    assert "Nothing was changed" not in answer.shown  # it only read
    refused = await team.ask("pause fintech")
    assert "Nothing was changed" in refused.shown
    await team.account.recover()
    (listed,) = await team.click(answer, "Retry")
    assert "paused sequence" in listed.title


async def test_a_shell_says_which_command_failed(account: Account, shell: Shell) -> None:
    await account.fail(endpoint="GET /sequences", status=503, times=None)
    shell.use(account.environ)
    run = await shell.type("sequences", "paused")
    assert run.code == 1
    assert "sequences paused" in run.err
    assert "503" in run.err


async def test_status_names_the_endpoint_that_does_not_answer(account: Account, shell: Shell) -> None:
    await account.fail(endpoint="GET /inboxes", delay=60.0, times=None)
    shell.use(account.environ)
    run = await shell.type("status")
    assert run.code == 1
    assert "GET /inboxes doesn't answer." in run.err


async def test_status_says_for_how_long_the_service_has_stopped_the_key(team: Team) -> None:
    team.account.answer("GET /stats", {}, status=429, times=1, headers={"Retry-After": "30"})
    await team.ask("stats")
    line = next(part for part in (await team.ask("status")).shown.splitlines() if "429" in part)
    assert re.search(r"stopped for \d+ s \(429\)", line)


async def test_a_database_names_the_version_that_made_it(team: Team, shell: Shell) -> None:
    """A backup that is put back is opened by a version that knows its schema."""
    await team.stop()
    shell.use(team.environ)
    copy = str(team.state_dir / "copy.db")
    assert (await shell.type("database", "backup", copy)).code == 0
    shell.set("OUTREACH_DATABASE_URL", f"sqlite:///{copy}")
    run = await shell.type("database", "status")
    assert run.code == 0, run.err
    assert re.search(r"Made by version\s+\d+\.\d+", run.out)
