"""The control API: faults, the limiter's forms, time, and what it tells."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.service import Service
from sandbox.service import service as service_module
from sandbox.service.api.guard import RATE, Limiter
from sandbox.service.moments import DAY
from tests.sandbox.service.conftest import MONDAY, SMALL, client_of, everyone
from tests.sandbox.service.subscriber import Receiver, happen, subscribe


def worst_second(moments: list[float]) -> int:
    """The most moments that lie within any one second; `moments` ascend."""
    worst = start = 0
    for end, moment in enumerate(moments):
        while moment - moments[start] >= 1.0:
            start += 1
        worst = max(worst, end - start + 1)
    return worst


@pytest.mark.parametrize("form", ["fixed", "sliding", "bucket"])
@given(gaps=st.lists(st.floats(0, 0.4), min_size=1, max_size=80))
def test_no_form_refuses_who_keeps_to_ten_a_second_or_admits_much_more(form: str, gaps: list[float]) -> None:
    limiter = Limiter(form)
    now, admitted = 1_000.0, list[float]()
    for gap in gaps:
        now += gap
        wait = limiter.admit("key", now=now)
        if not wait:
            admitted.append(now)
        else:
            assert 0 < wait <= 1
            assert deepcopy(limiter).admit("key", now=now + wait + 1e-6) == 0
    assert worst_second(admitted) <= (RATE if form == "sliding" else 2 * RATE)


@pytest.mark.parametrize("form", ["sliding", "bucket"])
@given(gaps=st.lists(st.floats(0.1001, 2), max_size=50))
def test_a_steady_pace_is_never_refused(form: str, gaps: list[float]) -> None:
    limiter, now = Limiter(form), 0.0
    for gap in gaps:
        now += gap
        assert limiter.admit("key", now=now) == 0


async def test_the_limiter_takes_any_form_and_can_be_switched_off(
    service: Service, control: httpx.AsyncClient
) -> None:
    async with client_of(service, "acme") as api:
        for form in ("fixed", "sliding", "bucket"):
            await control.put("/limiter", json={"form": form})
            refused = sum([(await api.get("/sequences")).status_code == 429 for _ in range(30)])
            assert refused > 0
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


@pytest.mark.parametrize(
    ("given", "header"), [(2, "2"), (0.5, "0.5"), ("soon", "soon"), ("Wed, 21 Oct 2026 07:28:00 GMT",) * 2]
)
async def test_retry_after_is_seconds_or_any_text(
    api: httpx.AsyncClient, control: httpx.AsyncClient, given: float | str, header: str
) -> None:
    await _fault(control, endpoint="GET /leads", status=429, retry_after=given)
    assert (await control.get("/faults")).json()["data"][0]["retry_after"] == given
    assert (await api.get("/leads")).headers["Retry-After"] == header


@pytest.mark.parametrize(
    ("body", "media_type"), [("html", "text/html"), ("half", "application/json"), ("empty", "")]
)
async def test_nonsense_can_be_answered(
    api: httpx.AsyncClient, control: httpx.AsyncClient, body: str, media_type: str
) -> None:
    await _fault(control, endpoint="GET /stats", body=body)
    response = await api.get("/stats")
    assert media_type in response.headers["Content-Type"]
    with pytest.raises(ValueError):
        response.json()


@pytest.mark.parametrize("executed", [False, True])
async def test_a_connection_is_cut_before_or_after_the_act(
    api: httpx.AsyncClient, control: httpx.AsyncClient, *, executed: bool
) -> None:
    sequence = (await api.get("/sequences")).json()["data"][0]["id"]
    await _fault(control, endpoint="PATCH /sequences/{id}", cut=True, executed=executed)
    with pytest.raises(httpx.TransportError):
        await api.patch(f"/sequences/{sequence}", json={"status": "paused"})
    now = (await api.get("/sequences")).json()["data"][0]["status"]
    assert now == ("paused" if executed else "active")


async def test_faults_can_be_listed_and_cleared(api: httpx.AsyncClient, control: httpx.AsyncClient) -> None:
    await _fault(control, status=500, times=None)
    assert (await api.get("/inboxes")).status_code == 500
    assert len((await control.get("/faults")).json()["data"]) == 1
    await control.delete("/faults")
    assert (await api.get("/inboxes")).status_code == 200


@pytest.mark.usefixtures("small_account")
async def test_time_runs_at_its_speed_jumps_and_freezes(service: Service, control: httpx.AsyncClient) -> None:
    frozen = (await control.get("/time")).json()["epoch"]
    assert (await control.get("/time")).json()["epoch"] == frozen
    assert (await control.post("/time", json={"advance": 3_600})).json()["epoch"] == frozen + 3_600
    await control.post("/time", json={"speed": 100_000})
    assert service.now() > frozen + 3_600
    assert (await control.post("/time", json={"speed": 0})).json()["speed"] == 0


async def test_triggered_events_have_the_given_values(
    api: httpx.AsyncClient, control: httpx.AsyncClient
) -> None:
    sequence = (await api.get("/sequences")).json()["data"][1]
    request = {
        "kind": "reply.interested",
        "sequence": sequence["id"],
        "payload": {"step": 99},
        "reply": "=1+1",
    }
    assert (await control.post("/events", json=request)).json() == {"events": 1}
    interested = await everyone(api, status="interested", sequence_id=sequence["id"], limit=100)
    found = [
        (await control.get("/history", params={"email": one["email"]})).json()["data"] for one in interested
    ]
    entries = [entry["body"] for entries in found for entry in entries if entry["body"]["step"] == 99]
    assert {entry["event"] for entry in entries} == {"lead.replied", "reply.interested"}
    assert {(entry["reply"], entry["sequence"]) for entry in entries} == {("=1+1", sequence["name"])}


@pytest.mark.usefixtures("small_account")
async def test_a_jump_answers_when_everything_up_to_then_has_happened(
    api: httpx.AsyncClient, control: httpx.AsyncClient, receiver: Receiver
) -> None:
    await subscribe(api, receiver.url, "lead.bounced")
    receiver.status = 500
    await happen(control, "lead.bounced")
    answer = (await control.post("/time", json={"advance": 30})).json()
    assert (answer["deliveries_due"], len(receiver.received)) == (0, 1)
    state = (await control.get("/state")).json()
    assert state["simulated_until"] == answer["now"]
    await control.post("/time", json={"advance": DAY})
    [failed] = (await control.get("/deliveries", params={"state": "failed"})).json()["data"][-1:]
    assert failed["attempts"] == 6


async def test_a_jump_does_not_wait_for_a_subscriber_who_never_answers(
    api: httpx.AsyncClient, control: httpx.AsyncClient, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
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
            del state["limiter"]
            return [state] + [(await api.get(path)).json() for path in paths]

        before = await everything()
        await _change_everything(api, control)
        assert await everything() != before
        assert (await control.post("/reset", json={"everything": True})).json() == {"status": "reset"}
        await control.put("/limiter", json={"form": "off"})
        assert await everything() == before
        lives = []
        for _ in range(2):
            await control.post("/time", json={"advance": 7_200})
            lives.append(await everything())
            await control.post("/reset", json={"everything": True})
            await control.put("/limiter", json={"form": "off"})
        assert lives[0] == lives[1] != before


async def _change_everything(api: httpx.AsyncClient, control: httpx.AsyncClient) -> None:
    await subscribe(api, "http://127.0.0.1:9/hook", "lead.bounced")
    await happen(control, "lead.bounced")
    sequence = (await api.get("/sequences")).json()["data"][0]["id"]
    await api.patch(f"/sequences/{sequence}", json={"status": "paused"})
    lead = (await api.get("/leads?limit=1")).json()["data"][0]["id"]
    await api.delete(f"/leads/{lead}")
    await control.post("/time", json={"advance": 3_600})
