"""The dashboard: what its keys and its command line change at the service, and what takes it back."""

from __future__ import annotations

from tests.kit import Account
from tests.kit.screen import Screen
from tests.kit.waiting import until


async def by_the_service(account: Account, named: str, *, paused: bool) -> None:
    """Wait until the service has it so."""

    async def is_so() -> bool:
        return await account.is_paused(named) == paused

    await until(is_so)


async def say(screen: Screen, line: str) -> None:
    await screen.press("colon")
    await screen.type(line)
    await screen.press("enter")


async def test_p_asks_names_what_it_pauses_and_u_takes_it_back(account: Account, screen: Screen) -> None:
    sequence = await account.sequence()
    await screen.until("DOMAINS")
    await screen.press("2")
    await screen.until(sequence["name"][:12])
    await screen.press("p")
    await screen.until(f"Pause {sequence['name']}")
    assert not await account.is_paused(sequence["id"])
    await screen.press("y")
    await by_the_service(account, sequence["id"], paused=True)
    await screen.until("Press u to undo")
    await screen.press("u")
    await by_the_service(account, sequence["id"], paused=False)


async def test_all_is_always_all_and_its_undo_resumes_all_of_them(account: Account, screen: Screen) -> None:
    active = [one["id"] for one in await account.sequences() if one["status"] == "active"]
    await screen.until("DOMAINS")
    await say(screen, "pause all")
    await screen.until(f"Pause {len(active)} active sequences?")
    await screen.press("y")
    for key in active:
        await by_the_service(account, key, paused=True)
    await screen.until("Press u to undo")
    await screen.press("u")
    for key in active:
        await by_the_service(account, key, paused=False)


async def test_a_name_that_several_have_asks_which_and_changes_nothing(
    account: Account, screen: Screen
) -> None:
    before = await account.sequences()
    await screen.until("DOMAINS")
    await say(screen, "pause zzz")
    await screen.until("No sequence")
    assert await account.sequences() == before
