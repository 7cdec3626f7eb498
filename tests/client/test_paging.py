"""Pages that end, whatever the service does with its cursor, and no lead twice."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api import Lead, OutreachClient, Page, decode
from tests.client.scripted_server import Answer, RecordedRequest, ScriptedServer


def lead_pages(count: int, *, last: dict[str, Any]) -> Any:
    """A service with so many leads, whose last page ends in its own way."""

    def play(asked: RecordedRequest) -> Answer:
        start, size = int(asked.query.get("cursor", "0")), int(asked.query["limit"])
        items = [
            {"id": f"ld_{number}", "email": f"{number}@x.io"}
            for number in range(start, min(start + size, count))
        ]
        end = {"next_cursor": str(start + size)} if start + size < count else last
        return Answer(body={"data": items, **end})

    return play


@pytest.mark.parametrize(
    # A cursor that comes again, as the second last one, would be followed for ever.
    "last",
    [{"next_cursor": None}, {}, {"next_cursor": ""}, {"next_cursor": "200"}, {"next_cursor": False}],
)
async def test_a_null_absent_empty_or_repeated_cursor_ends_the_list(
    client: OutreachClient, server: ScriptedServer, last: dict[str, Any]
) -> None:
    server.play = lead_pages(250, last=last)
    leads = [lead.id async for lead in client.iter_leads()]
    assert leads == [f"ld_{number}" for number in range(250)]
    assert len(server.asked) == 3


async def test_a_reading_is_taken_up_again_at_a_cursor(
    client: OutreachClient, server: ScriptedServer
) -> None:
    server.play = lead_pages(25, last={"next_cursor": None})
    first = await anext(client.iter_pages(page_size=10))
    rest = [lead.id async for lead in client.iter_leads(page_size=10, cursor=first.next_cursor)]
    assert [lead.id for lead in first.items] + rest == [f"ld_{number}" for number in range(25)]


def client_that_reads(fetch: Any) -> OutreachClient:
    client = OutreachClient(base_url="http://127.0.0.1:9/v1", api_key="key")
    client.list_leads = fetch  # type: ignore[method-assign] # instead of the service
    return client


@given(st.lists(st.integers(min_value=0, max_value=4), min_size=1, max_size=30))
async def test_no_lead_comes_twice_when_the_list_shifts_under_the_reader(shifts: list[int]) -> None:
    offset = 0

    async def fetch(*, cursor: str | None, limit: int) -> Page[Lead]:
        nonlocal offset
        start = int(cursor or 0)
        # Leads that are added in front push others to later pages: the reader meets some of them again.
        offset += shifts[start // 5 % len(shifts)] if cursor else 0
        numbers = range(start - offset, start - offset + 5)
        items = tuple(Lead(id=str(number)) for number in numbers if number < 60)
        return Page(items=items, next_cursor=str(start + 5))

    seen = [lead.id async for lead in client_that_reads(fetch).iter_leads()]
    assert len(seen) == len(set(seen))
    assert {str(number) for number in range(60)} <= set(seen)


async def test_a_service_that_never_ends_its_list_is_left() -> None:
    async def fetch(*, cursor: str | None, limit: int) -> Page[Lead]:
        return Page(items=(Lead(id="ld_1"),), next_cursor=str(int(cursor or 0) + 1))

    client = client_that_reads(fetch)
    assert [len(page.items) async for page in client.iter_pages()] == [1] + [0] * 10


@pytest.mark.parametrize(
    ("body", "cursor"),
    [
        ({"data": [], "nextCursor": "c"}, "c"),
        ({"data": [], "paging": {"next": "c"}}, "c"),
        ({"data": [], "meta": {"pagination": {"next_cursor": "c"}}}, "c"),
        ({"data": [], "next_cursor": 40}, "40"),
        ({"data": [], "next_cursor": "c", "nextCursor": "x", "cursor": "x", "paging": {"next": "x"}}, "c"),
        ({"data": [], "next_cursor": None, "nextCursor": "x"}, None),
        ({"data": [], "next_cursor": ""}, None),
        ({"data": [], "page_info": {"endCursor": "c"}}, "c"),
        ([], None),
    ],
)
def test_the_cursor_is_found_wherever_it_is(body: Any, cursor: str | None) -> None:
    assert decode.next_cursor(body) == cursor


def test_a_fields_line_tells_where_the_cursor_is() -> None:
    assert decode.next_cursor({"odd": {"place": "c"}}, fields={"next_cursor": "odd.place"}) == "c"
