"""Checks the API key, the clocks, and whether deliveries reach the bot."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import aiohttp
from sqlalchemy.exc import SQLAlchemyError

from cli.doctor.finding import PATIENCE, Finding, bad, doubtful, good
from shared.api.client import OutreachClient
from shared.api.errors import OutreachError, Unauthorized, Unreadable
from shared.api.events import PROBE_SIGNATURE, SIGNATURE_HEADER
from shared.api.models import Subscription
from shared.api.pace import Priority
from shared.records.records import RecordsUnavailable
from shared.settings import Settings, Workspace
from shared.storage.webhook_file import WebhookFileUnreadable, read_webhook_file
from shared.store.db.engine import Database
from shared.store.instance import Instance, SeenBot
from shared.store.webhooks import SecretCipher, WebhookSubscriptions
from shared.text.network_errors import describe_network_error
from shared.text.sanitize import visible

NOTICEABLE_SECONDS, FATAL_SECONDS = 5.0, 120.0
"""Slack refuses requests that are five minutes old, and signs with its own clock."""
TIMEOUT = aiohttp.ClientTimeout(total=PATIENCE)
START = "Start it: outreach bot"
SUBSCRIBE = "outreach webhooks create --url https://YOUR-HOST/webhooks/outreach"


async def key(client: OutreachClient, workspace: Workspace) -> AsyncIterator[Finding]:
    """One read with the key; its answer's Date header is the service's clock."""
    check = f"API key of {workspace.name}"
    try:
        sequences = await client.list_sequences(priority=Priority.INTERACTIVE)
    except Unauthorized:
        fix = "Create a key in the account settings and set OUTREACH_API_KEY."
        yield bad(check, "rejected: missing or revoked", fix=fix)
    except Unreadable as fault:
        fix = "`outreach doctor --shapes` shows the response format. Set [fields] to match it."
        yield doubtful(check, str(fault), fix=fix)
    except OutreachError as fault:
        fix = f"Check that {workspace.base_url} is the right address and reachable from here."
        yield bad(check, str(fault), fix=fix)
    else:
        yield good(check, f"accepted, {len(sequences)} sequences")
    if client.service_time:
        yield clock(client.service_time, now=datetime.now(UTC))


def clock(theirs: datetime, *, now: datetime) -> Finding:
    """Compare the clocks; the header counts whole seconds."""
    apart = abs((now - theirs).total_seconds())
    if apart < NOTICEABLE_SECONDS:
        return good("Clock", "matches the service's")
    word = f"{apart:,.0f} s {'ahead of' if now > theirs else 'behind'} the service's"
    fix = "Set this machine's clock, ideally with NTP: Slack's signatures expire after five minutes."
    return (bad if apart >= FATAL_SECONDS else doubtful)("Clock", word, fix=fix)


async def deliveries(settings: Settings) -> AsyncIterator[Finding]:
    """The bot at its own address, then the secrets, then each subscribed address.

    Only forged signatures are sent: a delivery with a good one would be stored and shown in `status`.
    """
    database = await _look(settings)
    in_files: dict[str, tuple[Subscription, ...]] = {}
    for file in settings.webhook_files:
        try:
            for name, some in (await asyncio.to_thread(read_webhook_file, file)).items():
                in_files[name] = (*in_files.get(name, ()), *some)
        except WebhookFileUnreadable as fault:
            yield bad("Webhook secrets", str(fault), fix="The bot imports it when it can be read.")
    async with aiohttp.ClientSession(timeout=TIMEOUT, trust_env=True) as http:
        async for finding in _running(http, settings.details_url, database):
            yield finding
        for name, workspace in settings.workspaces.items():
            subscribed = (*database.subscriptions.get(name, ()), *in_files.get(name, ()))
            count = len(subscribed) + len(workspace.webhook_secrets)
            check = f"Webhook secrets of {name}"
            if problem := database.problems.get(name):
                yield bad(check, problem, fix="Set the key that the bot uses.")
            elif count:
                yield good(check, f"{count} known")
            else:
                yield bad(check, "none: every delivery is rejected", fix=SUBSCRIBE)
            for url in dict.fromkeys(one.url for one in subscribed):
                yield await _refuses(http, url)


@dataclass(frozen=True, slots=True, kw_only=True)
class _DatabaseContents:
    """The database's own words about its bot; empty if it does not answer or no bot has used it."""

    shown: str
    instance: str | None = None
    seen: SeenBot | None = None
    subscriptions: Mapping[str, tuple[Subscription, ...]] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)


async def _look(settings: Settings) -> _DatabaseContents:
    shown = settings.database.render_as_string(hide_password=True)
    try:
        database = await asyncio.to_thread(Database, settings.database)
    except (SQLAlchemyError, OSError):
        return _DatabaseContents(shown=shown)
    instance, kept = Instance(database), WebhookSubscriptions(database, SecretCipher(settings.secret_keys))
    try:
        return _DatabaseContents(
            shown=shown,
            instance=await instance.known_id(),
            seen=await instance.last_seen(),
            subscriptions={name: await kept.list(name) for name in settings.workspaces},
            problems=(await kept.secrets()).problems,
        )
    except RecordsUnavailable:
        return _DatabaseContents(shown=shown)
    finally:
        await database.aclose()


async def _running(
    http: aiohttp.ClientSession, own: str, database: _DatabaseContents
) -> AsyncIterator[Finding]:
    """Check that a bot runs, and on the database that this shell looks at."""
    seen = database.seen if database.seen and database.seen.runs else None
    try:
        async with http.get(f"{own}/readyz") as answer:
            status, text = answer.status, await answer.text()
    except (aiohttp.ClientError, TimeoutError):
        if seen:
            yield good("Bot", f"seen {seen.age:.0f} s ago on {seen.host}, with this database")
        else:
            yield doubtful("Bot", f"not running at {own}", fix=START)
        return
    if status == 200:
        yield good("Bot", f"ready at {own}")
    else:
        yield bad("Bot", f"not ready: {text[:200]}", fix="See its log.")
    theirs = _instance(text)
    if theirs and theirs == database.instance:
        yield good("Bot's database", "same as this shell's")
    elif theirs:
        yield bad(
            "Bot's database",
            f"the bot at {own} uses another ({theirs}) than this shell ({database.instance or 'new'}, {database.shown})",
            fix="Set the same OUTREACH_DATABASE_URL for both, or OUTREACH_STATE_DIR with SQLite.",
        )


def _instance(readiness: str) -> str:
    try:
        return visible(str(json.loads(readiness)["instance"]))
    except (ValueError, KeyError, TypeError):
        return ""


async def _refuses(http: aiohttp.ClientSession, url: str) -> Finding:
    """A delivery with a forged signature must be answered 401; anything else is not our bot."""
    try:
        async with http.post(
            url, data=b"{}", headers={SIGNATURE_HEADER: PROBE_SIGNATURE}, allow_redirects=False
        ) as answer:
            status = answer.status
    except (aiohttp.ClientError, TimeoutError) as fault:
        return doubtful(
            "Webhook address",
            f"{url} doesn't respond: {describe_network_error(fault)}",
            fix=f"Check that the bot runs and the address leads to it. {START}",
        )
    if status == 401:
        return good("Webhook address", f"{url} leads to the bot, which rejects forged signatures")
    fix = "The address must lead to the bot's /webhooks/outreach without a login or redirect."
    return bad("Webhook address", f"{url} returns {status} for a forged signature instead of 401", fix=fix)
