"""The control API: faults, the limiter's forms, time, what it tells, and what both APIs refuse."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from sandbox.asgi_server import BODY_LIMIT
from sandbox.service import Service
from sandbox.service import service as service_module
from sandbox.service.moments import DAY
from tests.sandbox.cases import built
from tests.sandbox.receiver import Receiver
from tests.sandbox.service.conftest import client_of, happen, sequence_id, subscribe


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


@pytest.mark.usefixtures("small_account")
async def test_reset_everything_brings_the_first_day_back(
    api: httpx.AsyncClient, control: httpx.AsyncClient
) -> None:
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


CASES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("refused.json").read_text("utf-8"))
CODES = {400: "bad_request", 401: "unauthorized", 404: "not_found", 405: "method_not_allowed"}
HTTPS = ["hooks.firm.example/x", "hooks.firm.example:8443/x", "hooks.firm.example./x", "127.0.0.1:9/x"]


@pytest.mark.parametrize("part", ["/v1/leads", "/v1/sequences", "/v1/stats", "/v1/webhooks", "/control", ""])
async def test_what_cannot_be_is_refused_and_named(
    service: Service, api: httpx.AsyncClient, part: str
) -> None:
    known = await sequence_id(api)
    parts = ("/v1/leads", "/v1/sequences", "/v1/stats", "/v1/webhooks", "/control")
    for case in CASES:
        method, _, path = case["request"].partition(" ")
        if next((one for one in parts if path.startswith(one)), "") != part:
            continue
        body = built(case["json"] if "json" in case else case.get("content"), 0)
        content = (json.dumps(body) if "json" in case else body or "").replace("$sequence", known)
        headers = {"Content-Type": case.get("type", "application/json")}
        url = f"{service.origin}{path.replace('$sequence', known)}"
        answer = await api.request(method, url, content=content.encode(), headers=headers)
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (case["status"], CODES[case["status"]]), case
        assert error.get("field") == case["field"] if "field" in case else True, case


async def test_a_body_over_the_limit_is_400_whether_announced_or_in_chunks(api: httpx.AsyncClient) -> None:
    # Without a Content-Length, the body has to be counted while it comes.
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(BODY_LIMIT // 65_536 + 2):
            yield b" " * 65_536

    for content in (b" " * (BODY_LIMIT + 1), chunks()):
        answer = await api.post("/leads", content=content, headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["error"]["field"]) == (400, "body")


async def test_a_page_elsewhere_cannot_turn_the_dials(service: Service) -> None:
    async with httpx.AsyncClient(verify=False, base_url=service.control_url) as page:
        # DNS rebinding: a foreign page's name may lead to this machine, but its Host header keeps the name.
        assert (await page.get("/state", headers={"Host": "rebound.example"})).status_code == 421
        assert (await page.post("/reset", headers={"Origin": "https://evil.example"})).status_code == 403


async def test_https_to_named_hosts_and_http_to_this_machine_are_taken(api: httpx.AsyncClient) -> None:
    here = ["127.0.0.1:9/x", "localhost/x", "[::1]:9/"]
    for url in [f"https://{one}" for one in HTTPS] + [f"http://{one}" for one in here]:
        answer = await api.post("/webhooks", json={"url": url, "events": ["lead.bounced"]})
        assert (url, answer.status_code) == (url, 201)


async def test_every_dial_is_written_down(service: Service) -> None:
    text = (Path(__file__).parents[3] / "docs" / "sandbox.md").read_text("utf-8")
    async with httpx.AsyncClient(verify=False, base_url=service.origin) as client:
        paths = (await client.get("/control/openapi.json")).json()["paths"]
    assert len(paths) > 1
    assert [path for path in paths if path not in text] == []
