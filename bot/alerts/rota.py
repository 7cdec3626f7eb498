"""The cards that say whose turn a reply is. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from bot.alerts.wording import about
from bot.blockkit.actions import OnAlert
from shared.api.events import Event
from shared.commands.replies import Replies
from shared.domain.alert import Alert
from shared.domain.card import Button, Card, Tone
from shared.store.alerts import PASSES, Passed
from shared.text.formats import show_exact_span, show_number


class People(Protocol):
    """Tells about the people in rotas; someone unknown has no name and can take turns."""

    def name(self, person: str) -> str: ...
    def is_gone(self, person: str) -> bool: ...


def passed_card(passed: Passed) -> Card:
    """Whose turn it is now, and why."""
    before, turn = passed.before, passed.turn
    missed = "It is unclaimed again."
    if before.owner:
        span = show_exact_span(timedelta(seconds=passed.candidates.pass_after or 0.0))
        missed = f"@{before.owner_name or before.owner} didn't claim it in {span}."
    who = "a lead" if before.is_pruned else about(before.event)
    if turn.owner:
        return _turn_card(f"@{turn.name or turn.owner}'s turn: {who}", missed, before.id)
    tried = {*passed.candidates.people} & {*before.passed.split(), before.owner}
    nobody = (
        "Nobody in the rota claimed it" if len(tried) > PASSES else "Nobody else in the rota is available"
    )
    return _turn_card(f"Nobody's turn: {who}", f"{missed} {nobody}: anyone can.", before.id)


def late_card(event: Event, alert: str) -> Card:
    """The card that mentions the owner of a turn after the quiet hours in which the reply came."""
    return _turn_card(f"Your turn: {about(event)}", "It came in the quiet hours, and is unclaimed.", alert)


def _turn_card(title: str, text: str, alert: str) -> Card:
    claim = Button(label="Claim", action=OnAlert(verb="claim", alert=alert), tone=Tone.GOOD)
    return Card(title=title, tone=Tone.WARN, text=(text,), buttons=(claim,))


def summary_card(group: Sequence[Passed]) -> Card:
    """Several turns that passed on in one channel at once."""
    counts = Counter(
        f"@{turned.turn.name or turned.turn.owner}" if turned.turn.owner else "anyone" for turned in group
    )
    named = ", ".join(f"{count} to {name}" for name, count in counts.most_common())
    return Card(
        title=f"{show_number(len(group), 'interested reply')} passed on",
        tone=Tone.WARN,
        text=(f"Nobody claimed them in time: {named}.",),
        buttons=(Button(label="Show unclaimed", action=Replies()),),
    )


def status_line(alert: Alert) -> str:
    """A sentence about the turn of a reply; empty where it follows no rota, or a person has it."""
    if not alert.rota or alert.waiting_since is None:
        return ""
    if alert.owner:
        return f"@{alert.owner_name or alert.owner}'s turn"
    return "Nobody in the rota claimed it" if alert.passed else "Everyone in the rota is away"
