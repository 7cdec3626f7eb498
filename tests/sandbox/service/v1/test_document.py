"""The document, sentence by sentence. Each test quotes what it proves."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from sandbox.service import Service
from tests.sandbox.service.conftest import client_of

STATUSES = {"active", "replied", "interested", "bounced", "unsubscribed", "completed"}


async def sequence_id(api: httpx.AsyncClient, place: int = 0) -> str:
    return str((await api.get("/sequences")).json()["data"][place]["id"])


async def add(api: httpx.AsyncClient, sequence: str, *emails: str, **fields: Any) -> httpx.Response:
    body = {"sequence_id": sequence, "leads": [{"email": email} | fields for email in emails]}
    return await api.post("/leads", json=body)


async def everyone(api: httpx.AsyncClient, **query: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = (await api.get("/leads", params=query | ({"cursor": cursor} if cursor else {}))).json()
        found += page["data"]
        cursor = page["next_cursor"]
        if not cursor:
            return found


class TestAuthentication:
    async def test_a_missing_or_revoked_key_yields_401_with_code_unauthorized(
        self, service: Service, api: httpx.AsyncClient, control: httpx.AsyncClient
    ) -> None:
        for headers in ({}, {"Authorization": "Bearer nonsense"}, {"Authorization": "Basic " + "x" * 20}):
            async with httpx.AsyncClient(base_url=service.base_url) as stranger:
                response = await stranger.get("/leads", headers=headers)
                assert (response.status_code, response.json()["error"]["code"]) == (401, "unauthorized")
        await control.post("/keys", json={"workspace": "acme", "revoke": service.api_keys["acme"]})
        assert (await api.get("/sequences")).status_code == 401

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
            await add(api, sequence, "somebody@firm.example"),
            await api.get("/leads", params={"sequence_id": sequence}),
        ]
        assert [(one.status_code, one.json()["error"]["code"]) for one in answers] == [(404, "not_found")] * 4
        assert (await globex.get("/leads?limit=1")).json()["data"][0]["id"] == lead

    async def test_several_keys_of_one_workspace_see_the_same(
        self, service: Service, api: httpx.AsyncClient, control: httpx.AsyncClient
    ) -> None:
        second = (await control.post("/keys", json={"workspace": "acme"})).json()["key"]
        headers = {"Authorization": f"Bearer {second}"}
        async with httpx.AsyncClient(base_url=service.base_url, headers=headers) as other:
            assert (await other.get("/sequences")).json() == (await api.get("/sequences")).json()


class TestListingLeads:
    async def test_limit_is_1_to_100_default_25(self, api: httpx.AsyncClient) -> None:
        assert len((await api.get("/leads")).json()["data"]) == 25
        for limit in (1, 100):
            assert len((await api.get("/leads", params={"limit": limit})).json()["data"]) == limit
        for wrong in ("0", "101", "-1", "ten", ""):
            response = await api.get("/leads", params={"limit": wrong})
            assert (response.status_code, response.json()["error"]["field"]) == (400, "limit")

    async def test_lead_objects_contain_at_least_id_email_status(self, api: httpx.AsyncClient) -> None:
        leads = (await api.get("/leads?limit=100")).json()["data"]
        assert len(leads) == 100
        for lead in leads:
            assert lead["id"].startswith("ld_")
            assert "@" in lead["email"]
            assert lead["status"] in STATUSES

    async def test_to_get_the_next_page_the_client_passes_next_cursor_as_cursor(
        self, api: httpx.AsyncClient, service: Service
    ) -> None:
        leads = await everyone(api, limit=100)
        assert len(leads) == len({lead["id"] for lead in leads}) == 5_000
        created = [lead["created_at"] for lead in leads]
        assert created == sorted(created, reverse=True)

    async def test_newest_first_stays_right_while_leads_are_added(self, api: httpx.AsyncClient) -> None:
        before = [lead["id"] for lead in await everyone(api, limit=100)]
        sequence = await sequence_id(api)
        seen = list[str]()
        cursor = ""
        for page_number in range(5):
            await add(api, sequence, f"late{page_number}@firm.example")
            page = (
                await api.get("/leads", params={"limit": "10"} | ({"cursor": cursor} if cursor else {}))
            ).json()
            seen += [lead["id"] for lead in page["data"]]
            cursor = page["next_cursor"]
        assert seen[1:] == before[:49]
        assert (await api.get("/leads?limit=1")).json()["data"][0]["email"] == "late4@firm.example"

    async def test_no_page_misses_a_lead_when_the_last_one_seen_is_removed(
        self, api: httpx.AsyncClient
    ) -> None:
        before = [lead["id"] for lead in await everyone(api, limit=100)]
        first = (await api.get("/leads?limit=10")).json()
        await api.delete(f"/leads/{before[9]}")
        second = (await api.get("/leads", params={"limit": 10, "cursor": first["next_cursor"]})).json()
        assert [lead["id"] for lead in second["data"]] == before[10:20]

    async def test_status_and_sequence_id_filter(self, api: httpx.AsyncClient) -> None:
        sequence = await sequence_id(api)
        whole = await everyone(api, limit=100)
        for status in STATUSES:
            expected = [lead["id"] for lead in whole if lead["status"] == status]
            assert [lead["id"] for lead in await everyone(api, limit=100, status=status)] == expected
            assert expected
        both = [lead["id"] for lead in await everyone(api, limit=100, status="active", sequence_id=sequence)]
        assert both
        assert both == [
            lead["id"] for lead in whole if (lead["status"], lead["sequence_id"]) == ("active", sequence)
        ]

    async def test_an_unknown_status_or_cursor_is_400_and_names_the_field(
        self, api: httpx.AsyncClient
    ) -> None:
        for field, value in (
            ("status", "hot"),
            ("cursor", "cu_zzz"),
            ("cursor", "ld_00000000"),
            ("cursor", ""),
        ):
            response = await api.get("/leads", params={field: value})
            assert (response.status_code, response.json()["error"]["field"]) == (400, field)


class TestAddingLeads:
    async def test_adds_up_to_1000_leads_to_a_sequence(self, api: httpx.AsyncClient) -> None:
        sequence = await sequence_id(api)
        response = await add(api, sequence, *(f"n{number}@thousand.example" for number in range(1_000)))
        assert (response.status_code, response.json()) == (201, {"added": 1_000, "skipped": []})
        response = await add(api, sequence, *(f"m{number}@thousand.example" for number in range(1_001)))
        assert (response.status_code, response.json()["error"]["field"]) == (400, "leads")

    async def test_duplicates_and_blocklisted_addresses_are_skipped_and_reported(
        self, api: httpx.AsyncClient
    ) -> None:
        sequence = await sequence_id(api)
        await add(api, sequence, "known@firm.example")
        response = await add(
            api,
            sequence,
            "new@firm.example",
            "known@firm.example",
            "NEW@firm.example",
            "anyone@competitor.example",
            "legal@bigbank.example",
        )
        assert response.json() == {
            "added": 1,
            "skipped": [
                {"email": "known@firm.example", "reason": "duplicate"},
                {"email": "NEW@firm.example", "reason": "duplicate"},
                {"email": "anyone@competitor.example", "reason": "blocklisted"},
                {"email": "legal@bigbank.example", "reason": "blocklisted"},
            ],
        }

    async def test_the_same_address_may_be_in_two_sequences(self, api: httpx.AsyncClient) -> None:
        for place in (0, 1):
            response = await add(api, await sequence_id(api, place), "twice@firm.example")
            assert response.json()["added"] == 1

    async def test_names_company_and_any_custom_fields_are_kept(self, api: httpx.AsyncClient) -> None:
        custom = {"status": "vip", "tags": ["a", {"b": None}], "note": "\u0000 \u202e", "n": 1.5}
        await add(api, await sequence_id(api), "ada@firm.example", first_name="Ada", company="Firm", **custom)
        lead = (await api.get("/leads?limit=1")).json()["data"][0]
        assert (lead["email"], lead["first_name"], lead["last_name"]) == ("ada@firm.example", "Ada", None)
        assert lead["custom_fields"] == custom
        assert lead["status"] == "active"

    async def test_each_needs_email(self, api: httpx.AsyncClient) -> None:
        sequence = await sequence_id(api)
        body = {"sequence_id": sequence, "leads": [{"email": "ok@firm.example"}, {"first_name": "No"}]}
        response = await api.post("/leads", json=body)
        assert (response.status_code, response.json()["error"]["field"]) == (400, "leads[1].email")
        for email in ("", "no-at", "a@b", "a b@firm.example", 7, None, "x@" + "y" * 260 + ".example"):
            response = await api.post("/leads", json={"sequence_id": sequence, "leads": [{"email": email}]})
            assert (response.status_code, response.json()["error"]["field"]) == (400, "leads[0].email")
        newest = (await api.get("/leads?limit=1")).json()["data"][0]
        assert newest["email"] != "ok@firm.example"


class TestRemovingALead:
    async def test_removes_the_lead_from_all_sequences(self, api: httpx.AsyncClient) -> None:
        for place in (0, 1):
            await add(api, await sequence_id(api, place), "leaving@firm.example")
        lead = (await api.get("/leads?limit=1")).json()["data"][0]
        response = await api.delete(f"/leads/{lead['id']}")
        assert (response.status_code, response.json()) == (200, {"id": lead["id"], "removed": True})
        assert "leaving@firm.example" not in {
            one["email"] for one in (await api.get("/leads?limit=5")).json()["data"]
        }
        assert (await api.delete(f"/leads/{lead['id']}")).status_code == 404

    async def test_no_other_lead_ever_has_the_identifier_of_a_removed_one(
        self, api: httpx.AsyncClient
    ) -> None:
        sequence = await sequence_id(api)
        seen = set[str]()
        for number in range(3):
            await add(api, sequence, f"brief{number}@firm.example")
            lead = (await api.get("/leads?limit=1")).json()["data"][0]["id"]
            await api.delete(f"/leads/{lead}")
            seen.add(lead)
        assert len(seen) == 3

    async def test_the_leads_reply_history_is_kept(
        self, api: httpx.AsyncClient, control: httpx.AsyncClient
    ) -> None:
        await control.post("/events", json={"kind": "reply.interested", "reply": "Yes please"})
        stats = (await api.get("/stats")).json()
        interested = await everyone(api, status="interested", limit=100)
        replied = [one for one in interested if (await self._history(control, one["email"]))]
        assert len(replied) == 1
        await api.delete(f"/leads/{replied[0]['id']}")
        bodies = [entry["body"]["reply"] for entry in await self._history(control, replied[0]["email"])]
        assert bodies == ["Yes please", "Yes please"]
        assert (await api.get("/stats")).json() == stats

    async def _history(self, control: httpx.AsyncClient, email: str) -> list[dict[str, Any]]:
        return list((await control.get("/history", params={"email": email})).json()["data"])


class TestSequences:
    async def test_lists_the_sequences_with_their_status_and_step_count(self, api: httpx.AsyncClient) -> None:
        sequences = (await api.get("/sequences")).json()["data"]
        assert len(sequences) == 12
        assert all(one["id"].startswith("sq_") and one["steps"] > 1 for one in sequences)
        assert {one["status"] for one in sequences} == {"active", "paused"}
        assert [one["name"] for one in sequences].count("Webinar follow-up") == 2

    async def test_active_to_resume_and_paused_to_pause(self, api: httpx.AsyncClient) -> None:
        sequence = await sequence_id(api)
        for status in ("paused", "paused", "active", "active"):
            response = await api.patch(f"/sequences/{sequence}", json={"status": status})
            assert (response.status_code, response.json()["status"]) == (200, status)
            assert (await api.get("/sequences")).json()["data"][0]["status"] == status

    async def test_another_status_is_400_and_names_it(self, api: httpx.AsyncClient) -> None:
        sequence = await sequence_id(api)
        for body in ({"status": "archived"}, {}, {"status": None}, {"status": ["paused"]}):
            response = await api.patch(f"/sequences/{sequence}", json=body)
            assert (response.status_code, response.json()["error"]["field"]) == (400, "status")

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
    async def test_lists_connected_inboxes_with_health_score_daily_limit_and_status(
        self, api: httpx.AsyncClient
    ) -> None:
        inboxes = (await api.get("/inboxes")).json()["data"]
        assert len(inboxes) == 60
        assert len({one["email"].partition("@")[2] for one in inboxes}) == 9
        assert all(0 <= one["health_score"] <= 100 and one["daily_limit"] > 0 for one in inboxes)
        assert {one["status"] for one in inboxes} <= {"active", "warming", "resting"}

    async def test_health_is_updated_daily(self, api: httpx.AsyncClient, control: httpx.AsyncClient) -> None:
        before = (await api.get("/inboxes")).json()["data"]
        await control.post("/time", json={"advance": 86_400})
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
        await control.post("/time", json={"advance": 2 * 86_400})
        totals = [await self._totals(api, group_by=by) for by in ("sequence", "variant", "step", "inbox")]
        assert totals[0][0] > 30_000
        assert all(total == totals[0] for total in totals)

    async def test_ranges_add_up(self, api: httpx.AsyncClient, today: dt.date) -> None:
        month = today - dt.timedelta(days=29)
        half = today - dt.timedelta(days=11)
        whole = await self._totals(api, **{"from": str(month), "to": str(today)})
        parts = [
            await self._totals(api, **{"from": str(month), "to": str(half)}),
            await self._totals(api, **{"from": str(half + dt.timedelta(days=1)), "to": str(today)}),
        ]
        assert whole == [sum(pair) for pair in zip(*parts, strict=True)]

    async def test_when_both_from_and_to_are_omitted_the_range_is_the_last_30_days(
        self, api: httpx.AsyncClient, today: dt.date
    ) -> None:
        query = {"from": str(today - dt.timedelta(days=29)), "to": str(today)}
        assert (await api.get("/stats")).json() == (await api.get("/stats", params=query)).json()
        longer = {"from": str(today - dt.timedelta(days=34)), "to": str(today)}
        assert await self._totals(api) != await self._totals(api, **longer)

    async def test_group_by_defaults_to_sequence(self, api: httpx.AsyncClient) -> None:
        groups = (await api.get("/stats")).json()["data"]
        assert groups
        assert {row["id"] for row in groups} <= {
            one["id"] for one in (await api.get("/sequences")).json()["data"]
        }
        assert [row["group"] for row in (await api.get("/stats?group_by=variant")).json()["data"]] == [
            "A",
            "B",
        ]
        assert [row["group"] for row in (await api.get("/stats?group_by=step")).json()["data"]] == [
            "1",
            "2",
            "3",
            "4",
        ]

    async def test_dates_that_cannot_be_are_400_and_named(self, api: httpx.AsyncClient) -> None:
        wrong = [
            ({"from": "2026-02-30", "to": "2026-03-01"}, "from"),
            ({"from": "2026-02-01", "to": "tomorrow"}, "to"),
            ({"from": "2026-03-02", "to": "2026-03-01"}, "to"),
            ({"from": "2999-01-01"}, "to"),
            ({"group_by": "weather"}, "group_by"),
        ]
        for query, field in wrong:
            response = await api.get("/stats", params=query)
            assert (response.status_code, response.json()["error"]["field"]) == (400, field)

    async def test_one_end_alone_is_completed(self, api: httpx.AsyncClient, today: dt.date) -> None:
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


class TestLimits:
    async def test_10_requests_per_second_per_key_then_429_with_retry_after(
        self, copy: Callable[[], str]
    ) -> None:
        async with Service(database=copy(), speed=0) as service, client_of(service, "acme") as api:
            answers = [await api.get("/sequences") for _ in range(14)]
            async with client_of(service, "globex") as other:
                assert (await other.get("/sequences")).status_code == 200
        statuses = [answer.status_code for answer in answers]
        assert statuses[:10] == [200] * 10
        assert 429 in statuses
        refused = next(answer for answer in answers if answer.status_code == 429)
        assert refused.json()["error"]["code"] == "rate_limited"
        assert int(refused.headers["Retry-After"]) >= 1
