"""Leads as the document describes them: listed, added, removed."""

from __future__ import annotations

import httpx

from sandbox.service import Service
from tests.sandbox.service.conftest import add, everyone, sequence_id

STATUSES = {"active", "replied", "interested", "bounced", "unsubscribed", "completed"}


class TestListingLeads:
    async def test_limit_is_1_to_100_default_25(self, api: httpx.AsyncClient) -> None:
        assert len((await api.get("/leads")).json()["data"]) == 25
        for limit in (1, 100):
            assert len((await api.get("/leads", params={"limit": limit})).json()["data"]) == limit

    async def test_to_get_the_next_page_the_client_passes_next_cursor_as_cursor(
        self, api: httpx.AsyncClient, service: Service
    ) -> None:
        leads = await everyone(api, limit=100)
        assert len(leads) == len({lead["id"] for lead in leads}) > 5_000
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
        # The first page has the lead that was just added; a cursor by offset would repeat one on each page after that.
        assert seen[1:] == before[:49]
        assert (await api.get("/leads?limit=1")).json()["data"][0]["email"] == "late4@firm.example"

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


class TestAddingLeads:
    async def test_adds_up_to_1000_leads_to_a_sequence(self, api: httpx.AsyncClient) -> None:
        sequence = await sequence_id(api)
        # The document: up to 1,000 leads.
        response = await add(api, sequence, *(f"n{number}@thousand.example" for number in range(1_000)))
        assert (response.status_code, response.json()) == (201, {"added": 1_000, "skipped": []})

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

    async def test_names_company_and_any_custom_fields_are_kept(self, api: httpx.AsyncClient) -> None:
        # The document: any further fields. One has the name of a lead's own field, and must not replace it.
        custom = {"status": "vip", "tags": ["a", {"b": None}], "note": "\u0000 \u202e", "n": 1.5}
        await add(api, await sequence_id(api), "ada@firm.example", first_name="Ada", company="Firm", **custom)
        lead = (await api.get("/leads?limit=1")).json()["data"][0]
        assert (lead["email"], lead["first_name"], lead["last_name"]) == ("ada@firm.example", "Ada", None)
        assert lead["custom_fields"] == custom
        assert lead["status"] == "active"


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
