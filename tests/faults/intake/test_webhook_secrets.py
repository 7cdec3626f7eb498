"""Stored secrets are read in time and decrypted; refusals are logged and counted; a running bot is seen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.http import webhook
from bot.telemetry import metrics
from shared.api.events import PROBE_SIGNATURE
from shared.api.models import Subscription
from shared.store.webhooks import SecretCipher, WebhookSubscriptions
from tests.kit.bot import interested
from tests.kit.team import Installation, installed

STORED = "stored-secret"


@pytest.fixture
async def prepared(tmp_path: Path) -> AsyncIterator[Installation]:
    """A bot that is not started yet."""
    async with installed(tmp_path) as harness:
        yield harness


async def add_secret(bot: Installation, *keys: Any) -> None:
    assert bot.running is not None
    kept = WebhookSubscriptions(bot.running.store.database, SecretCipher(keys))
    await kept.add("default", Subscription(id="wh_1", secret=STORED))


async def test_a_secret_that_was_just_stored_is_known_to_every_delivery(prepared: Installation) -> None:
    async with prepared.inside():
        assert (
            await asyncio.gather(*(prepared.deliver(interested(1), secret=STORED) for _ in range(20)))
            == [401] * 20
        )
        # Deliveries share looks into the database: none may use a look that began before the secret was there.
        await add_secret(prepared)
        assert (
            await asyncio.gather(*(prepared.deliver(interested(1), secret=STORED) for _ in range(20)))
            == [200] * 20
        )


async def test_secrets_encrypted_with_another_key_are_503_until_the_key_is_set(
    prepared: Installation,
) -> None:
    prepared.environ["OUTREACH_SECRET_KEY"] = "the-key-of-yesterday"
    async with prepared.inside() as running:
        await add_secret(prepared)
        await running.store.instance.id()
    async with prepared.inside():  # what was stored in clear is encrypted at the start
        assert await prepared.deliver(interested(1), secret=STORED) == 200
    prepared.environ["OUTREACH_SECRET_KEY"] = "the-key-of-today"
    async with prepared.inside():
        assert await prepared.deliver(interested(1)) == 200
        assert await prepared.deliver(interested(1), secret=STORED) == 503
        _, state = await prepared.ready()
        assert "OUTREACH_SECRET_KEY" in state["webhook_secrets"]
    prepared.environ["OUTREACH_SECRET_KEY"] = "the-key-of-today,the-key-of-yesterday"
    async with prepared.inside():
        assert await prepared.deliver(interested(1), secret=STORED) == 200


async def test_refused_deliveries_are_counted_and_logged_once_a_minute(
    prepared: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with prepared.inside():
        with capture_logs() as logs:
            for _ in range(3):
                assert await prepared.deliver(interested(1), secret="wrong") == 401
            assert await prepared.deliver(interested(1), headers={}) == 401
            monkeypatch.setattr(webhook, "REFUSAL_LOG_SECONDS", 0.0)
            assert await prepared.deliver(interested(1), secret="wrong") == 401
        refused = [one["reason"] for one in logs if one["event"] == "delivery refused"]
        assert refused == ["wrong_signature", "no_signature", "wrong_signature"]
        _, text = await prepared.get("/metrics")
        assert 'outreach_refused_deliveries_total{reason="wrong_signature",workspace="default"}' in text


async def test_the_trials_of_doctor_are_refused_and_not_counted(prepared: Installation) -> None:
    # Doctor forges a delivery on purpose: counted, each check would look like an attack.
    before = metrics.REFUSED.labels("default", "wrong_signature")._value.get()
    async with prepared.inside():
        with capture_logs() as logs:
            for _ in range(4):
                headers = {"X-Service-Signature": PROBE_SIGNATURE}
                assert await prepared.deliver(interested(1), headers=headers) == 401
        assert not [one for one in logs if one["event"] == "delivery refused"]
        assert metrics.REFUSED.labels("default", "wrong_signature")._value.get() == before
        assert await prepared.deliver(interested(1), secret="wrong") == 401
        assert metrics.REFUSED.labels("default", "wrong_signature")._value.get() == before + 1
