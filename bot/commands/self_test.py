"""`/outreach doctor`: the running bot's own checks, each failure with its fix."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass

from bot.commands.answer import Answer
from bot.slack.manifest import SCOPES, SPARE
from bot.slack.permissions import Person
from bot.slack.socket_mode import SocketMode
from bot.slack.web_api import SlackError, WebApi
from shared.api.errors import OutreachError
from shared.api.http.rate_limit import Priority
from shared.commands.arguments import Doctor
from shared.domain.card import Button, Card, Fact, Tone
from shared.operations.context import CommandContext
from shared.operations.outcome import need_records
from shared.records.records import RecordsUnavailable
from shared.text.formats import show_number, show_span

TIMEOUT = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTest:
    """Run all checks concurrently, and list them in a fixed order."""

    slack: WebApi
    socket_mode: SocketMode | None

    async def __call__(self, context: CommandContext, _: Person) -> Answer:
        checks = (
            self._api(context),
            self._slack(),
            self._channel(context),
            self._records(context),
            self._delivery(context),
        )
        problems = (_warn("Bot", problem) for problem in context.problems())
        facts = [*await asyncio.gather(*checks), self._requests(), *problems]
        failures = sum(fact.tone is Tone.BAD for fact in facts)
        warnings = sum(fact.tone is Tone.WARN for fact in facts)
        title = f"{failures} of {len(facts)} checks failed" if failures else "All checks passed"
        tone = Tone.BAD if failures else Tone.WARN if warnings else Tone.GOOD
        again = Button(label="Check again", action=Doctor())
        return Answer(
            card=Card(
                title=title
                if failures or not warnings
                else f"{len(facts) - warnings} checks passed, {show_number(warnings, 'warning')}",
                tone=tone,
                failure=failures > 0,
                facts=tuple(facts),
                buttons=(again,),
                footer="`outreach doctor` in a shell also checks the settings and every card.",
            )
        )

    async def _api(self, context: CommandContext) -> Fact:
        began = time.monotonic()
        try:
            async with asyncio.timeout(TIMEOUT):
                known = await context.client.list_sequences(priority=Priority.INTERACTIVE)
        except TimeoutError:
            return _bad("Service", f"no response within {TIMEOUT:g} s. Check its address.")
        except OutreachError as error:
            return _bad("Service", " ".join(filter(None, (error.message, error.cause, error.own_hint))))
        took = (time.monotonic() - began) * 1000
        return _good("Service", f"responds in {took:.0f} ms, {len(known)} sequences")

    async def _slack(self) -> Fact:
        try:
            answer = await self.slack.call("auth.test", seconds=TIMEOUT)
        except SlackError as error:
            return _bad("Slack", f"{error}. Install the app again and set SLACK_BOT_TOKEN.")
        granted = {scope.strip() for scope in (answer.headers.get("x-oauth-scopes") or "").split(",")}
        missing = sorted(set(SCOPES) - granted)
        if not missing or granted == {""}:
            return _good("Slack", f"{answer['user']} in {answer['team']}, with all scopes")
        fix = "Update the app from manifest.yml and install it again."
        if set(missing) <= set(SPARE):
            return _warn("Slack", f"{without(missing)}. {fix}")
        missing_here = [f"{scope} ({SCOPES[scope]})" for scope in missing if scope not in SPARE]
        return _bad("Slack", f"the token is missing {'; '.join(missing_here)}. {fix}")

    async def _channel(self, context: CommandContext) -> Fact:
        channel = context.workspace.alert_channel
        if context.team and not (channel and context.may_name(channel)):
            return Fact(label="Alert channel", value="none in this Slack workspace; a channel can subscribe")
        if not channel:
            return _bad("Alert channel", "not set. Set OUTREACH_ALERT_CHANNEL.")
        try:
            answer = await self.slack.read("conversations.info", seconds=TIMEOUT, channel=channel)
        except SlackError as error:
            return _bad("Alert channel", f"{channel}: {error}. Invite the bot, or set another.")
        info = answer.get("channel") or {}
        name = (
            f"#{info.get('name', channel)}" if await context.sees_channel(channel) else "its private channel"
        )
        if info.get("is_archived"):
            return _bad("Alert channel", f"{name} is archived. Unarchive it, or set another.")
        if not info.get("is_member"):
            return _bad("Alert channel", f"the bot isn't in {name}. Type /invite @outreach there.")
        return _good("Alert channel", f"the bot is in {name}")

    async def _records(self, context: CommandContext) -> Fact:
        try:
            info = await need_records(context).summary(context.workspace.name)
        except RecordsUnavailable as error:
            return _bad("Database", f"{error}. Check OUTREACH_DATABASE_URL.")
        stuck = info.dead + info.unsure + info.uncertain
        waiting = f"{show_number(info.waiting, 'alert')} waiting"
        return (
            _warn("Database", f"{waiting}, {stuck} couldn't be posted")
            if stuck
            else _good("Database", waiting)
        )

    async def _delivery(self, context: CommandContext) -> Fact:
        try:
            last = (await need_records(context).summary(context.workspace.name)).last_delivery_at
        except RecordsUnavailable:
            return Fact(label="Last delivery", value="unknown", tone=Tone.UNKNOWN)
        if last is None:
            return _warn("Last delivery", "none yet. Subscribe with: outreach webhooks create --url …")
        return _good("Last delivery", f"{show_span(context.now() - last)} ago")

    def _requests(self) -> Fact:
        if self.socket_mode is None:
            return _good("Slack requests", "arrive over HTTP and are checked with the signing secret")
        info = self.socket_mode.state
        if not info["connected"]:
            return _bad("Socket Mode", f"{info['trouble']}. The bot keeps retrying.")
        last = (
            f", reconnected {info['rebuilds']}× (last reason: {info['last_loss']})"
            if info["rebuilds"]
            else ""
        )
        return _good("Socket Mode", f"connected, last message {info['last_message_age']} s ago{last}")


def without(missing: Iterable[str]) -> str:
    return "; ".join(f"without {scope} {SPARE[scope]}" for scope in missing)


def _good(label: str, value: str) -> Fact:
    return Fact(label=label, value=value, tone=Tone.GOOD)


def _warn(label: str, value: str) -> Fact:
    return Fact(label=label, value=value, tone=Tone.WARN)


def _bad(label: str, value: str) -> Fact:
    return Fact(label=label, value=value, tone=Tone.BAD)
