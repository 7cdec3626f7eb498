"""The checks of domains: one card per domain, told to who subscribed, updated until all is good again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import AsyncMock

import pytest

from bot import cards
from bot.commands.context import CommandContexts
from bot.delivery import Routes
from bot.jobs.standings import DomainChecks
from bot.worker import Kind
from shared import settings as shared_settings
from shared.api.models import Inbox
from shared.domain.card import Card
from shared.records import Subscription
from shared.settings.sections import Routing
from shared.store import Store
from shared.store.messages import Post
from tests.kit.dns_server import DnsServer, running
from tests.kit.due import claim_repaints, core_of, do_due, due_domain
from tests.kit.manual_clock import CHANNEL, HOUR, MINUTE, ManualClock, post_all, routes
from tests.kit.scripted import BASE
from tests.pure.domain_health.zones import DOMAIN, GOOD, Zones, txt

SECOND = f"{DOMAIN}. TXT {txt('v=spf1 include:_spf.mailer.example ~all')}"


@dataclass(kw_only=True)
class Checked:
    """A workspace, its DNS and the job."""

    store: Store
    clock: ManualClock
    zones: Zones
    server: DnsServer
    job: DomainChecks
    by: Routes

    @property
    def kind(self) -> Kind:
        return Kind(name="domain", one=self.job.check, parallel=1, renewed=True)

    async def look(self, *, after: float = 0.0) -> list[Post]:
        """What is posted after the next check."""
        self.clock.now += after
        await do_due(self.store, self.kind)
        await self.store.deliveries.route(self.by.decide)
        return await post_all(self.store, self.clock)


def card_of(post: Post) -> Card:
    return cards.card_of(post, cards.CardSettings())


@pytest.fixture
async def checked(
    store: Store, clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Checked]:
    # The next look comes after six hours, and neither earlier nor later.
    monkeypatch.setattr("random.uniform", lambda low, high: (low + high) / 2)
    # Resolvers are asked at once.
    monkeypatch.setattr("shared.domain_health.lookup.Pace.turn", AsyncMock())
    zones = Zones(GOOD)
    routing = Routing(quiet="22:00-06:00")
    async with (
        running(DnsServer(respond=zones.respond)) as first,
        running(DnsServer(respond=zones.respond)) as second,
    ):
        # What one resolver alone sees is told to nobody.
        resolvers = (f"127.0.0.1:{one.address[1]}" for one in (first, second))
        environ = {
            "OUTREACH_BASE_URL": BASE,
            "OUTREACH_API_KEY": "key",
            "OUTREACH_DNS_RESOLVERS": ",".join(resolvers),
            "XDG_STATE_HOME": str(tmp_path),
        }
        settings = shared_settings.load(environ=environ).model_copy(update={"routes": routing})
        job = DomainChecks(core_of(CommandContexts(settings=settings, store=store, clients={})))
        await store.subscribe("default", [Subscription(channel=CHANNEL, event="domain.dns")])
        await job.watch("default", [Inbox(email=f"sam@{DOMAIN}", health_score=90.0)])
        one = Checked(
            store=store, clock=clock, zones=zones, server=first, job=job, by=routes(quiet=routing.quiet)
        )
        assert await one.look() == []
        yield one


async def test_another_problem_joins_the_card(checked: Checked) -> None:
    checked.zones.add(SECOND)
    (card,) = await checked.look(after=7 * HOUR)
    checked.zones.remove(f"_dmarc.{DOMAIN}", "TXT")
    (note,) = await checked.look(after=31 * MINUTE)
    assert (note.kind, note.alert_id) == ("dns", card.alert_id)
    assert "DMARC" in " ".join(card_of(note).text)
    (messages,) = await claim_repaints(checked.store, limit=10)
    painted = card_of(messages[0])
    assert f"Restore the TXT record at _dmarc.{DOMAIN}" in " ".join(painted.text)
    assert f"v=DMARC1; p=reject; rua=mailto:d@{DOMAIN}" in painted.code
    assert "SPF" in " ".join(painted.text)


def change_dmarc(checked: Checked, policy: str) -> None:
    checked.zones.remove(f"_dmarc.{DOMAIN}", "TXT")
    checked.zones.add(f"_dmarc.{DOMAIN}. TXT {txt(f'v=DMARC1; p={policy}')}")


async def test_of_a_change_that_breaks_nothing_only_who_subscribed_is_told(checked: Checked) -> None:
    change_dmarc(checked, "none")
    (post,) = await checked.look(after=7 * HOUR)
    assert card_of(post).facts[0].value == "v=DMARC1; p=none"
    await checked.store.unsubscribe("default", [Subscription(channel=CHANNEL, event="domain.dns")])
    change_dmarc(checked, "quarantine")
    assert await checked.look(after=7 * HOUR) == []


async def test_the_next_look_is_six_hours_later_and_the_one_at_a_problem_half_an_hour(
    checked: Checked,
) -> None:
    count = len(checked.server.asked)
    await checked.look(after=5.9 * HOUR)
    assert len(checked.server.asked) == count
    checked.zones.add(SECOND)
    await checked.look(after=0.2 * HOUR)
    count = len(checked.server.asked)
    await checked.look(after=29 * MINUTE)
    assert len(checked.server.asked) == count
    await checked.look(after=2 * MINUTE)
    assert len(checked.server.asked) > count


@pytest.mark.parametrize(
    "address",
    ["sam", "sam@", "sam@localhost", "sam@a b.example", "sam@x.example.\n", "sam@" + "a" * 64 + ".example"],
)
async def test_what_is_no_domain_is_never_asked_for(checked: Checked, address: str) -> None:
    await checked.job.watch("default", [Inbox(email=address)])
    assert await due_domain(checked.store) is None
