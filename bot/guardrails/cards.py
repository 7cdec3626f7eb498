"""The cards that guardrails post in a channel. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from bot.alerts.cards import show_time
from shared.commands.guardrails import Guard
from shared.commands.pause import Pause
from shared.commands.times import End
from shared.domain.card import Button, Card, Fact, Tone
from shared.domain.wall_clock import moment
from shared.guardrails.rule import Action, Rule, Scope
from shared.records.guardrails import Incident
from shared.store.guardrails import Claim
from shared.text.formats import clip, show_number, show_some

MOST_NAMES = 5


def _card(
    about: Claim | Incident, title: str, *text: str, button: Button | None = None, failure: bool = False
) -> Card:
    """A card about a rule: what was measured, and in its menu what keeps the rule quiet."""
    name, day = about.rule, timedelta(days=1)
    quiet = (
        Button(label="Turn off for 24 h", action=Guard(act="off", name=name, duration=day), menu=True),
        Button(label="Turn rule off", action=Guard(act="off", name=name), menu=True),
        Button(label="Test the rule", action=Guard(act="test", name=name), menu=True),
    )
    return Card(
        title=f"Guardrail {name} {title}",
        tone=Tone.BAD if failure else Tone.WARN,
        failure=failure,
        text=(_sentence(about.note), *filter(None, text)),
        facts=(Fact(label="Rule", value=about.sentence),),
        buttons=(button, *quiet) if button else quiet,
    )


def _sentence(note: str) -> str:
    """A note or a reason, as a sentence."""
    return f"{note[:1].upper()}{note[1:]}."


def paused(
    incident: Incident, names: Sequence[str], *, left: Sequence[str], failed: Sequence[str], cut: str
) -> Card:
    """The card of a rule that paused these. Its message is drawn by `bot.alerts.changes`, which says how they are now."""
    what = clip(names[0]) if len(names) == 1 else show_number(len(names), "sequence")
    until = f" until {show_time(moment(incident.resumes_at))}" if incident.resumes_at else ""
    return _card(
        incident,
        f"paused {what}{until}",
        f"{_listed(names)}." if len(names) > 1 else "",
        f"Left running because of the rule's limit: {_listed(left)}." if left else "",
        f"Not paused because the service refused: {_listed(failed)}." if failed else "",
        cut,
    )


def _listed(names: Sequence[str]) -> str:
    return show_some([clip(name, length=40) for name in names], MOST_NAMES)


def not_paused(incident: Incident, why: str, *, failed: bool) -> Card:
    """The card of a rule that should have paused and didn't: the service refused, or someone was first."""
    return _card(incident, f"didn't pause {clip(incident.label)}", why, failure=failed)


def finding(about: Claim | Incident, rule: Rule, *, target: str = "", is_paused: bool = False) -> Card:
    """The card of a rule that suggests a pause or notifies; `target` is what its button pauses.

    It offers no pause while everything is paused.
    """
    label, only_tells = clip(about.label), rule.action is Action.TELL
    if is_paused:
        these = {Scope.WORKSPACE: "all sequences are", Scope.DOMAIN: f"the sequences of {label} are"}
        return _card(about, f"fired: {these.get(rule.scope, f'{label} is')} paused")
    offers = rule.scope is Scope.DOMAIN or not only_tells
    duration = None if only_tells else rule.duration
    pause = Pause(target=(target,), end=End(duration=duration), reason=f"guardrail {about.rule}")
    button = Button(label=f"Pause {rule.scope}"[:24], action=pause, tone=Tone.BAD) if offers else None
    if only_tells:
        what = "the outreach workspace" if rule.scope is Scope.WORKSPACE else f"{rule.scope} {label}"
        return _card(about, f"fired for {what}", button=button)
    what = "all sequences" if rule.scope is Scope.WORKSPACE else label
    return _card(about, f"suggests pausing {what}", button=button)


def together(cards: Sequence[tuple[Incident, Card]]) -> Card:
    """All that rules found on one domain, on the card of the first that suggests a pause, or else of the first."""
    first, card = min(cards, key=lambda pair: pair[0].action != Action.SUGGEST)
    more = [
        f"{other.rule} on {clip(other.label)}: {_sentence(other.note)}"
        for other, _ in cards
        if other is not first
    ]
    return replace(card, text=(*card.text, *more))


def over(incident: Incident) -> Card:
    """The card of a finding that has ended."""
    title = f"{clip(incident.label)} is back within the limit of guardrail {incident.rule}"
    return Card(title=title, tone=Tone.GOOD, text=(f"It was: {incident.note}.",))


def handed_over(domain: str) -> Card:
    """The card that points to that of the domain's pause, which shows the findings by now."""
    return Card(title=f"Guardrails on {clip(domain)}: see the card of its pause")
