"""Do the service's deliveries reach the bot, and are the unsigned ones refused?

Only a wrong signature is sent: a right one would be kept and shown in `status` (contract, section 4).
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp

from cli.doctor.finding import Finding, bad, doubtful, good
from shared.settings import Settings, Workspace
from shared.storage.webhook_subscriptions import FILE_NAME, WebhookFile, WebhookFileUnreadable

HEADER = "X-Service-Signature"
FORGED = "0" * 64
TIMEOUT = aiohttp.ClientTimeout(total=10)
START = "Start it: outreach bot"


async def examine(settings: Settings) -> AsyncIterator[Finding]:
    """The bot at its own address, then each subscribed address, then the secrets."""
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
