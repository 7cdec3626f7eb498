"""The checks on the sandbox's zones, which are built without knowing them: good at first, and each way in which they break."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import httpx
import pytest

from sandbox.service import Service
from sandbox.service.dns.resolvers import Kind
from sandbox.service.dns.zones import CHANGES
from shared.domain_health import lookup
from shared.domain_health.lookup import Looked, Lookup, Pace, resolvers_of
from shared.domain_health.report import Check, Code, DomainReport, Value
from tests.sandbox.service.conftest import MONDAY, SMALL

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
DOMAIN = "useacme.example"
PROBLEMS: dict[str, tuple[Check, Code]] = {
    "no_mx": (Check.MX, Code.MISSING),
    "no_spf": (Check.SPF, Code.MISSING),
    "second_spf": (Check.SPF, Code.SEVERAL),
    "invalid_spf": (Check.SPF, Code.SYNTAX),
    "too_many_lookups": (Check.SPF, Code.TOO_MANY_LOOKUPS),
    "void_lookups": (Check.SPF, Code.TOO_MANY_VOIDS),
    "include_loop": (Check.SPF, Code.LOOP),
    "no_dmarc": (Check.DMARC, Code.MISSING),
    "second_dmarc": (Check.DMARC, Code.SEVERAL),
    "no_dkim": (Check.DKIM, Code.KEY_GONE),
    "weak_dkim": (Check.DKIM, Code.KEY_WEAK),
    "revoked_dkim": (Check.DKIM, Code.KEY_REVOKED),
    "gone": (Check.MX, Code.NO_DOMAIN),
}
CHANGED = {"dmarc_none": Check.DMARC, "new_dkim": Check.DKIM}
"""Good records in place of good ones."""


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "TRY_SECONDS", 0.5)
    monkeypatch.setattr(lookup, "TCP_SECONDS", 1.0)


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    async with Service(scenario=SMALL, speed=0, now=MONDAY) as service:
        yield service


async def look(service: Service, before: DomainReport | None = None) -> Looked:
    looking = Lookup(resolvers_of(service.dns_resolvers), pace=Pace(100_000.0))
    return await looking.look(DOMAIN, before, NOON + timedelta(hours=6) if before else NOON)


async def control(service: Service, path: str, body: Any) -> None:
    async with httpx.AsyncClient(verify=False, base_url=f"{service.control_url}/dns") as client:
        (await client.post(path, json=body)).raise_for_status()


def test_every_change_of_the_sandbox_has_its_verdict_here() -> None:
    assert {*PROBLEMS, *CHANGED} == {*CHANGES}


async def test_the_sandbox_is_good_at_first(service: Service) -> None:
    report = (await look(service)).followed.report
    assert {one.value for one in report.checks} == {Value.GOOD}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_of_the_zone_is_told_as_what_it_is(service: Service, change: str) -> None:
    before = (await look(service)).followed.report
    await control(service, "/changes", {"domain": DOMAIN, "change": change})
    followed = (await look(service, before)).followed
    told = {(one.check, one.after.code) for one in followed.changes}
    if change in PROBLEMS:
        assert PROBLEMS[change] in told
    else:
        assert {check for check, _code in told} == {CHANGED[change]}
        assert not followed.report.problems


@pytest.mark.parametrize("kind", [one for one in get_args(Kind) if one != "lie"])
async def test_a_fault_of_both_resolvers_alerts_nobody(service: Service, kind: str) -> None:
    before = (await look(service)).followed.report
    await control(service, "/faults", {"kind": kind})
    followed = (await look(service, before)).followed
    assert list(followed.changes) == []
    assert {one.value for one in followed.report.checks} == {Value.UNKNOWN}
    assert all(one.last_good for one in followed.report.checks)


async def test_a_lie_of_one_resolver_alerts_nobody(service: Service) -> None:
    before = (await look(service)).followed.report
    await control(service, "/faults", {"kind": "lie", "resolver": 1})
    followed = (await look(service, before)).followed
    assert list(followed.changes) == []
    assert followed.report.problems == []
