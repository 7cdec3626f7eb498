"""Counting interested leads page by page, when nobody else needs the budget."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, cast

import pytest

from shared.api import OutreachClient
from shared.api.models import Lead, Page
from shared.api.pace import BudgetState, Priority
from shared.domain.snapshot import InterestedCount, Reading, Snapshot
from shared.records.replies import InterestedReply
from tests.tui.accounts import NOW, account, board_of
from tui.feed import interested_counter
from tui.feed.interested_counter import InterestedCounter


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interested_counter, "BETWEEN", 0)


def a_lead(number: int) -> Lead:
    return Lead(id=f"ld_{number}", email=f"P{number}@firm.example", status="interested")


class FakeClient:
    """Has so many interested leads, in pages of 100, and a budget whose states come one after another."""

    def __init__(self, number: int) -> None:
        self.leads = [a_lead(n) for n in range(number)]
        self.states = [BudgetState(rate=9.5)]
        self.pages = 0

    @property
    def budget(self) -> BudgetState:
        return self.states.pop(0) if len(self.states) > 1 else self.states[0]

    async def iter_pages(self, *, status: str, priority: Priority, **_: Any) -> AsyncIterator[Page[Lead]]:
        assert (status, priority) == ("interested", Priority.BULK)
        for start in range(0, len(self.leads), 100):
            self.pages += 1
            yield Page(items=tuple(self.leads[start : start + 100]), next_cursor="more")


class Counted:
    """A counter and what it has told."""

    def __init__(self, client: FakeClient) -> None:
        self.snapshot = account(interested=self.first_page(client))
        self.told: list[InterestedCount | None] = []
        self.counter = InterestedCounter(
            cast("OutreachClient", client), snapshot=lambda: self.snapshot, tell=self.told.append
        )

    @staticmethod
    def first_page(client: FakeClient) -> Reading[tuple[Lead, ...]]:
        return Reading(value=tuple(client.leads[:50]), read_at=NOW, more=len(client.leads) > 50)


async def test_a_longer_list_is_counted_to_its_end_and_not_again_soon() -> None:
    client = FakeClient(312)
    counted = Counted(client)
    await counted.counter.look()
    await counted.counter.look()
    assert (counted.told, client.pages) == ([InterestedCount(total=312)], 4)


async def test_a_lead_that_is_new_on_the_first_page_counts_at_once() -> None:
    client = FakeClient(312)
    counted = Counted(client)
    await counted.counter.look()
    client.leads.insert(0, a_lead(999))
    counted.snapshot = replace(counted.snapshot, interested=counted.first_page(client))
    await counted.counter.look()
    assert (counted.told[-1], client.pages) == (InterestedCount(total=313), 4)


async def test_a_list_of_one_page_is_not_counted() -> None:
    client = FakeClient(50)
    counted = Counted(client)
    await counted.counter.look()
    assert (counted.told, client.pages) == ([None], 0)


async def test_a_list_without_end_stays_uncounted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interested_counter, "MOST_PAGES", 3)
    client = FakeClient(1_000)
    counted = Counted(client)
    await counted.counter.look()
    await counted.counter.look()
    assert (counted.told, client.pages) == ([None], 4)


async def test_it_waits_while_others_use_the_budget() -> None:
    client = FakeClient(60)
    client.states = [
        BudgetState(rate=9.5, used_last_second=8),
        BudgetState(rate=9.5, waiting=1),
        BudgetState(rate=9.5),
    ]
    await Counted(client).counter.look()
    assert client.states == [BudgetState(rate=9.5)]


async def test_an_older_lead_whose_reply_is_recorded_is_listed_first() -> None:
    client = FakeClient(312)
    counted = Counted(client)
    reply = InterestedReply(email="p299@firm.example", received_at=NOW, sequence="Q3", claimed_by="ann")
    counted.snapshot = replace(counted.snapshot, replies=(reply,))
    await counted.counter.look()
    (count,) = counted.told
    board = board_of(replace(counted.snapshot, interested_count=count))
    assert (board.interested[0].lead.id, board.interested[0].reply) == ("ld_299", reply)
    assert len(board.interested) == 51
    assert board.stamps["interested"].counted(51) == "312 (51 listed)"


def test_a_page_that_was_not_counted_says_so() -> None:
    snapshot: Snapshot = account(interested=Counted.first_page(FakeClient(312)))
    assert board_of(snapshot).stamps["interested"].counted(50) == "50+"
