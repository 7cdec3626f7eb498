"""Does the service take the key, do the clocks agree, and do its deliveries reach the bot?"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import aiohttp

from cli.doctor.finding import Finding, bad, doubtful, good
from shared.api.client import OutreachClient
from shared.api.errors import OutreachError, Unauthorized, Unreadable
from shared.api.http.rate_limit import Priority
from shared.settings import Settings, Workspace
from shared.storage.webhook_subscriptions import FILE_NAME, WebhookFile, WebhookFileUnreadable

NOTICEABLE_SECONDS, FATAL_SECONDS = 5.0, 120.0
"""Slack refuses requests that are five minutes old, and signs with its own clock."""
HEADER = "X-Service-Signature"
FORGED = "0" * 64
TIMEOUT = aiohttp.ClientTimeout(total=10)
START = "Start it: outreach bot"


async def key(client: OutreachClient, workspace: Workspace) -> AsyncIterator[Finding]:
    """One read with the key; its answer's Date header is the service's clock."""
    check = f"API key of {workspace.name}"
    try:
        sequences = await client.list_sequences(priority=Priority.INTERACTIVE)
    except Unauthorized:
        cure = "Create a key in the account settings and set OUTREACH_API_KEY."
        yield bad(check, "refused: missing or revoked", cure=cure)
    except Unreadable as fault:
        yield doubtful(
            check, str(fault), cure="`outreach doctor --shapes` shows what it sends; [fields] cures it."
        )
    except OutreachError as fault:
        yield bad(
            check, str(fault), cure=f"Is {workspace.base_url} the right address, and reachable from here?"
        )
    else:
        yield good(check, f"accepted, {len(sequences)} sequences")
    if client.service_time:
        yield clock(client.service_time, now=datetime.now(UTC))


def clock(theirs: datetime, *, now: datetime) -> Finding:
    """How far the clocks are apart; the header counts whole seconds."""
    apart = abs((now - theirs).total_seconds())
    if apart < NOTICEABLE_SECONDS:
        return good("Clock", "agrees with the service's")
    word = f"{apart:,.0f} s {'ahead of' if now > theirs else 'behind'} the service's"
    cure = "Set this machine's clock, best by NTP: Slack's signatures are good for five minutes."
    return (bad if apart >= FATAL_SECONDS else doubtful)("Clock", word, cure=cure)


async def deliveries(settings: Settings) -> AsyncIterator[Finding]:
    """The bot at its own address, then the secrets, then each subscribed address.

    Only forged signatures are sent: a delivery with a good one would be stored and shown in `status`.
    """
    book = WebhookFile(settings.state_dir / FILE_NAME)
    own = f"http://{settings.host}:{settings.port}"
    async with aiohttp.ClientSession(timeout=TIMEOUT) as http:
        yield await _ready(http, own)
        for workspace in settings.workspaces.values():
            try:
                subscribed = book.list(workspace.name)
            except WebhookFileUnreadable as fault:
                yield bad(
                    "Webhook secrets",
                    str(fault),
                    cure="Restore the file, or move it away and subscribe anew.",
                )
                return
            yield _secrets(workspace, kept=len(subscribed))
            for url in dict.fromkeys(s.url for s in subscribed):
                yield await _refuses(http, url)


async def _ready(http: aiohttp.ClientSession, own: str) -> Finding:
    try:
        async with http.get(f"{own}/readyz") as answer:
            if answer.status == 200:
                return good("Bot", f"ready at {own}")
            return bad("Bot", f"not ready: {(await answer.text())[:200]}", cure="Its log says why.")
    except (aiohttp.ClientError, TimeoutError):
        return doubtful("Bot", f"not running at {own}", cure=START)


async def _refuses(http: aiohttp.ClientSession, url: str) -> Finding:
    """A delivery with a forged signature must be answered 401; anything else is not our bot."""
    try:
        async with http.post(url, data=b"{}", headers={HEADER: FORGED}, allow_redirects=False) as answer:
            status = answer.status
    except (aiohttp.ClientError, TimeoutError) as fault:
        return doubtful(
            "Webhook address",
            f"{url} does not answer ({type(fault).__name__})",
            cure=f"Is the bot running, and does the address lead to it? {START}",
        )
    if status == 401:
        return good("Webhook address", f"{url} leads to a bot that refuses forged signatures")
    cure = "The address must lead to the bot's /webhooks/outreach, past no login and no redirect."
    return bad("Webhook address", f"{url} answers {status} to a forged signature, not 401", cure=cure)


def _secrets(workspace: Workspace, *, kept: int) -> Finding:
    check = f"Webhook secrets of {workspace.name}"
    count = kept + len(workspace.webhook_secrets)
    if count:
        return good(check, f"{count} known")
    return bad(
        check,
        "none: every delivery would be refused",
        cure="outreach webhooks create --url https://YOUR-HOST/webhooks/outreach",
    )
