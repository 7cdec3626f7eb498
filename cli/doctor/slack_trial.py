"""`outreach doctor --post #channel`: posts, updates, finds and deletes a message, as the bot does."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator

from bot.blockkit import card_blocks
from bot.slack.directory import UserDirectory
from bot.slack.messages import MessageSender
from bot.slack.web_api import SlackError, WebApi, open_web_api
from bot.store.queue.leases import ChannelRefused, Outcome, Sent, Unpostable
from cli.doctor.finding import Finding, bad, good
from shared.api.pace import boot_time
from shared.domain.card import Card, Chart, Column, Row, Table, Tone
from shared.settings import Settings
from shared.text.sanitize import visible
from shared.text.tokenize import parse_channel

SECONDS = 15.0
LOOKS = 3
"""How often the history is read: it may lag behind the post."""
POST, CHANGE, READ, DELETE = "Slack post", "Slack update", "Slack read back", "Slack delete"
FIXES = {
    "channel_not_found": "Check the name. In a private channel, type /invite @outreach first.",
    "not_in_channel": "Type /invite @outreach in the channel, then try again.",
    "is_archived": "Unarchive the channel, or name another.",
    "missing_scope": "Update the app from manifest.yml and install it again.",
}


async def trial(settings: Settings, named: str) -> AsyncIterator[Finding]:
    """One finding for each step; what was posted is deleted whatever happens in between."""
    slack = settings.slack
    if slack.bot_token is None:
        yield bad(POST, "no bot token is set", fix="Set SLACK_BOT_TOKEN to the app's xoxb-… token.")
        return
    async with open_web_api(slack.bot_token.get_secret_value(), base_url=slack.api_url or "") as api:
        async for finding in _steps(api, named):
            yield finding


async def _steps(api: WebApi, channel: str) -> AsyncIterator[Finding]:
    name = channel if channel.startswith("#") or parse_channel(channel) else f"#{channel}"
    found = await UserDirectory(api).find_place(name)
    if found.refusal:
        yield bad(POST, visible(found.refusal.replace(f"<#{found.channel}>", name)), fix=found.fix)
        return
    place = found.channel
    sender, key = MessageSender(api, timeout=SECONDS), f"doctor_{secrets.token_hex(8)}"
    began = time.time()
    posted = await sender.post(
        place,
        card_blocks.render(_card("Test message")),
        payload={"key": key},
        deadline=boot_time() + SECONDS,
    )
    yield _finding(POST, posted, f"posted to {visible(channel)}")
    if not isinstance(posted, Sent):
        return
    changed = card_blocks.render(_card("Test message, updated"))
    yield _finding(CHANGE, await sender.repaint(place, posted.ts, changed, payload={"key": key}), "updated")
    yield _finding(READ, await _find(sender, place, key, since=began), "found by its metadata")
    yield await _delete(api, place, posted.ts)


def _card(title: str) -> Card:
    table = Table(
        columns=(Column(title="Check"), Column(title="Value", numeric=True)), rows=(Row(cells=("Rows", 1)),)
    )
    chart = Chart(title="Two points", labels=("a", "b"), series=(("Values", (1, 2)),))
    text = ("Posted by outreach doctor. It will be deleted right away.",)
    return Card(title=title, tone=Tone.GOOD, text=text, table=table, charts=(chart,))


async def _find(sender: MessageSender, channel: str, key: str, *, since: float) -> Outcome:
    error = ""
    for _look in range(LOOKS):
        look = await sender.look(channel, {key}, since=since, deadline=boot_time() + SECONDS)
        if key in look.found:
            return Sent(ts=look.found[key])
        error = look.error
        if look.hidden:
            break
        await asyncio.sleep(1.0)
    return Unpostable(error=error)


async def _delete(api: WebApi, channel: str, ts: str) -> Finding:
    try:
        await api.call("chat.delete", retry=True, channel=channel, ts=ts)
    except SlackError as error:
        return bad(DELETE, f"{error}", fix="Delete the message yourself.")
    return good(DELETE, "deleted")


def _finding(check: str, outcome: Outcome, done: str) -> Finding:
    if isinstance(outcome, Sent):
        return good(check, done)
    error = visible(getattr(outcome, "error", "") or "the message isn't in the history")
    code = error.removeprefix("can't look it up: ")
    usual = (
        "Type /invite @outreach in the channel."
        if isinstance(outcome, ChannelRefused)
        else "Try again. See the log."
    )
    return bad(check, f"Slack returned {error}", fix=FIXES.get(code, usual))
