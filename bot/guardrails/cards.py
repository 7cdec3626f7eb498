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
from shared.text.formats import clip, show_number

MOST_NAMES = 5


def _card(
    about: Claim | Incident, title: str, *text: str, button: Button | None = None, failure: bool = False
) -> Card:
    """A card about a rule: what was measured, and in its menu what keeps the rule quiet."""
    name, day = about.rule, timedelta(days=1)
    quiet = (
        Button(label="Snooze rule 24 h", action=Guard(act="snooze", name=name, duration=day), menu=True),
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
    incident: Incident,
    names: Sequence[str],
    *,
    extended: Sequence[str] = (),
    left: Sequence[str] = (),
    failed: Sequence[str] = (),
    cut: str = "",
) -> Card:
    """The card of a rule that paused. `extended` were paused until earlier.

    Its message is drawn by `bot.alerts.changes`, which says how the sequences are now.
    """
    done = (*names, *extended)
    what = clip(done[0]) if len(done) == 1 else show_number(len(done), "sequence")
    until = f" until {show_time(moment(incident.resumes_at))}" if incident.resumes_at else ""
    return _card(
        incident,
        f"paused {what}{until}",
        f"{_listed(done)}." if len(done) > 1 else "",
        f"Paused before, but for less long: {_listed(extended)}." if extended else "",
        f"Left running because of the rule's limit: {_listed(left)}." if left else "",
        f"Not paused because the service refused: {_listed(failed)}." if failed else "",
        cut,
    )


def not_paused(incident: Incident, why: str, *, failed: bool) -> Card:
    """The card of a rule that should have paused and didn't: the service refused, or someone was first."""
    return _card(incident, f"didn't pause {clip(incident.label)}", why, failure=failed)


def suggestion(about: Claim | Incident, rule: Rule, *, target: str, why: str = "") -> Card:
    """The card of a rule that suggests a pause, with the one button that does it."""
    what = "all sequences" if rule.scope is Scope.WORKSPACE else clip(about.label)
    pause = Pause(target=(target,), end=End(duration=rule.duration), reason=f"guardrail {about.rule}")
    button = Button(label=f"Pause {rule.scope}"[:24], action=pause, tone=Tone.BAD)
    return _card(about, f"suggests pausing {what}", why, button=button)


def at_rest(about: Claim | Incident, rule: Rule) -> Card:
    """The card of a rule whose sequences are paused: it offers no pause."""
    what = {Scope.WORKSPACE: "all sequences are", Scope.DOMAIN: f"the sequences of {clip(about.label)} are"}
    return _card(about, f"fired: {what.get(rule.scope, f'{clip(about.label)} is')} paused")


def notice(about: Claim | Incident, rule: Rule) -> Card:
    """The card of a rule that notifies."""
    if rule.scope is Scope.WORKSPACE:
        return _card(about, "fired for the outreach workspace")
    button = None
    if rule.scope is Scope.DOMAIN:
        pause = Pause(target=(target_of(rule, about.label),), reason=f"guardrail {about.rule}")
        button = Button(label="Pause domain", action=pause, tone=Tone.BAD)
    return _card(about, f"fired for {rule.scope} {clip(about.label)}", button=button)


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


def waiting(names: Sequence[str], why: str) -> Card:
    """The card that says that rules don't act, because their data is stale or incomplete."""
    return Card(
        title="Guardrails can't pause right now",
        tone=Tone.WARN,
        text=(_sentence(why), f"Rules: {_listed(names)}."),
        buttons=(Button(label="Show guardrails", action=Guard()),),
    )


def trusted_again() -> Card:
    """The card that says that data is fresh and complete again."""
    return Card(title="Guardrails can pause again", tone=Tone.GOOD)


def target_of(rule: Rule, label: str) -> str:
    """The target of the command with which a person pauses a subject of the rule."""
    return {Scope.DOMAIN: f"domain:{label.casefold()}", Scope.WORKSPACE: "all"}.get(rule.scope, label)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(clip(name, length=40) for name in names[:MOST_NAMES])
    return f"{shown} and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else shown
