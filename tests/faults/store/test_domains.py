"""The domains whose DNS is checked: due, leased, written and told, on both engines."""

from __future__ import annotations

import pytest

from shared.domain.wall_clock import DAY, HOUR, moment
from shared.domain_health.report import (
    CheckReport,
    DomainReport,
    Followed,
)
from shared.store import Store
from shared.store.domains import DueDomain, News
from shared.store.messages import PlannedPost
from shared.store.post_kinds import DNS
from tests.kit.due import due_domain
from tests.kit.manual_clock import ManualClock, arrive, routes

LEASE = 60.0
DOMAIN = "mail.example"
NEWS = News(
    body=b'{"event": "domain.dns", "domain": "mail.example"}',
    standing="{}",
    note=PlannedPost(dedupe="dns", channel="", kind=DNS),
)


async def due(store: Store) -> DueDomain:
    found = await due_domain(store)
    assert found is not None
    return found


def broken(clock: ManualClock) -> DomainReport:
    spf = CheckReport(check="spf", value="problem", code="several", checked_at=moment(clock.now))
    return DomainReport(domain=DOMAIN, checks=(spf,))


async def check(store: Store, clock: ManualClock, report: DomainReport) -> bool:
    claimed = await due(store)
    return await store.domains.finish(claimed, Followed(report=report), after=6 * HOUR)


async def test_what_the_bot_found_out_itself_is_no_delivery(store: Store, clock: ManualClock) -> None:
    await store.domains.watch("acme", {DOMAIN: 90.0})
    claimed = await due(store)
    await store.domains.finish(claimed, Followed(report=broken(clock)), after=0.0, news=NEWS)
    await store.deliveries.route(routes().decide)
    assert (await store.summary("acme")).last_delivery_at is None


@pytest.mark.parametrize(
    ("scores", "is_due"), [((90, 85, 80), True), ((90, 81), False), ((50, 90, 81), False)]
)
async def test_a_domain_is_due_at_once_when_its_health_falls(
    store: Store, clock: ManualClock, scores: tuple[float, ...], *, is_due: bool
) -> None:
    await store.domains.watch("acme", {DOMAIN: scores[0]})
    await check(store, clock, DomainReport(domain=DOMAIN))
    for score in scores[1:]:
        clock.now += 300
        await store.domains.watch("acme", {DOMAIN: score})
    assert (await due_domain(store) is not None) == is_due


async def test_domains_that_nobody_sends_from_are_forgotten(store: Store, clock: ManualClock) -> None:
    await store.domains.watch("acme", {DOMAIN: 90.0, "old.example": 90.0})
    clock.now += 6 * DAY
    await store.domains.watch("acme", {DOMAIN: 90.0})
    clock.now += 2 * DAY
    await store.retention.prune(bodies_after=DAY, hashes_after=DAY)
    assert (await due(store)).domain == DOMAIN
    # After the lease the other domain would be next, were it still there.
    clock.now += LEASE + 1
    assert (await due(store)).domain == DOMAIN


async def test_a_paused_domain_is_checked_before_all_that_are_due(store: Store) -> None:
    await store.domains.watch("acme", {"a.example": 90.0, DOMAIN: 90.0})
    await arrive(store, b'{"event": "domain.paused", "domain": "mail.example"}')
    assert (await due(store)).domain == DOMAIN
