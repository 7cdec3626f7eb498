"""The control API: faults, the limiter's forms, time, and what it tells."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from sandbox.service import Service
from sandbox.service import service as service_module
from sandbox.service.moments import DAY
from tests.sandbox.receiver import Receiver
from tests.sandbox.service.conftest import MONDAY, SMALL, client_of
from tests.sandbox.service.subscriber import happen, subscribe


async def test_the_limiter_can_be_switched_off(service: Service, control: httpx.AsyncClient) -> None:
    async with client_of(service, "acme") as api:
        await control.put("/limiter", json={"form": "sliding"})
        # The document: 10 requests a second for a key; here in any second, and not by the clock's seconds.
        assert sum([(await api.get("/sequences")).status_code == 429 for _ in range(15)]) > 0
        await control.put("/limiter", json={"form": "off"})
        assert not [1 for _ in range(30) if (await api.get("/sequences")).status_code == 429]
    summary = (await control.get("/summary")).json()
    assert summary["rate_limited"] > 0
    assert summary["worst_second"]["acme"] > 10
    assert summary["endpoints"]["GET /sequences"]["429"] == summary["rate_limited"]


async def _fault(control: httpx.AsyncClient, **fault: Any) -> None:
    assert (await control.post("/faults", json=fault)).status_code == 201


async def test_a_fault_befalls_its_endpoint_so_many_times(
    api: httpx.AsyncClient, control: httpx.AsyncClient
) -> None:
    await _fault(control, endpoint="GET /leads", status=503, retry_after="2", times=2)
    answers = [await api.get("/leads") for _ in range(3)]
    assert [one.status_code for one in answers] == [503, 503, 200]
    assert answers[0].headers["Retry-After"] == "2"
    assert (await api.get("/sequences")).status_code == 200


@pytest.mark.parametrize("executed", [False, True])
async def test_a_connection_is_cut_before_or_after_the_act(
    api: httpx.AsyncClient, control: httpx.AsyncClient, *, executed: bool
) -> None:
    sequence = (await api.get("/sequences")).json()["data"][0]["id"]
    # For the client both look the same: only a reading tells whether the act was carried out.
    await _fault(control, endpoint="PATCH /sequences/{id}", cut=True, executed=executed)
    with pytest.raises(httpx.TransportError):
        await api.patch(f"/sequences/{sequence}", json={"status": "paused"})
    now = (await api.get("/sequences")).json()["data"][0]["status"]
    assert now == ("paused" if executed else "active")


@pytest.mark.usefixtures("small_account")
async def test_time_runs_at_its_speed_jumps_and_freezes(service: Service, control: httpx.AsyncClient) -> None:
    frozen = (await control.get("/state")).json()["time"]["epoch"]
    assert (await control.get("/state")).json()["time"]["epoch"] == frozen
    assert (await control.post("/time", json={"advance": 3_600})).json()["epoch"] == frozen + 3_600
    await control.post("/time", json={"speed": 100_000})
    assert service.now() > frozen + 3_600
    assert (await control.post("/time", json={"speed": 0})).json()["speed"] == 0


@pytest.mark.usefixtures("small_account")
async def test_a_jump_answers_when_everything_up_to_then_has_happened(
    api: httpx.AsyncClient, control: httpx.AsyncClient, receiver: Receiver
) -> None:
    await subscribe(api, receiver.url, "lead.bounced")
    receiver.status = 500
    await happen(control, "lead.bounced")
    answer = (await control.post("/time", json={"advance": 30})).json()
    # The first retry is a minute away: half a minute brings the first try, and no more.
    assert (answer["deliveries_due"], len(receiver.received)) == (0, 1)
    state = (await control.get("/state")).json()
    assert state["simulated_until"] == answer["now"]
    await control.post("/time", json={"advance": DAY})
    [failed] = (await control.get("/deliveries", params={"state": "failed"})).json()["data"][-1:]
    assert failed["attempts"] == 6


async def test_a_jump_does_not_wait_for_a_subscriber_who_never_answers(
    api: httpx.AsyncClient, control: httpx.AsyncClient, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Real seconds, so long a jump waits for answers before it says how many are still due.
    monkeypatch.setattr(service_module, "PATIENCE_SECONDS", 0.2)
    await subscribe(api, receiver.url, "lead.bounced")
    receiver.delay = 30.0
    await happen(control, "lead.bounced")
    assert (await control.post("/time", json={"advance": 30})).json()["deliveries_due"] == 1


async def test_reset_everything_brings_the_first_day_back() -> None:
    async with (
        Service(scenario=SMALL, speed=0, now=MONDAY) as service,
        client_of(service, "acme") as api,
        httpx.AsyncClient(verify=False, base_url=service.control_url, timeout=60) as control,
    ):
        await control.put("/limiter", json={"form": "off"})

        async def everything() -> list[Any]:
            paths = ("/sequences", "/inboxes", "/leads?limit=100", "/stats?group_by=inbox")
            state = (await control.get("/state")).json()
            return [state] + [(await api.get(path)).json() for path in paths]

        before = await everything()
        await _change_everything(api, control)
        assert await everything() != before
        assert (await control.post("/reset", json={"everything": True})).json() == {"status": "reset"}
        await control.put("/limiter", json={"form": "off"})
        assert await everything() == before


async def _change_everything(api: httpx.AsyncClient, control: httpx.AsyncClient) -> None:
    await subscribe(api, "http://127.0.0.1:9/hook", "lead.bounced")
    await happen(control, "lead.bounced")
    sequence = (await api.get("/sequences")).json()["data"][0]["id"]
    await api.patch(f"/sequences/{sequence}", json={"status": "paused"})
    lead = (await api.get("/leads?limit=1")).json()["data"][0]["id"]
    await api.delete(f"/leads/{lead}")
    await control.post("/time", json={"advance": 3_600})
