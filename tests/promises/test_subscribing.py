"""`outreach webhooks`: a secret that is shown once is kept, and a second subscription must be insisted on."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.kit import Account, Run, Shell, Team, interested, signature
from tests.kit.clock import moment

URL = "https://ops.example.com/webhooks/outreach"


async def webhooks(shell: Shell, *words: str) -> Run:
    return await shell.type("webhooks", *words)


async def kept(shell: Shell) -> list[dict[str, Any]]:
    return list((await webhooks(shell, "list", "--json", "--show-secret")).data)


async def test_a_running_bot_takes_what_a_new_subscription_delivers_until_it_is_forgotten(
    team: Team, shell: Shell
) -> None:
    shell.use(team.environ)
    made = await webhooks(shell, "create", "--url", URL, "reply.interested")
    assert made.code == 0
    (subscription,) = await kept(shell)
    assert (subscription["url"], subscription["events"]) == (URL, ["reply.interested"])
    assert subscription["secret"] not in made.out + made.err
    assert subscription["secret"] not in (await webhooks(shell, "list", "--json")).out

    async def status() -> int:
        body = interested("Ada")
        signed = {"X-Service-Signature": signature(body, subscription["secret"])}
        return await team.deliver(body, headers=signed)

    assert await status() == 200
    asked = await webhooks(shell, "forget", subscription["id"])
    assert (asked.code, "--yes" in asked.err) == (1, True)
    assert (await webhooks(shell, "forget", subscription["id"], "--yes")).code == 0
    await team.restart()
    assert await status() == 401


async def test_a_doubtful_address_must_be_insisted_on(account: Account, shell: Shell) -> None:
    shell.use(account.environ)
    elsewhere = await webhooks(shell, "create", "--url", "https://ops.example.com/hook")
    assert (elsewhere.code, "…/webhooks/outreach" in elsewhere.err) == (1, True)
    assert (await webhooks(shell, "create", "--url", URL)).code == 0
    again = await webhooks(shell, "create", "--url", f"{URL}/")
    assert (again.code, again.out, "--yes" in again.err) == (1, "", True)
    assert len(await kept(shell)) == 1
    assert (await webhooks(shell, "create", "--url", URL, "--yes")).code == 0
    assert len(await kept(shell)) == 2


async def test_with_a_key_the_database_holds_no_secret_in_clear(account: Account, shell: Shell) -> None:
    shell.use(account.environ)
    await webhooks(shell, "create", "--url", URL)
    shell.set("OUTREACH_SECRET_KEY", "first-key-of-the-tests")
    await webhooks(shell, "create", "--url", URL, "--yes")
    clear, encrypted = (one["secret"].encode() for one in await kept(shell))
    files = b"".join(file.read_bytes() for file in shell.home.glob("outreach.db*"))
    # Else the other would be missing, too, if secrets were kept somewhere else.
    assert (clear in files, bool(encrypted), encrypted in files) == (True, True, False)
    # A key is changed by a new one before it: what the old one encrypted must stay readable.
    shell.set("OUTREACH_SECRET_KEY", "second-key-of-the-tests,first-key-of-the-tests")
    assert [one["secret"].encode() for one in await kept(shell)] == [clear, encrypted]
    shell.set("OUTREACH_SECRET_KEY", "wrong-key-of-the-tests")
    assert [one["secret"].encode() for one in await kept(shell)] == [clear, b""]


@pytest.mark.parametrize(
    "typed",
    [["create"], ["create", "--url", "http://ops.example.com/x"],
     ["create", "--url", URL, "reply.interestd"], ["forget"], ["delete"]],
)  # fmt: skip
async def test_what_cannot_be_subscribed_is_wrong_usage(
    account: Account, shell: Shell, typed: list[str]
) -> None:
    shell.use(account.environ)
    run = await webhooks(shell, *typed)
    assert (run.code, run.out) == (2, "")
    assert account.asked() == []


async def test_nothing_is_subscribed_where_the_secret_could_not_be_kept(
    account: Account, shell: Shell
) -> None:
    shell.use(account.environ)
    (shell.home / "file").touch()
    shell.set("OUTREACH_DATABASE_URL", f"sqlite:///{shell.home}/file/outreach.db")
    assert (await webhooks(shell, "create", "--url", URL)).code == 1
    assert account.asked() == []


async def test_a_subscription_of_unknown_outcome_is_never_repeated(account: Account, shell: Shell) -> None:
    shell.use(account.environ)
    await account.fail(endpoint="POST /webhooks", cut=True, executed=True, times=1)
    run = await webhooks(shell, "create", "--url", URL)
    assert (run.code, run.out) == (1, "")
    assert "We couldn't confirm this subscription" in run.err
    assert len(account.asked("POST", "/webhooks")) == 1
    assert await kept(shell) == []


async def test_a_rotated_secret_is_followed_by_a_new_one_and_ends_after_a_day(
    account: Account, shell: Shell
) -> None:
    shell.use(account.environ)
    assert "`webhooks create --url URL` makes one" in (await webhooks(shell, "rotate", "--yes")).err
    await webhooks(shell, "create", "--url", URL, "interested", "bounces")
    assert (await webhooks(shell, "rotate")).code == 1
    assert "no subscription wh_unknown" in (await webhooks(shell, "rotate", "wh_unknown", "--yes")).err
    assert len(await kept(shell)) == 1
    rotated = await webhooks(shell, "rotate", "--yes", "--json")
    assert rotated.code == 0
    old, new = await kept(shell)
    assert (new["url"], new["events"], new["accepted_until"]) == (URL, old["events"], None)
    assert new["secret"] != old["secret"]
    assert new["secret"] not in rotated.out
    left = datetime.fromisoformat(old["accepted_until"]) - moment()
    assert timedelta(hours=23) < left <= timedelta(hours=24)
    await webhooks(shell, "rotate", "--yes")
    assert len(await kept(shell)) == 3, "what ends already isn't rotated again"
