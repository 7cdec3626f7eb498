"""The kit's fixtures, of which each test gets its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.http import asgi, webhook
from bot.interactions import listeners
from bot.jobs import polls
from shared.api import pipeline
from shared.commands import run
from shared.domain_health import lookup
from tests.kit.clock import CLOCK
from tests.kit.databases import copy_instead_of_migrating
from tests.kit.pace import UnpacedBudget, lift_rate_limit
from tests.kit.screen import Screen, open_screen
from tests.kit.service import Account, open_account
from tests.kit.shell import Shell
from tests.kit.team import Team, open_team
from tests.kit.waiting import BOUND_SECONDS


@pytest.fixture
def no_idle_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rate, timers and patience have promises of their own; nothing else waits for them."""
    monkeypatch.setattr(run, "SharedBudget", UnpacedBudget)
    monkeypatch.setattr(pipeline, "FIRST_DELAY_SECONDS", 0.01)
    monkeypatch.setattr(listeners, "PROGRESS_AFTER", 60.0)
    monkeypatch.setattr(webhook, "STORED_WITHIN", BOUND_SECONDS)
    # How long it waits, by the event loop, for a delivery that may still come.
    monkeypatch.setattr(polls, "SETTLING_SECONDS", 0.1)
    # Resolvers are asked at once.
    monkeypatch.setattr(lookup.Pace, "turn", _at_once)
    lift_rate_limit(monkeypatch)
    copy_instead_of_migrating(monkeypatch)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch, no_idle_waiting: None) -> None:
    """The bot says after a moment that an answer takes long."""
    monkeypatch.setattr(listeners, "PROGRESS_AFTER", 0.1)


@pytest.fixture
def late_clicks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A visit waits for its click as long as a busy machine needs; outside of tests it waits 1.5 s."""
    monkeypatch.setattr(asgi, "CLICK_WITHIN_SECONDS", 8.0)


async def _at_once(_pace: lookup.Pace) -> None:
    pass


@pytest.fixture
def real_time() -> None:
    """The real time, for a test that starts a process."""
    CLOCK.release()


@pytest.fixture
async def account() -> AsyncIterator[Account]:
    """The service's workspace acme."""
    async with open_account() as opened:
        yield opened


@pytest.fixture
async def team(account: Account, tmp_path: Path, no_idle_waiting: None) -> AsyncIterator[Team]:
    """Ann, Ben and the others, with a bot that runs."""
    async with open_team(account, tmp_path) as opened:
        yield opened


@pytest.fixture
async def screen(account: Account, tmp_path: Path, no_idle_waiting: None) -> AsyncIterator[Screen]:
    """A dashboard of the account, on a screen of 160 by 48."""
    async with open_screen(account, tmp_path) as opened:
        yield opened


@pytest.fixture
def shell(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    no_idle_waiting: None,
) -> Shell:
    """A shell without a service: give it one by `shell.use(account.environ)`."""
    return Shell(tmp_path, capsys, monkeypatch)
