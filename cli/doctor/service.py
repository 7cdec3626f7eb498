"""Checks the API key, the clocks, and whether deliveries reach the bot."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import aiohttp
from sqlalchemy.exc import SQLAlchemyError

from cli.doctor.finding import PATIENCE, Finding, bad, doubtful, good
from shared.api.client import OutreachClient
from shared.api.errors import OutreachError, Unauthorized, Unreadable
from shared.api.events import PROBE_SIGNATURE, SIGNATURE_HEADER
from shared.api.models import Subscription
from shared.api.pace import Priority
from shared.api.transport import describe_network_error
from shared.records.records import RecordsUnavailable
from shared.settings import Settings, Workspace
from shared.store.db.engine import Database
from shared.store.instance import Instance, SeenBot
from shared.store.webhooks import SecretCipher, WebhookSubscriptions
from shared.text.sanitize import visible

NOTICEABLE_SECONDS, FATAL_SECONDS = 5.0, 120.0
"""Slack refuses requests that are five minutes old, and signs with its own clock."""
TIMEOUT = aiohttp.ClientTimeout(total=PATIENCE)
START = "Start it: outreach bot"
RESTART = "Start it again: outreach bot"
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
        yield doubtful(check, str(fault), fix="Set [fields] to match the response.")
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
    contents = await _look(settings)
    async with aiohttp.ClientSession(timeout=TIMEOUT, trust_env=True) as http:
        async for finding in _bot(http, settings, contents):
            yield finding
        for name, workspace in settings.workspaces.items():
            subscribed = contents.subscriptions.get(name, ())
            count = len(subscribed) + len(workspace.webhook_secrets)
            check = f"Webhook secrets of {name}"
            if problem := contents.problems.get(name):
                yield bad(check, problem, fix="Set the key that the bot uses.")
            elif count:
                yield good(check, f"{count} known")
            else:
                yield bad(check, "none: every delivery is rejected", fix=SUBSCRIBE)
            for url in dict.fromkeys(one.url for one in subscribed):
                yield await _refuses(http, url)


class _Contents(NamedTuple):
    """The state of the bot in its database; empty if it does not answer or no bot has used it."""

    instance: str | None = None
    seen: SeenBot | None = None
    subscriptions: Mapping[str, tuple[Subscription, ...]] = {}
    problems: Mapping[str, str] = {}


async def _look(settings: Settings) -> _Contents:
    try:
        database = await asyncio.to_thread(Database, settings.database)
    except (SQLAlchemyError, OSError):
        return _Contents()
    instance, stored = Instance(database), WebhookSubscriptions(database, SecretCipher(settings.secret_keys))
    try:
        return _Contents(
            await instance.known_id(),
            await instance.last_seen(),
            {name: await stored.list(name) for name in settings.workspaces},
            (await stored.secrets()).problems,
        )
    except RecordsUnavailable:
        return _Contents()
    finally:
        await database.aclose()


async def _bot(
    http: aiohttp.ClientSession, settings: Settings, contents: _Contents
) -> AsyncIterator[Finding]:
    """Check that a bot runs, on the database that this shell looks at, and that Slack reaches it."""
    address, seen, state = settings.details_url, contents.seen, dict[str, Any]()
    try:
        async with http.get(f"{address}/readyz") as answer:
            status, text = answer.status, await answer.text()
    except (aiohttp.ClientError, TimeoutError):
        if seen and seen.runs:
            yield good("Bot", f"seen {seen.age:.0f} s ago on {seen.host}, with this database")
        else:
            yield doubtful("Bot", f"not running at {address}", fix=START)
        return
    with contextlib.suppress(ValueError, TypeError):  # some other program may listen there
        state = dict(json.loads(text))
    if status == 200:
        yield good("Bot", f"ready at {address}")
    else:
        yield bad("Bot", f"not ready: {text[:200]}", fix="See its log.")
    if theirs := visible(str(state.get("instance") or "")):
        yield _same_database(settings, theirs, contents.instance)
    connection = state.get("socket_mode")
    if isinstance(connection, dict):
        yield socket_mode(connection)
    elif connection and settings.slack.app_token:
        yield bad("Slack connection", "the running bot has no app token", fix=RESTART)


def _same_database(settings: Settings, theirs: str, own: str | None) -> Finding:
    check = "Bot's database"
    if theirs == own:
        return good(check, "same as this shell's")
    place = f"{own or 'new'}, {settings.database.render_as_string(hide_password=True)}"
    fix = "Set the same OUTREACH_DATABASE_URL for both, or OUTREACH_STATE_DIR with SQLite."
    return bad(check, f"{settings.details_url} uses another ({theirs}) than this shell ({place})", fix=fix)


def socket_mode(state: Mapping[str, Any]) -> Finding:
    """The `socket_mode` of a bot's /readyz as a finding."""
    check = "Slack connection"
    if not state["connected"]:
        return bad(check, visible(str(state["trouble"])), fix="The bot keeps retrying. See its log.")
    last = f" (last reason: {visible(str(state['last_loss']))})" if state["rebuilds"] else ""
    age = f"last message {state['last_message_age']} s ago"
    return good(check, f"{age}, reconnected {state['rebuilds']}×{last}")


async def _refuses(http: aiohttp.ClientSession, url: str) -> Finding:
    """A delivery with a forged signature must be answered 401; anything else is not our bot."""
    check, headers = "Webhook address", {SIGNATURE_HEADER: PROBE_SIGNATURE}
    try:
        async with http.post(url, data=b"{}", headers=headers, allow_redirects=False) as answer:
            status = answer.status
    except (aiohttp.ClientError, TimeoutError) as fault:
        fix = f"Check that the bot runs and the address leads to it. {START}"
        return doubtful(check, f"{url} doesn't respond: {describe_network_error(fault)}", fix=fix)
    if status == 401:
        return good(check, f"{url} leads to the bot, which rejects forged signatures")
    fix = "The address must lead to the bot's /webhooks/outreach without a login or redirect."
    return bad(check, f"{url} returns {status} for a forged signature instead of 401", fix=fix)
