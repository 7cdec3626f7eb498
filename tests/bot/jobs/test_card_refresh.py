"""Open cards follow what is changed elsewhere, all of them, and cost nothing while nothing is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa

from bot.alerts import paused_domain
from bot.alerts.model import Alert
from bot.jobs.card_refresh import CardRefresher
from bot.runtime.wakeup import Wakeup
from shared.api.events import Event
from shared.api.models import Inbox, Sequence, StatsRow
from shared.domain.card import Card
from shared.domain.health import Thresholds
from shared.domain.wall_clock import DAY, moment
from shared.domain_health.report import Action, Advice, Check, CheckReport, Code, DomainReport, Value
from shared.records.audit import Actor
from shared.store import Store, open_store
from shared.store.alerts.subjects import AT_ONCE
from shared.store.db.engine import Transaction
from shared.store.db.schema import alerts, deliveries
from shared.store.records.domains import Checked
from tests.bot.due import due_domain
from tests.bot.harness import interested
from tests.bot.manual_clock import HOUR, ManualClock, arrive
from tests.growth import database_work


async def nothing(_workspace: str, _at: datetime) -> Mapping[str, tuple[float | None, float | None]]:
    return {}


def refresher_of(store: Store) -> tuple[CardRefresher, list[Sequence], list[str]]:
    """A refresher, the sequences that its service knows, and what it asked for."""
    known: list[Sequence] = []
    planned: list[str] = []

    async def list_sequences() -> tuple[Sequence, ...]:
        return tuple(known)

    contexts: Any = SimpleNamespace(clients={"default": SimpleNamespace(list_sequences=list_sequences)})
    refresher = CardRefresher(
        store, contexts, yesterday=nothing, soon=Wakeup(), planned=lambda: planned.append("repaint")
    )
    return refresher, known, planned


async def test_a_card_is_written_when_its_sequence_changes_and_not_at_each_look(
    store: Store, alert: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (subject,) = await store.subjects.sequences("default")
    refresher, known, planned = refresher_of(store)
    writes, write = list[object](), store.database.write

    async def counted(work: Any) -> Any:
        writes.append(work)
        return await write(work)

    monkeypatch.setattr(store.database, "write", counted)
    for status, expected in (("active", 0), ("paused", 1), ("paused", 1), ("active", 2), ("active", 2)):
        known[:] = [Sequence(id=subject.name, name=subject.name, status=status)]
        await refresher.refresh("default")
        assert (len(writes), len(planned)) == (expected, expected), status


def refresher_of_domains(store: Store, *, sends: int | None) -> tuple[CardRefresher, list[tuple[str, str]]]:
    """A refresher of cards about mail.example, and the days whose counts it asked for."""
    asked: list[tuple[str, str]] = []

    async def stats(*, start: date, end: date, **_: Any) -> tuple[StatsRow, ...]:
        asked.append((str(start), str(end)))
        return (
            StatsRow(group="s@mail.example", sends=sends),
            StatsRow(group="t@other.example", sends=900),
        )

    async def list_inboxes() -> tuple[Inbox, ...]:
        return (Inbox(email="s@mail.example", status="resting", health_score=40),)

    settings = SimpleNamespace(
        dns=SimpleNamespace(enabled=True),
        workspace=lambda _: SimpleNamespace(thresholds=Thresholds()),
    )
    client = SimpleNamespace(list_inboxes=list_inboxes, stats=stats)
    contexts: Any = SimpleNamespace(clients={"default": client}, settings=settings)
    refresher = CardRefresher(store, contexts, yesterday=nothing, soon=Wakeup(), planned=lambda: None)
    return refresher, asked


async def test_sends_that_the_service_does_not_tell_are_asked_for_once_an_hour(
    store: Store, clock: ManualClock
) -> None:
    clock.now = 20_000 * DAY
    await arrive(store, b'{"event": "sequence.completed", "lead": {"email": "first@acme.example"}}')
    clock.now += 3 * DAY
    await arrive(store, b'{"event": "domain.paused", "domain": "mail.example", "inbox": "s@mail.example"}')
    refresher, asked = refresher_of_domains(store, sends=None)
    for _ in range(3):
        await refresher.refresh("default")
        clock.now += 10
    assert len(asked) == 1
    clock.now += HOUR
    await refresher.refresh("default")
    assert len(asked) == 2


@pytest.mark.parametrize(("hours", "bounced_first"), [(6, 0), (31, 2)])
async def test_a_domains_bounce_rate_is_of_days_whose_bounces_and_sends_are_known(
    store: Store, clock: ManualClock, hours: int, bounced_first: int
) -> None:
    """A bot that is six hours old knows the bounces of no whole day; after 31 hours, those of today."""
    clock.now = 20_000 * DAY + 8 * HOUR
    paused_at = clock.now
    clock.now -= hours * HOUR
    await arrive(store, b'{"event": "sequence.completed", "lead": {"email": "first@acme.example"}}')
    await arrive(store, *(bounce(n) for n in range(bounced_first)))
    clock.now = paused_at - HOUR
    await arrive(store, *(bounce(n) for n in range(10, 15)))
    clock.now = paused_at
    await arrive(
        store,
        b'{"event": "domain.paused", "domain": "mail.example", "reason": "bounce_rate", "rate": 0.08, "inbox": "s@mail.example"}',
    )
    refresher, asked = refresher_of_domains(store, sends=200)
    await refresher.refresh("default")
    (subject,) = await store.subjects.paused_domains("default")
    standing = json.loads(subject.standing)
    alert = Alert(
        id="a", workspace="default", received_at=moment(paused_at),
        event=Event(kind="domain.paused", reason="bounce_rate"), standing=standing,
    )  # fmt: skip
    shown = {fact.label: fact.value for fact in paused_domain.card(alert).facts}
    if hours == 6:
        assert asked == []
        assert shown["Bounce rate"] == "unknown: only 6 h of bounces are known"
        assert shown["Last 6 h"] == "5 bounces, 0 opt-outs; earlier ones aren't known"
    else:
        today = str(moment(paused_at).date())
        assert asked == [(today, today)]
        assert shown["Bounce rate"].startswith("2.5% ± 3.2 (5 of 200 sends), ")
        assert shown["Last 31 h"] == "7 bounces, 0 opt-outs; earlier ones aren't known"


def checked_report(clock: ManualClock, *checks: CheckReport) -> DomainReport:
    """What a check of mail.example just found."""
    at = moment(clock.now)
    good = (
        CheckReport(check=check, value=Value.GOOD, code=Code.FINE, checked_at=at, since=at, confirmed=True)
        for check in (Check.MX, Check.SPF, Check.DMARC)
    )
    own = {one.check: replace(one, checked_at=at, since=at) for one in checks}
    return DomainReport(domain="mail.example", checks=tuple(own.get(one.check, one) for one in good))


async def test_the_card_of_a_paused_domain_names_the_record_that_is_broken(
    store: Store, clock: ManualClock
) -> None:
    clock.now = 20_000 * DAY + 8 * HOUR
    await arrive(store, b'{"event": "domain.paused", "domain": "mail.example", "inbox": "s@mail.example"}')
    refresher, _ = refresher_of_domains(store, sends=200)
    missing = CheckReport(
        check=Check.DMARC,
        value=Value.PROBLEM,
        code=Code.MISSING,
        advice=Advice(action=Action.ADD, name="_dmarc.mail.example", value="v=DMARC1; p=none"),
        confirmed=True,
    )
    silent = CheckReport(check=Check.SPF, value=Value.UNKNOWN, code=Code.TIMEOUT)

    async def card() -> Card:
        await refresher.refresh("default")
        (subject,) = await store.subjects.paused_domains("default")
        event = Event(kind="domain.paused", domain="mail.example")
        return paused_domain.card(
            Alert(
                id="a",
                workspace="default",
                received_at=subject.received,
                event=event,
                standing=json.loads(subject.standing),
            )
        )

    async def found(*checks: CheckReport) -> tuple[Card, dict[str, str]]:
        await store.domains.watch("default", {"mail.example": 40.0})
        due = await due_domain(store)
        assert due is not None
        checked = Checked(report=checked_report(clock, *checks), due_at=clock.now)
        assert await store.domains.finish(due, checked)
        drawn = await card()
        return drawn, {fact.label: fact.value for fact in drawn.facts}

    assert {fact.label: fact.value for fact in (await card()).facts}["DNS"] == "unknown"
    clock.now -= HOUR
    assert (await found())[1]["DNS"] == "unknown"  # good before the pause says nothing of now
    clock.now += HOUR
    drawn, shown = await found(missing)
    assert shown["DNS"] == "DMARC: no record"
    assert shown["DNS broken since"] == "4 Oct 08:00 UTC"
    assert drawn.text[1] == "Next: Add this TXT record at _dmarc.mail.example: v=DMARC1; p=none"
    assert drawn.text[2].startswith("Then: check its inboxes")
    assert (await found(silent))[1]["DNS"] == "unknown"
    drawn, shown = await found()
    assert shown["DNS"] == "good"
    assert drawn.text[1].startswith("Next: check its inboxes")
    clock.now += 2 * DAY  # nobody has checked since
    assert {fact.label: fact.value for fact in (await card()).facts}["DNS"] == "unknown"


@pytest.mark.parametrize(
    ("reason", "counts", "advice"),
    [
        ("bounce_rate", {"lead.unsubscribed": 9}, "verify the addresses"),
        (None, {"lead.unsubscribed": 1}, "check its inboxes"),
        (None, {"lead.unsubscribed": 9, "lead.bounced": 1}, "review what its sequences say"),
        (None, {"lead.bounced": 1}, "check its inboxes"),
        (None, {"lead.bounced": 9, "lead.unsubscribed": 1}, "verify the addresses"),
        ("spam complaints", {"lead.bounced": 9}, "review what its sequences say"),
    ],
)
def test_advice_follows_the_services_reason_or_evidence(
    reason: str | None, counts: dict[str, int], advice: str
) -> None:
    alert = Alert(
        id="a", workspace="default", received_at=moment(0.0),
        event=Event(kind="domain.paused", reason=reason), standing={"counts": counts},
    )  # fmt: skip
    assert f"Next: {advice}" in paused_domain.card(alert).text[1]


def bounce(number: int) -> bytes:
    event = {
        "event": "lead.bounced",
        "lead": {"email": f"lead{number}@acme.example"},
        "sequence": "Q3",
        "inbox": "s@mail.example",
    }
    return json.dumps(event).encode()


CARDS = 1_100


async def test_every_open_card_follows_its_sequence_however_many_and_old(
    url: sa.URL, clock: ManualClock
) -> None:
    async with open_store(url, clock=clock) as store:
        await arrive(store, *(interested(number, sequence="Q3") for number in range(3)))
        one, done, other = await store.database.read(
            lambda tx: tx.scalars(sa.select(alerts.c.id).order_by(alerts.c.delivery_id)).all()
        )
        await store.database.write(lambda tx: copy_alert(tx, one, CARDS, days=25))
        await store.alerts.handle(done, Actor(name="ann", id="U1"))
        await store.database.write(
            lambda tx: tx.execute(sa.update(alerts).where(alerts.c.id == other).values(sequence="Q4"))
        )
        refresher, known, _ = refresher_of(store)
        turned = sa.select(sa.func.count()).where(alerts.c.standing != "")
        for status, expected in (("paused", CARDS + 1), ("active", 0)):
            known[:] = [
                Sequence(id="sq_1", name="q3", status=status),
                Sequence(id="sq_2", name="Q4", status="active"),
            ]
            with database_work(store.database.engine) as work:
                await refresher.refresh("default")
            assert work.most_written <= 2 * AT_ONCE, "the intake waits for one portion"
            assert await store.database.read(lambda tx: tx.scalar(turned)) == expected
            with database_work(store.database.engine) as work:
                await refresher.refresh("default")
            assert work.written == 0, "nothing has changed"
            assert work.statements <= 4, "two, each with a BEGIN on SQLite"


def copy_alert(tx: Transaction, alert: str, count: int, *, days: int) -> None:
    """As many alerts like this one, received over so many days before it."""
    number = sa.select(alerts.c.delivery_id).where(alerts.c.id == alert).scalar_subquery()
    delivery = tx.execute(sa.select(deliveries).where(deliveries.c.id == number)).one()._asdict()
    row = tx.execute(sa.select(alerts).where(alerts.c.id == alert)).one()._asdict()
    at = {10_000 + n: row["received_at"] - n * days * 86_400 / count for n in range(count)}
    copies = [{**delivery, "id": n, "dkey": b"%d" % n, "received_at": at[n]} for n in at]
    tx.execute(sa.insert(deliveries), copies)
    copies = [{**row, "id": f"{alert}_{n}", "delivery_id": n, "received_at": at[n]} for n in at]
    tx.execute(sa.insert(alerts), copies)


@pytest.mark.parametrize(("known", "shown"), [(60, ["Last 1 min"]), (7200, ["In the last hour", "Last 2 h"])])
def test_a_domain_counts_no_hour_of_which_a_minute_is_known(known: int, shown: list[str]) -> None:
    counts = {"lead.bounced": 20}
    alert = Alert(
        id="a", workspace="default", received_at=moment(0.0), event=Event(kind="domain.paused"),
        standing={"counts": counts, "lately": counts, "window": 3600, "known": known},
    )  # fmt: skip
    labels = [fact.label for fact in paused_domain.card(alert).facts]
    assert [one for one in labels if "ast" in one] == shown
