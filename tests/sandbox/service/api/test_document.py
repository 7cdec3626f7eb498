"""The document, sentence by sentence. Each test quotes what it proves."""

from __future__ import annotations

import datetime as dt

import httpx
import pytest

from sandbox.service import Service
from sandbox.service.moments import DAY
from tests.sandbox.service.conftest import add, sequence_id


class TestAuthentication:
    async def test_a_missing_or_unknown_key_yields_401_with_code_unauthorized(self, service: Service) -> None:
        for headers in ({}, {"Authorization": "Bearer nonsense"}, {"Authorization": "Basic " + "x" * 20}):
            async with httpx.AsyncClient(verify=False, base_url=service.base_url) as stranger:
                response = await stranger.get("/leads", headers=headers)
                assert (response.status_code, response.json()["error"]["code"]) == (401, "unauthorized")

    async def test_each_key_is_scoped_to_one_workspace(
        self, api: httpx.AsyncClient, globex: httpx.AsyncClient
    ) -> None:
        for path in ("/sequences", "/inboxes", "/leads?limit=100"):
            mine = {item["id"] for item in (await api.get(path)).json()["data"]}
            theirs = {item["id"] for item in (await globex.get(path)).json()["data"]}
            assert mine
            assert theirs
            assert not mine & theirs

    async def test_a_resource_that_exists_in_another_workspace_is_reported_as_404_not_found(
        self, api: httpx.AsyncClient, globex: httpx.AsyncClient
    ) -> None:
        sequence = await sequence_id(globex)
        lead = (await globex.get("/leads?limit=1")).json()["data"][0]["id"]
        answers = [
            await api.patch(f"/sequences/{sequence}", json={"status": "paused"}),
            await api.delete(f"/leads/{lead}"),
            await add(api, sequence, "someone@firm.example"),
            await api.get("/leads", params={"sequence_id": sequence}),
        ]
        # The document: 404, and not 403, which would say that it exists.
        assert [(one.status_code, one.json()["error"]["code"]) for one in answers] == [(404, "not_found")] * 4
        assert (await globex.get("/leads?limit=1")).json()["data"][0]["id"] == lead


class TestSequences:
    async def test_lists_the_sequences_with_their_status_and_step_count(self, api: httpx.AsyncClient) -> None:
        sequences = (await api.get("/sequences")).json()["data"]
        assert len(sequences) == 12
        assert all(one["id"].startswith("sq_") and one["steps"] > 1 for one in sequences)
        assert {one["status"] for one in sequences} == {"active", "paused"}
        assert [one["name"] for one in sequences].count("Webinar follow-up") == 2

    async def test_active_to_resume_and_paused_to_pause(self, api: httpx.AsyncClient) -> None:
        sequence = await sequence_id(api)
        # Each twice: a PATCH that changes nothing is no error, so that a client may repeat one.
        for status in ("paused", "paused", "active", "active"):
            response = await api.patch(f"/sequences/{sequence}", json={"status": status})
            assert (response.status_code, response.json()["status"]) == (200, status)
            assert (await api.get("/sequences")).json()["data"][0]["status"] == status

    @pytest.mark.usefixtures("small_account")
    async def test_a_paused_sequence_sends_nothing(
        self, api: httpx.AsyncClient, control: httpx.AsyncClient
    ) -> None:
        for sequence in (await api.get("/sequences")).json()["data"]:
            await api.patch(f"/sequences/{sequence['id']}", json={"status": "paused"})
        before = await self._sends(api)
        assert before
        await control.post("/time", json={"advance": 86_400})
        assert await self._sends(api) == before
        await api.patch(f"/sequences/{sequence['id']}", json={"status": "active"})

    async def _sends(self, api: httpx.AsyncClient) -> int:
        query = {"from": "2020-01-01", "to": "2100-01-01"}
        return sum(row["sends"] for row in (await api.get("/stats", params=query)).json()["data"])


class TestInboxes:
    async def test_health_is_updated_daily(
        self, service: Service, api: httpx.AsyncClient, control: httpx.AsyncClient
    ) -> None:
        before = (await api.get("/inboxes")).json()["data"]
        await control.post("/time", json={"advance": DAY - service.now() % DAY + 60})
        after = (await api.get("/inboxes")).json()["data"]
        changed = sum(
            old["health_score"] != new["health_score"] for old, new in zip(before, after, strict=True)
        )
        assert changed > 50


class TestStats:
    @pytest.fixture
    def today(self, service: Service) -> dt.date:
        return dt.datetime.fromtimestamp(service.now(), dt.UTC).date()

    async def test_every_grouping_adds_up_to_the_same_totals(
        self, api: httpx.AsyncClient, control: httpx.AsyncClient
    ) -> None:
        await control.post("/time", json={"advance": 43_200})
        totals = [await self._totals(api, group_by=by) for by in ("sequence", "variant", "step", "inbox")]
        assert totals[0][0] > 30_000
        # One send is one row of each grouping: what one of them lost would be missing in its total.
        assert all(total == totals[0] for total in totals)

    async def test_when_both_from_and_to_are_omitted_the_range_is_the_last_30_days(
        self, api: httpx.AsyncClient, today: dt.date
    ) -> None:
        query = {"from": str(today - dt.timedelta(days=29)), "to": str(today)}
        assert (await api.get("/stats")).json() == (await api.get("/stats", params=query)).json()
        longer = {"from": str(today - dt.timedelta(days=34)), "to": str(today)}
        assert await self._totals(api) != await self._totals(api, **longer)

    async def test_one_end_alone_is_completed(self, api: httpx.AsyncClient, today: dt.date) -> None:
        # The document leaves open what one end alone means: the sandbox completes it to the default range.
        start = str(today - dt.timedelta(days=29))
        expected = await self._totals(api)
        assert await self._totals(api, **{"from": start}) == expected
        assert await self._totals(api, to=str(today)) == expected
        assert await self._totals(api, to="0001-01-01") == [0, 0, 0, 0]

    async def _totals(self, api: httpx.AsyncClient, **query: str) -> list[int]:
        rows = (await api.get("/stats", params=query)).json()["data"]
        return [
            sum(row[name] for row in rows) for name in ("sends", "replies", "positive_replies", "meetings")
        ]
