"""A workspace that guardrails guard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.commands.context import CommandContexts
from bot.guardrails import Guardrails
from bot.jobs.polls import GuardrailSampler
from shared import settings as shared_settings
from shared.domain.wall_clock import DAY
from shared.store import Store
from tests.faults.jobs.guarded_workspace import GuardedWorkspace
from tests.kit.manual_clock import CHANNEL, ManualClock, arrive
from tests.kit.scripted import BASE, ScriptedAccount


@pytest.fixture
async def guarded(
    store: Store, clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[GuardedWorkspace]:
    remote = ScriptedAccount(now=clock)
    environ = {
        "OUTREACH_BASE_URL": BASE,
        "OUTREACH_API_KEY": "key",
        "OUTREACH_ALERT_CHANNEL": CHANNEL,
        "OUTREACH_DATABASE_URL": f"sqlite:///{tmp_path}/bot.db",
        "XDG_STATE_HOME": str(tmp_path),
    }
    settings = shared_settings.load(environ=environ)
    async with remote.client() as client:
        contexts = CommandContexts(settings=settings, store=store, clients={"default": client})
        watch = Guardrails(store, contexts, planned=lambda: None, permitted=None)
        sampler = GuardrailSampler(store, contexts, accounts=watch.accounts)
        sequence = remote.add("Q3 founders")
        remote.inboxes.append({"email": "sam@mail.example", "health_score": 90, "status": "active"})
        clock.now -= 31 * DAY
        await arrive(store, b'{"event": "sequence.completed", "lead": {"email": "first@acme.example"}}')
        clock.now += 31 * DAY
        yield GuardedWorkspace(
            store=store, clock=clock, remote=remote, contexts=contexts, watch=watch, sampler=sampler,
            sequence=sequence,
        )  # fmt: skip
