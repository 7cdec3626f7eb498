"""State that lasts: across restarts, and across processes on one PostgreSQL."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from sandbox.service import Service
from tests.processes import running_async
from tests.sandbox.service.conftest import client_of
from tests.sandbox.service.subscriber import Receiver, happen, subscribe
from tests.waiting import until


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, copy: Callable[[], str]) -> str:
    """A book on its first day."""
    return copy() if request.param == "sqlite" else fresh(request.getfixturevalue("postgresql"))


def fresh(uri: str) -> str:
    """A copy of the book on the server, which was founded there."""
    from sqlalchemy import create_engine, make_url, text

    elsewhere = make_url(uri).set(drivername="postgresql+psycopg", database="template1")
    engine = create_engine(elsewhere, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        count = connection.execute(text("SELECT count(*) FROM pg_database")).scalar_one()
        connection.execute(text(f"CREATE DATABASE sandbox_{count} TEMPLATE {make_url(uri).database}"))
    engine.dispose()
    return make_url(uri).set(database=f"sandbox_{count}").render_as_string(hide_password=False)


@pytest.mark.e2e
async def test_everything_is_there_after_a_restart(database: str, receiver: Receiver) -> None:
    async with Service(database=database, speed=0) as service, _clients(service) as (api, control):
        secret = await subscribe(api, receiver.url, "reply.interested")
        receiver.status = 500
        await happen(control, "reply.interested", reply="Please call")
        await receiver.wait_for(1)
        await until(lambda: _attempted(control))
        sequence = (await api.get("/sequences")).json()["data"][0]["id"]
        await api.patch(f"/sequences/{sequence}", json={"status": "paused"})
        keys, stats = service.api_keys, (await api.get("/stats")).json()
        time = (await control.get("/time")).json()["now"]
    receiver.status = 200
    async with Service(database=database, speed=0) as service, _clients(service) as (api, control):
        assert service.api_keys == keys
        assert (await control.get("/time")).json()["now"] >= time
        assert (await api.get("/sequences")).json()["data"][0]["status"] == "paused"
        assert (await api.get("/stats")).json() == stats
        await control.post("/time", json={"advance": 120})
        first, second = await receiver.wait_for(2)
    assert first.body == second.body
    assert second.signed_with(secret)


async def _attempted(control: httpx.AsyncClient) -> bool:
    found = (await control.get("/deliveries")).json()["data"]
    return bool(found) and found[0]["attempts"] > 0


@asynccontextmanager
async def _clients(service: Service) -> AsyncIterator[tuple[httpx.AsyncClient, httpx.AsyncClient]]:
    async with (
        client_of(service, "acme") as api,
        httpx.AsyncClient(verify=False, base_url=service.control_url, timeout=120) as control,
    ):
        await control.put("/limiter", json={"form": "off"})
        yield api, control


PROCESS = """
import asyncio, json, sys
from sandbox.service import Service
from sandbox.service.v1 import rate_limits

rate_limits.WINDOW = 600.0  # in a second, a busy machine answers no ten requests

async def main():
    async with Service(database=sys.argv[1], speed=float(sys.argv[2])) as service:
        print(json.dumps([service.base_url, service.control_url, service.api_keys]), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)

