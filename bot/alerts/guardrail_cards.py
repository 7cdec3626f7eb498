"""The cards that guardrails post in a channel. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from bot.alerts.wording import show_time
from shared.commands.base import clip
from shared.commands.guardrails import Guard
from shared.commands.pause import Pause
from shared.domain.card import Button, Card, Fact, Tone
from shared.domain.wall_clock import moment
from shared.guardrails.rule import Action, Rule, Scope
from shared.records.guardrails import Incident
from shared.text.formats import show_number

MOST_NAMES = 5


def _card(
    title: str,
    text: Sequence[str],
    rule: str,
    sentence: str,
    *,
    button: Button | None = None,
    tone: Tone = Tone.WARN,
    failure: bool = False,
    footer: str = "",
) -> Card:
    """A card about a rule, with what keeps the rule quiet in its menu."""
    day = timedelta(days=1)
    quiet = (
        Button(label="Snooze rule 24 h", action=Guard(act="snooze", name=rule, duration=day), menu=True),
        Button(label="Turn rule off", action=Guard(act="off", name=rule), menu=True),
        Button(label="Test the rule", action=Guard(act="test", name=rule), menu=True),
    )
    return Card(
        title=title,
        tone=tone,
        failure=failure,
        text=tuple(filter(None, text)),
        facts=(Fact(label="Rule", value=sentence),),
        buttons=(button, *quiet) if button else quiet,
        footer=footer,
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
    footer: str = "",
) -> Card:
    """What a rule paused, and why. `extended` were paused until earlier.

    Its message is drawn by `bot.alerts.changes`, which says how the sequences are now.
    """
    done = (*names, *extended)
    what = clip(done[0]) if len(done) == 1 else show_number(len(done), "sequence")
    until = f" until {show_time(moment(incident.resumes_at))}" if incident.resumes_at else ""
    text = (
        _sentence(incident.note),
        f"{_listed(done)}." if len(done) > 1 else "",
        f"Paused before, but for less long: {_listed(extended)}." if extended else "",
        f"Left running because of the rule's limit: {_listed(left)}." if left else "",
        f"Not paused because the service refused: {_listed(failed)}." if failed else "",
        cut,
    )
    title = f"Guardrail {incident.rule} paused {what}{until}"
    return _card(title, text, incident.rule, incident.sentence, footer=footer)


def not_paused(incident: Incident, why: str, *, failed: bool, footer: str = "") -> Card:
    """A rule should have paused and didn't: the service refused, or someone was first."""
    return _card(
        f"Guardrail {incident.rule} didn't pause {clip(incident.label)}",
        (_sentence(incident.note), why),
        incident.rule,
        incident.sentence,
        tone=Tone.BAD if failed else Tone.WARN,
        failure=failed,
        footer=footer,
    )


def suggestion(
    name: str, rule: Rule, label: str, note: str, *, target: str, why: str = "", footer: str = ""
) -> Card:
    """A rule suggests a pause, with the one button that does it."""
    what = "all sequences" if rule.scope is Scope.WORKSPACE else clip(label)
    pause = Pause(target=(target,), duration=rule.duration, reason=f"guardrail {name}")
    button = Button(label=f"Pause {rule.scope}"[:24], action=pause, tone=Tone.BAD)
    title = f"Guardrail {name} suggests pausing {what}"
    return _card(title, (_sentence(note), why), name, str(rule), button=button, footer=footer)


def notice(name: str, rule: Rule, label: str, note: str, *, footer: str = "") -> Card:
    """A rule notifies."""
    what = "the outreach workspace" if rule.scope is Scope.WORKSPACE else f"{rule.scope} {clip(label)}"
    button = None
    if rule.scope is Scope.DOMAIN:
        pause = Pause(target=(target_of(rule, label),), reason=f"guardrail {name}")
        button = Button(label="Pause domain", action=pause, tone=Tone.BAD)
    title = f"Guardrail {name} fired for {what}"
    return _card(title, (_sentence(note),), name, str(rule), button=button, footer=footer)


def together(found: Sequence[tuple[Incident, Card]]) -> Card:
    """All that rules found on one domain, on the card of the first that suggests a pause, or else of the first."""
    first = min(found, key=lambda one: one[0].action != Action.SUGGEST)
    more = tuple(
        f"{incident.rule} on {clip(incident.label)}: {_sentence(incident.note)}"
        for incident, _ in found
        if incident.id != first[0].id
    )
    return replace(first[1], text=(*first[1].text, *more))


def over(incident: Incident, *, footer: str = "") -> Card:
    """What a rule found has ended."""
    title = f"{clip(incident.label)} is back within the limit of guardrail {incident.rule}"
    return Card(title=title, tone=Tone.GOOD, text=(f"It was: {incident.note}.",), footer=footer)


def handed_over(domain: str) -> Card:
    """What guardrails found on a domain is on the card of its pause by now."""
    return Card(title=f"Guardrails on {clip(domain)}: see the card of its pause", tone=Tone.INFO)


def waiting(names: Sequence[str], why: str, *, footer: str = "") -> Card:
    """Rules that act don't, because their data is stale or incomplete."""
    return Card(
        title="Guardrails can't pause right now",
        tone=Tone.WARN,
        text=(_sentence(why), f"Rules: {_listed(names)}."),
        buttons=(Button(label="Show guardrails", action=Guard()),),
        footer=footer,
    )


def trusted_again(*, footer: str = "") -> Card:
    """What is known is fresh and complete again."""
    return Card(title="Guardrails can pause again", tone=Tone.GOOD, footer=footer)


def target_of(rule: Rule, label: str) -> str:
    """What a person pauses by a command for a subject of the rule."""
    return {Scope.DOMAIN: f"domain:{label.casefold()}", Scope.WORKSPACE: "all"}.get(rule.scope, label)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(clip(name, length=40) for name in names[:MOST_NAMES])
    return f"{shown} and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else shown
