"""Has Slack validate the app manifest.

Source: docs.slack.dev/reference/methods/apps.manifest.validate.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.manifest import manifest
from cli.doctor.finding import Finding, bad, doubtful, good
from shared.text.sanitize import visible

MANIFEST = "Slack manifest"
SHOWN = 5
"""Refusals that are shown in full."""
LONGEST_WAIT = 20.0
"""Seconds that a check waits at most where Slack asks for patience."""
NOT_OFFERED = frozenset({"unknown_method", "method_deprecated", "feature_not_enabled"})
NOT_THIS_TOKEN = frozenset(
    {"not_allowed_token_type", "invalid_auth", "not_authed", "token_expired", "missing_scope"}
)


async def _validate(
    client: AsyncWebClient, method: str, data: dict[str, str], *, token: str | None = None
) -> None:
    """One call, and one more where Slack asks to wait."""
    headers = {"Authorization": f"Bearer {token}"} if token else None
    try:
        await client.api_call(method, data=data, headers=headers)
    except SlackApiError as refusal:
        if refusal.response.get("error") not in {"ratelimited", "rate_limited"}:
            raise
        wait = float(refusal.response.headers.get("Retry-After") or 1)
        if wait > LONGEST_WAIT:
            raise
        await asyncio.sleep(wait)
        await client.api_call(method, data=data, headers=headers)


def _errors(data: Any) -> str:
    """Slack's own words for each fault, with the pointer to its place."""
    errors = data.get("errors") if isinstance(data, Mapping) else None
    parts = [
        f"{one.get('message')} at {one.get('pointer') or '/'}" if isinstance(one, Mapping) else str(one)
        for one in (errors or ())[:SHOWN]
    ]
    return ", ".join(parts) or "Slack doesn't say why"


async def app_manifest(client: AsyncWebClient, token: str) -> Finding:
    """manifest.yml by apps.manifest.validate, which takes an app configuration token alone."""
    fix = "Set SLACK_CONFIG_TOKEN to an app configuration token from api.slack.com/apps. It is valid for 12 hours."
    try:
        await _validate(client, "apps.manifest.validate", {"manifest": json.dumps(manifest())}, token=token)
    except SlackApiError as refusal:
        error = str(refusal.response.get("error") or "nothing")
        if error in NOT_OFFERED | NOT_THIS_TOKEN:
            return doubtful(MANIFEST, f"not checked: Slack returned {visible(error)}", fix=fix)
        problem = visible(_errors(refusal.response.data))
        return bad(
            MANIFEST, f"Slack returned {visible(error)}: {problem}", fix="Run `make docs`, or report it."
        )
    return good(MANIFEST, "Slack accepts manifest.yml")