asyncio.run(main())
"""


@asynccontextmanager
async def process(database: str, *, speed: float = 0.0) -> AsyncIterator[tuple[str, str, dict[str, str]]]:
    """A service in its own process."""
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, "-c", PROCESS, database, str(speed))
    async with running_async(*command, stdin=pipe, stdout=pipe) as running:
        assert running.stdout is not None
        base_url, control_url, keys = json.loads(await running.stdout.readline())
        yield base_url, control_url, keys


@pytest.mark.e2e
async def test_several_processes_share_state_rate_limits_and_deliveries(
    postgresql: str, receiver: Receiver
) -> None:
    database = fresh(postgresql)
    async with process(database) as one, process(database) as two:
        assert one[2] == two[2]
        headers = {"Authorization": f"Bearer {one[2]['acme']}"}
        async with (
            httpx.AsyncClient(verify=False, base_url=one[0], headers=headers, timeout=120) as first,
            httpx.AsyncClient(verify=False, base_url=two[0], headers=headers, timeout=120) as second,
            httpx.AsyncClient(verify=False, timeout=60) as control,
        ):
            turns = [await (first, second)[turn % 2].get("/sequences") for turn in range(14)]
            assert [answer.status_code for answer in turns] == 10 * [200] + 4 * [429]
            for each in (one, two):
                await control.put(f"{each[1]}/limiter", json={"form": "off"})
            await subscribe(first, receiver.url, "lead.bounced")
            await control.post(f"{two[1]}/events", json={"kind": "lead.bounced", "count": 300})
            await receiver.wait_for(300)
            summary = await _all_delivered(control, two[1])
            assert summary["attempts"] == 300
    assert len(receiver.received) == 300


async def _all_delivered(control: httpx.AsyncClient, url: str) -> Any:
    found: dict[str, Any] = {}

    async def delivered() -> bool:
        found.update((await control.get(f"{url}/summary")).json()["deliveries"])
        return bool(found["by_state"]["delivered"] == 300)

    await until(delivered)
    return found


@pytest.mark.e2e
async def test_a_killed_process_leaves_its_pending_deliveries_to_the_next(
    copy: Callable[[], str], receiver: Receiver
) -> None:
    database = copy()
    receiver.delay = 30.0
    async with process(database) as (base_url, control_url, keys):
        headers = {"Authorization": f"Bearer {keys['acme']}"}
        async with httpx.AsyncClient(verify=False, base_url=base_url, headers=headers, timeout=120) as api:
            await subscribe(api, receiver.url, "lead.bounced")
            await api.post(f"{control_url}/events", json={"kind": "lead.bounced", "count": 5})
            await receiver.wait_for(5)
    receiver.delay = 0.0
    async with Service(database=database, speed=0):
        again = await receiver.wait_for(10)
    assert sorted(one.body for one in again[:5]) == sorted(one.body for one in again[5:])


@pytest.mark.e2e
async def test_the_clock_is_not_behind_after_a_crash(copy: Callable[[], str]) -> None:
    database = copy()
    async with (
        process(database, speed=3_600) as (_, control_url, _),
        httpx.AsyncClient(verify=False, timeout=120) as client,
    ):
        await asyncio.sleep(1.5)
        asked_at = time.monotonic()
        shown = (await client.get(f"{control_url}/time")).json()["epoch"]
    lived = time.monotonic() - asked_at
    async with Service(database=database, speed=0) as service:
        assert shown <= service.now() < shown + (lived + 1) * 3_600


@pytest.mark.e2e
async def test_a_sqlite_file_is_one_process_s(copy: Callable[[], str]) -> None:
    database = copy()
    async with process(database):
        with pytest.raises(ValueError, match="Another process uses this SQLite file"):
            await Service(database=database).__aenter__()
    async with Service(database=database, speed=0) as service, client_of(service, "acme") as api:
        assert (await api.get("/sequences")).status_code == 200


async def test_a_database_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    for database in (f"sqlite:///{tmp_path}/no/such/folder.db", "postgresql://nobody@127.0.0.1:1/x"):
        with pytest.raises(ValueError, match=r"The database can't be opened: \w"):
            await Service(database=database).__aenter__()


@pytest.mark.parametrize(
    "database", ["mysql://root@localhost/x", "sqlite://", "nonsense", "postgres//x", "sqlite:///"]
)
def test_another_database_is_refused_with_what_would_be_right(database: str) -> None:
    with pytest.raises(ValueError, match="sqlite:///PATH or postgresql://"):
        Service(database=database)


def test_an_unknown_scenario_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="calm-week, deliverability-crisis, reply-storm, empty, huge"):
        Service(scenario="calm")
    with pytest.raises(ValueError, match="speed must be"):
        Service(speed=-1)


@pytest.mark.e2e
async def test_two_services_on_one_postgresql_move_the_campaign_on_once(postgresql: str) -> None:
    database = fresh(postgresql)
    async with (
        Service(database=database, speed=0) as one,
        Service(database=database, speed=0) as two,
        _clients(one) as (api, control),
        _clients(two) as (other, control_of_two),
    ):
        before = sum(await _sends(api, one.base_url))
        await asyncio.gather(
            control.post("/time", json={"advance": 20_000}),
            control_of_two.post("/time", json={"advance": 20_000}),
        )
        after = await _sends(api, one.base_url)
        assert after == await _sends(other, two.base_url)
    assert len(set(after)) == 1
    assert sum(after) > before


@pytest.mark.e2e
async def test_a_key_that_is_revoked_at_one_process_opens_no_other(postgresql: str) -> None:
    database = fresh(postgresql)
    async with (
        Service(database=database, speed=0) as one,
        Service(database=database, speed=0) as two,
        _clients(one) as (_, control),
        _clients(two) as (other, _),
    ):
        assert (await other.get("/sequences")).status_code == 200
        await control.post("/keys", json={"workspace": "acme", "revoke": one.api_keys["acme"]})

        async def refused() -> bool:
            return (await other.get("/sequences")).status_code == 401

        await until(refused)
        assert (await other.get("/sequences")).json()["error"]["code"] == "unauthorized"


@pytest.mark.soak
async def test_one_process_at_a_time_moves_the_campaign_on(postgresql: str) -> None:
    database = fresh(postgresql)
    async with process(database, speed=20_000) as one, process(database, speed=20_000) as two:
        headers = {"Authorization": f"Bearer {one[2]['acme']}"}
        async with httpx.AsyncClient(verify=False, headers=headers, timeout=60) as client:
            for _, control_url, _ in (one, two):
                await client.put(f"{control_url}/limiter", json={"form": "off"})
            start = (await client.get(f"{one[1]}/state")).json()["simulated_until"]
            before = await _sends(client, one[0])
            await until(lambda: _hours_passed(client, two[1], since=start), seconds=30)
            for _, control_url, _ in (one, two):
                await client.post(f"{control_url}/time", json={"speed": 0})
            after = await _sends(client, two[0])
            assert after == await _sends(client, one[0])
    assert len(set(after)) == 1
    assert after[0] > before[0]


async def _sends(client: httpx.AsyncClient, base_url: str) -> list[int]:
    """All sends ever, counted in each grouping."""
    totals = []
    for grouping in ("sequence", "inbox", "step", "variant"):
        query = {"group_by": grouping, "from": "2000-01-01", "to": "2999-12-31"}
        rows = (await client.get(f"{base_url}/stats", params=query)).json()["data"]
        totals.append(sum(row["sends"] for row in rows))
    return totals


async def _hours_passed(client: httpx.AsyncClient, url: str, *, since: str) -> bool:
    now = (await client.get(f"{url}/state")).json()["simulated_until"]
    return dt.datetime.fromisoformat(now) > dt.datetime.fromisoformat(since) + dt.timedelta(hours=5)
