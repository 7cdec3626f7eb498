"""Several services in one process: the past is played once, and nothing else is shared."""

from __future__ import annotations

import httpx

from sandbox.service import Service
from tests.sandbox.service.conftest import MONDAY, SMALL, client_of


async def test_each_answers_from_its_own_state_at_its_own_address() -> None:
    async with (
        Service(scenario=SMALL, speed=0, now=MONDAY) as one,
        Service(scenario=SMALL, speed=0, now=MONDAY, seed=8) as other,
        client_of(one, "acme") as api,
        client_of(other, "acme") as others_api,
        httpx.AsyncClient(verify=False) as http,
    ):
        listed = (await api.get("/sequences")).json()["data"]
        await api.patch(f"/sequences/{listed[0]['id']}", json={"status": "paused"})
        await http.post(f"{one.control_url}/time", json={"advance": 3600.0})
        assert (await api.get("/sequences")).json()["data"][0]["status"] == "paused"
        assert {row["status"] for row in (await others_api.get("/sequences")).json()["data"]} == {"active"}
        for service, time in ((one, MONDAY + 3600), (other, MONDAY)):
            assert (await http.get(f"{service.control_url}/time")).json()["epoch"] == time
            document = (await http.get(f"{service.origin}/openapi.json")).json()
            assert document["servers"][0]["url"] == service.base_url
        stranger = {"Authorization": f"Bearer {one.api_keys['acme']}"}
        assert (await others_api.get("/sequences", headers=stranger)).status_code == 401
