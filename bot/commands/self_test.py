"""`/outreach doctor`: what the running bot knows of its own state, each problem with its fix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shared.commands.help import Doctor
from shared.commands.run import CommandContext
from shared.commands.status import REJECTIONS
from shared.domain.card import Button, Card, Fact, Tone
from shared.text.formats import show_number

OK, NOT_CHECKED = "ok", "not checked yet"
"""The state of a part that works, and of one that nobody has asked yet; any other says what is wrong."""


async def self_test(state: Mapping[str, Any], context: CommandContext) -> Card:
    """The state that `/readyz` tells, as far as the reader's workspace and channels go."""
    facts = (
        _state("Service", state["workspaces"][context.workspace.name]["api"]),
        _state("Slack", state["slack"], fix="Check SLACK_BOT_TOKEN."),
        _requests(state["socket_mode"]),
        *await _channels(context, state["channels"]),
        _state("Database", state["database"], fix="Check OUTREACH_DATABASE_URL."),
        _state("Webhook secrets", state["webhook_secrets"]),
        *(Fact(label="Bot", value=problem, tone=Tone.WARN) for problem in context.problems()),
    )
    failures = sum(fact.tone is Tone.BAD for fact in facts)
    doubts = sum(fact.tone in {Tone.WARN, Tone.UNKNOWN} for fact in facts)
    tone, title = Tone.GOOD, "All checks passed"
    if failures:
        tone, title = Tone.BAD, f"{failures} of {len(facts)} checks failed"
    elif doubts:
        tone, title = Tone.WARN, f"{len(facts) - doubts} checks passed, {show_number(doubts, 'warning')}"
    return Card(
        title=title,
        tone=tone,
        failure=failures > 0,
        facts=facts,
        buttons=(Button(label="Check again", action=Doctor()),),
        footer="`outreach doctor` in a shell checks more, and each setting.",
    )


def _requests(socket_mode: Mapping[str, Any] | str) -> Fact:
    if isinstance(socket_mode, str):
        words = "arrive over HTTP and are checked with the signing secret"
        return Fact(label="Slack requests", value=words, tone=Tone.GOOD)
    tone, words = Tone.GOOD, f"connected, last message {socket_mode['last_message_age']} s ago"
    if not socket_mode["connected"]:
        tone, words = Tone.BAD, f"{socket_mode['trouble']}. The bot keeps retrying."
    elif socket_mode["rebuilds"]:
        times, reason = socket_mode["rebuilds"], socket_mode["last_loss"]
        words = f"{words}, reconnected {times}× (last reason: {reason})"
    return Fact(label="Socket Mode", value=words, tone=tone)


async def _channels(context: CommandContext, broken: Mapping[str, str]) -> list[Fact]:
    """The channels that take no posts; a private one has no name for those who aren't in it."""
    problems = []
    for channel, error in broken.items():
        name = channel if await context.sees_channel(channel) else "A private channel"
        fix = " Type /invite @outreach there." if error == "not_in_channel" else ""
        problems.append(f"{name}: {REJECTIONS.get(error, error)}.{fix}")
    if not context.workspace.alert_channel:
        problems.append("there is no alert channel. Set OUTREACH_ALERT_CHANNEL.")
    facts = [Fact(label="Channel", value=problem, tone=Tone.BAD) for problem in problems]
    return facts or [Fact(label="Channels", value="take alerts", tone=Tone.GOOD)]


def _state(label: str, state: str, *, fix: str = "") -> Fact:
    """A part that works, was not asked yet, or says what is wrong with it."""
    tone = {OK: Tone.GOOD, NOT_CHECKED: Tone.UNKNOWN}.get(state, Tone.BAD)
    words = f"{state.removesuffix('.')}. {fix}".rstrip() if tone is Tone.BAD else state
    return Fact(label=label, value=words, tone=tone)
