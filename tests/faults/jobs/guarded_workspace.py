"""A workspace with one sequence, and the jobs that guard it, by a clock that the test moves."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime

from bot import cards
from bot.commands.context import CommandContexts
from bot.guardrails import Guardrails
from bot.jobs.polls import GuardrailSampler
from shared.domain.card import Card
from shared.guardrails.rule import SHIPPED
from shared.records.audit import AuditEntry
from shared.records.guardrails import StoredRule, Switch
from shared.store import Store
from tests.kit.due import evaluate
from tests.kit.manual_clock import MINUTE, ManualClock, arrive, post_all
from tests.kit.scripted import ScriptedAccount

ACTS = "pause sequence when bounces > 5% of at least 50 sends in 24h"


@dataclass(kw_only=True)
class GuardedWorkspace:
    """A workspace with one sequence, and the jobs that guard it."""

    store: Store
    clock: ManualClock
    remote: ScriptedAccount
    contexts: CommandContexts
    watch: Guardrails
    sampler: GuardrailSampler
    sequence: str = ""

    @property
    def today(self) -> str:
        return datetime.fromtimestamp(self.clock.now, UTC).date().isoformat()

    def sent(self, count: int, *, name: str = "Q3 founders", inbox: str = "sam@mail.example") -> None:
        """So many sends of the day, by one sequence and from one inbox."""
        sends = {"sends": count, "replies": 0, "positive_replies": 0, "meetings": 0}
        self.remote.daily["sequence", self.today] = [{"group": name, **sends}]
        self.remote.daily["inbox", self.today] = [{"group": inbox, **sends}]

    async def bounce(
        self, count: int, *, name: str = "Q3 founders", first: int = 0, inbox: str = "sam@mail.example"
    ) -> None:
        for number in range(first, first + count):
            lead = {"email": f"lead{number}@acme.example"}
            event = {"event": "lead.bounced", "lead": lead, "sequence": name, "inbox": inbox}
            await arrive(self.store, json.dumps(event).encode())

    async def rule(self, sentence: str, *, name: str = "rule", by: str = "") -> None:
        rule = StoredRule(name=name, sentence=sentence, added_by=by, added_name="ann")
        await self.store.guardrails.add_rule("default", rule)
        for shipped in SHIPPED:
            switch = Switch(rule=shipped, by="", at=0.0)
            await self.store.guardrails.switch_off("default", switch)

    async def advance(self, seconds: float = 30.0) -> list[Card]:
        """Let time pass with the jobs at their work; returns what was said."""
        posted: list[Card] = []
        ends = self.clock.now + seconds
        while True:
            await self.sampler.sample()
            await evaluate(self.watch)
            posted += await self.posted_cards()
            if self.clock.now >= ends:
                return posted
            self.clock.now = min(ends, self.clock.now + 5 * MINUTE)

    async def posted_cards(self) -> list[Card]:
        posts = await post_all(self.store, self.clock)
        return [cards.read_note(post.note) for post in posts if post.note]

    async def audit(self) -> list[AuditEntry]:
        return list(await self.store.records.audit("default"))
