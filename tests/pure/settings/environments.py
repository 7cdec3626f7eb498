"""Environments that make settings, and what is refused of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.settings import Need, SettingsError, load

SECRETS = {
    "OUTREACH_API_KEY": "live_9f8e7d6c",
    "OUTREACH_WEBHOOK_SECRET": "whsec_one,whsec_two",
    "SLACK_BOT_TOKEN": "xoxb-sesame",
    "SLACK_SIGNING_SECRET": "sign-sesame",
}
GOOD = SECRETS | {"OUTREACH_BASE_URL": "https://api.example.com/v1", "OUTREACH_ALERT_CHANNEL": "C1"}
ALL = tuple(Need)


def refusal(
    environ: dict[str, str], *, needs: tuple[Need, ...] = (), config: Path | None = None
) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        load(environ=environ, needs=needs, config=config)
    return caught.value
