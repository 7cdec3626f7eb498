"""`/outreach doctor`: what the running bot knows of its own state, each problem with its fix."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bot.commands.answer import Answer
from bot.slack.manifest import SCOPES, SPARE
from bot.slack.permissions import Person
from bot.slack.web_api import WebApi
from shared.commands.help import Doctor
from shared.commands.run import CommandContext
from shared.commands.status import REJECTIONS
from shared.domain.card import Button, Card, Fact, Tone
from shared.text.formats import show_number

OK, NOT_CHECKED = "ok", "not checked yet"
"""The state of a part that works, and of one that nobody has asked yet; any other says what is wrong."""
REINSTALL = "Update the app from manifest.yml and install it again."


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTest:
    """Draws the state that `/readyz` tells, as far as the reader's workspace and channels go."""

    slack: WebApi
    state: Callable[[], Awaitable[Mapping[str, Any]]]
    """The state of `/readyz`, after Slack and the service were asked once more."""

    async def __call__(self, _asked: Doctor, context: CommandContext, _: Person) -> Answer:
        state = await self.state()
        facts = (
            _fact("Service", state["workspaces"][context.workspace.name]["api"]),
            _fact("Slack", state["slack"], fix="Check SLACK_BOT_TOKEN."),
            *self._scopes(),
            _requests(state["socket_mode"]),
            *await _channels(context, state["channels"]),
            _fact("Database", state["database"], fix="Check OUTREACH_DATABASE_URL."),
            _fact("Webhook secrets", state["webhook_secrets"]),
            *(_warn("Bot", problem) for problem in context.problems()),
        )
        failures = sum(fact.tone is Tone.BAD for fact in facts)
        doubts = sum(fact.tone in {Tone.WARN, Tone.UNKNOWN} for fact in facts)
        title = f"{failures} of {len(facts)} checks failed" if failures else "All checks passed"
        if doubts and not failures:
            title = f"{len(facts) - doubts} checks passed, {show_number(doubts, 'warning')}"
        return Answer(
            card=Card(
                title=title,
                tone=Tone.BAD if failures else Tone.WARN if doubts else Tone.GOOD,
                failure=failures > 0,
                facts=facts,
                buttons=(Button(label="Check again", action=Doctor()),),
                footer="`outreach doctor` in a shell checks more, and each setting.",
            )
        )

    def _scopes(self) -> tuple[Fact, ...]:
        """What the token may do; nothing where Slack didn't list its scopes."""
        granted = self.slack.scopes
        if not granted:
            return ()
        missing = sorted(set(SCOPES) - granted)
        needed = [f"{scope} ({SCOPES[scope]})" for scope in missing if scope not in SPARE]
        if needed:
            return (_bad("Scopes", f"the token is missing {'; '.join(needed)}. {REINSTALL}"),)
        if missing:
            without = "; ".join(f"without {scope} {SPARE[scope]}" for scope in missing)
            return (_warn("Scopes", f"{without}. {REINSTALL}"),)
        return (_good("Scopes", "all granted"),)


def _requests(socket_mode: Mapping[str, Any] | str) -> Fact:
    if isinstance(socket_mode, str):
        return _good("Slack requests", "arrive over HTTP and are checked with the signing secret")
    if not socket_mode["connected"]:
        return _bad("Socket Mode", f"{socket_mode['trouble']}. The bot keeps retrying.")
    last = f"connected, last message {socket_mode['last_message_age']} s ago"
    if socket_mode["rebuilds"]:
        times, reason = socket_mode["rebuilds"], socket_mode["last_loss"]
        last = f"{last}, reconnected {times}× (last reason: {reason})"
    return _good("Socket Mode", last)


async def _channels(context: CommandContext, broken: Mapping[str, str]) -> list[Fact]:
    """The channels that take no posts; a private one has no name for those who aren't in it."""
    facts = []
    for channel, error in broken.items():
        name = channel if await context.sees_channel(channel) else "A private channel"
        fix = " Type /invite @outreach there." if error == "not_in_channel" else ""
        facts.append(_bad("Channel", f"{name}: {REJECTIONS.get(error, error)}.{fix}"))
    if not context.workspace.alert_channel:
        facts.append(_bad("Channel", "there is no alert channel. Set OUTREACH_ALERT_CHANNEL."))
    return facts or [_good("Channels", "take alerts")]


def _fact(label: str, found: str, *, fix: str = "") -> Fact:
    """One word of the state: it works, it was not asked yet, or what is wrong with it."""
    if found == OK:
        return _good(label, found)
    if found == NOT_CHECKED:
        return Fact(label=label, value=found, tone=Tone.UNKNOWN)
    return _bad(label, f"{found.removesuffix('.')}. {fix}".rstrip())


def _good(label: str, value: str) -> Fact:
    return Fact(label=label, value=value, tone=Tone.GOOD)


def _warn(label: str, value: str) -> Fact:
    return Fact(label=label, value=value, tone=Tone.WARN)


def _bad(label: str, value: str) -> Fact:
    return Fact(label=label, value=value, tone=Tone.BAD)
