"""Has Slack validate everything that the bot shows, before the first alert.

Sources: docs.slack.dev/reference/methods/blocks.validate and apps.manifest.validate.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.blockkit import plainer
from bot.interactions.specimens import Specimen, specimens
from bot.slack.manifest import manifest
from cli.doctor.finding import Finding, bad, doubtful, good
from shared.text.sanitize import visible

CARDS, MANIFEST = "Slack cards", "Slack manifest"
SHOWN = 5
"""Refusals that are shown in full."""
LONGEST_WAIT = 20.0
"""Seconds that a check waits at most where Slack asks for patience."""
NOT_OFFERED = frozenset({"unknown_method", "method_deprecated", "feature_not_enabled"})
NOT_THIS_TOKEN = frozenset(
    {"not_allowed_token_type", "invalid_auth", "not_authed", "token_expired", "missing_scope"}
)
_REFUSED = frozenset({"invalid_blocks", "invalid_message", "invalid_view"})


async def drawings(client: AsyncWebClient) -> AsyncIterator[Finding]:
    """Every card, answer, modal and Home, in every state."""
    everything = await asyncio.to_thread(lambda: tuple(specimens(datetime.now(UTC))))
    lost: list[str] = []
    simpler: list[str] = []
    for one in everything:
        try:
            problem = await _problem(client, one)
        except SlackApiError as refusal:
            yield _unchecked(str(refusal.response.get("error") or "nothing"))
            return
        if problem:
            (simpler if await _passes_older(client, one) else lost).append(f"{one.name}: {problem}")
    if lost:
        fix = "They are sent as text without buttons. Please report these lines."
        yield bad(CARDS, _named(lost, "refused"), fix=fix)
    if simpler:
        fix = "This Slack workspace doesn't support these blocks yet and gets tables and text instead."
        yield doubtful(CARDS, _named(simpler, "shown in a simpler form"), fix=fix)
    if not lost and not simpler:
        yield good(CARDS, f"Slack accepts all {len(everything)} cards, answers, modals and Home views")


def _unchecked(error: str) -> Finding:
    why = (
        "Slack doesn't offer blocks.validate here"
        if error in NOT_OFFERED
        else f"Slack returned {visible(error)}"
    )
    return doubtful(CARDS, f"not checked: {why}", fix="Run: outreach doctor --post '#channel'")


def _named(problems: list[str], word: str) -> str:
    more = f"; {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
    return visible(f"{len(problems)} {word}: {'; '.join(problems[:SHOWN])}{more}")


async def _problem(client: AsyncWebClient, one: Specimen) -> str:
    """What Slack says against it, and where; empty: nothing. Raises `SlackApiError` where it did not look."""
    kind, value = ("view", one.view) if one.view is not None else ("blocks", one.blocks)
    try:
        await _validate(client, "blocks.validate", {kind: json.dumps(value)})
    except SlackApiError as refusal:
        if refusal.response.get("error") not in _REFUSED:
            raise
        return _errors(refusal.response.data)
    return ""


async def _passes_older(client: AsyncWebClient, one: Specimen) -> bool:
    if one.blocks is None:
        return False
    older = plainer.older_blocks(one.blocks)
    return older != one.blocks and not await _problem(client, Specimen(name=one.name, blocks=older))


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
