from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bot.slack.socket_mode import SocketTimeouts
from cli.doctor import slack as doctor
from cli.doctor.finding import Finding
from shared.domain.card import Tone
from shared.settings import load
from tests.bot.harness import House, bot_inside, interested, open_house, until

HASTE = SocketTimeouts(ping=0.2, connect=1.0, first_wait=0.05, longest_wait=0.2, close=0.5)


@asynccontextmanager
async def socket_house(folder: Path, *, disabled: bool = False) -> AsyncIterator[House]:
    """A bot that Slack reaches by Socket Mode alone."""
    async with open_house(folder) as house:
        house.slack.settings.request_url = None
        house.environ["SLACK_APP_TOKEN"] = house.slack.announcement["slack_app_token"]
        del house.environ["SLACK_SIGNING_SECRET"]
        if disabled:
            await house.control("sockets", act="disable")
        async with bot_inside(house, timeouts=HASTE):
            if not disabled:
                await connected(house, times=1)
            yield house


async def state(house: House) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((await house.get("/readyz"))[1])["socket_mode"]
    return told


async def connected(house: House, *, times: int) -> dict[str, Any]:
    """Wait for the so-manieth connection."""

    async def there() -> dict[str, Any] | None:
        told = await state(house)
        return told if told["connected"] and told["rebuilds"] == times - 1 else None

    return dict(await until(there))


async def while_connected(house: House) -> dict[str, Any] | None:
    """How the connection stands; None: it is being built anew."""
    told = await state(house)
    return told if told["connected"] else None


async def diagnosed(house: House) -> Finding:
    """What `outreach doctor` says of the running bot's connection."""
    settings = load(environ=house.environ)
    (found,) = [one async for one in doctor.examine(settings) if one.check == "Slack connection"]
    return found


async def answers(house: House) -> bool:
    return "You are ann" in json.dumps(await house.say("whoami"))


async def test_commands_come_by_the_socket_and_deliveries_by_http(tmp_path: Path) -> None:
    async with socket_house(tmp_path) as house:
        assert await answers(house)
        assert await house.deliver(interested(1)) == 200
        await house.until_posted(1)
        told = await until(lambda: while_connected(house))
        assert told["connected_since"] > 0
        assert told["last_message_age"] < 5
        assert (await diagnosed(house)).found.startswith("heard from")
        assert (await house.http.post(f"{house.url}/slack/events")).status == 404


async def test_a_connection_that_is_cut_is_built_anew(tmp_path: Path) -> None:
    async with socket_house(tmp_path) as house:
        await house.control("sockets", act="cut")
        assert (await connected(house, times=2))["last_loss"] == "cut"
        assert await answers(house)
        assert "built anew 1×, last: cut" in (await diagnosed(house)).found
        await house.say("doctor")

        async def said() -> bool:
            return "built anew 1×, last: cut" in json.dumps(await house.messages(), ensure_ascii=False)

        await until(said)  # the service that it asks, too, is not there


async def test_a_connection_that_slack_closes_properly_is_built_anew(tmp_path: Path) -> None:
    async with socket_house(tmp_path) as house:
        await house.slack.sockets.close()
        assert (await connected(house, times=2))["last_loss"] == "cut"
        assert await answers(house)


async def test_socket_mode_switched_off_while_the_bot_runs_is_said_until_it_is_on_again(
    tmp_path: Path,
) -> None:
    async with socket_house(tmp_path) as house:
        await house.control("sockets", act="disable")

        async def refused() -> bool:
            return "refused" in (await state(house))["trouble"]

        await until(refused)
        told = await diagnosed(house)
        assert told.tone is Tone.BAD
        assert told.found.startswith("refused")
        assert (await house.get("/readyz"))[0] == 200, "deliveries are taken in any case"
        await house.control("sockets", act="enable")
        await connected(house, times=2)
        assert await answers(house)


async def test_a_silent_connection_is_given_up(tmp_path: Path) -> None:
    async with socket_house(tmp_path) as house:
        await house.control("sockets", act="silence")

        async def rebuilt() -> bool:
            return bool((await state(house))["rebuilds"])

        await until(rebuilt)
        assert (await state(house))["last_loss"].startswith("silent")
        await house.control("sockets", act="speak")
        assert await answers(house)


async def test_a_connection_that_slack_wants_refreshed_is_replaced_without_leaving_one_behind(
    tmp_path: Path,
) -> None:
    async with socket_house(tmp_path) as house:
        for times in (2, 3):
            await house.control("sockets", act="refresh")
            assert "asked" in (await connected(house, times=times))["last_loss"]
            assert await answers(house)

        async def one() -> bool:
            return len(house.slack.sockets.connections) == 1

        await until(one)


async def test_socket_mode_refused_at_the_start_is_said_and_stops_no_delivery(tmp_path: Path) -> None:
    async with socket_house(tmp_path, disabled=True) as house:

        async def refused() -> bool:
            return "refused" in (await state(house))["trouble"]

        await until(refused)
        assert await house.deliver(interested(1)) == 200
        await house.until_posted(1)
        await house.control("sockets", act="enable")
        await connected(house, times=1)
        assert await answers(house)
