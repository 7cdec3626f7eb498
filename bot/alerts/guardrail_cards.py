"""The cards that guardrails post in a channel. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from bot.alerts.wording import show_time
from shared.commands.base import clip
from shared.commands.guardrails import Guard
from shared.commands.inboxes import Inboxes
from shared.commands.pause import Pause
from shared.commands.undo import UNDO, UndoChange
from shared.domain.card import Button, Card, Confirm, Fact, Tone
from shared.domain.wall_clock import moment
from shared.guardrails.activity import WORKSPACE_KEY
from shared.guardrails.rule import Action, Rule, Scope
from shared.guardrails.sentence import Misunderstood, parse
from shared.records.guardrails import Incident
from shared.text.formats import show_number

MOST_NAMES = 5
UNDO_HINT = "Undo resumes what was paused and snoozes this rule for 24 h."


def _sentence(note: str) -> str:
    """A note or a reason, as a sentence."""
    return f"{note[:1].upper()}{note[1:]}."


def paused(
    incident: Incident,
    names: Sequence[str],
    *,
    undo: int,
    extended: Sequence[str] = (),
    left: Sequence[str] = (),
    failed: Sequence[str] = (),
    cut: str = "",
    footer: str = "",
) -> Card:
    """What a rule paused, why, and how to undo it. `extended` were paused until earlier."""
    done = names or extended
    what = clip(done[0]) if len(done) == 1 else show_number(len(done), "sequence")
    until = ""
    if incident.resumes_at is not None:
        until = f" until {show_time(moment(incident.resumes_at))}"
    about = f" of {clip(incident.label)}" if len(done) > 1 and incident.subject != WORKSPACE_KEY else ""
    facts = [Fact(label="Sequences", value=_listed(names))] if len(names) > 1 else []
    text = [_sentence(incident.note)]
    if not until:
        text.append(
            "They stay paused until someone resumes them."
            if len(done) > 1
            else "It stays paused until someone resumes it."
        )
    if extended and until:
        last = "pause now lasts" if len(extended) == 1 else "pauses now last"
        text.append(f"Shorter {last}{until}: {_listed(extended)}.")
    elif extended:
        resume = "resumes" if len(extended) == 1 else "resume"
        text.append(f"Already paused, no longer {resume} automatically: {_listed(extended)}.")
    if left:
        text.append(f"Left running because of the rule's limit: {_listed(left)}.")
    if failed:
        text.append(f"Not paused because the service refused: {_listed(failed)}.")
    if cut:
        text.append(cut)
    return Card(
        title=f"Guardrail {incident.rule} paused {what}{about}{until}"
        if names
        else f"Guardrail {incident.rule} kept {what}{about} paused{until}",
        tone=Tone.WARN,
        text=tuple(text),
        facts=(*facts, Fact(label="Rule", value=incident.sentence)),
        buttons=(
            *((Button(label=UNDO, action=UndoChange(change=undo)),) if undo else ()),
            *_about(incident.rule, _scope_of(incident), incident.label),
        ),
        footer=" · ".join(filter(None, (UNDO_HINT if undo else "", footer))),
    )


def not_paused(incident: Incident, why: str, *, failed: bool, footer: str = "") -> Card:
    """A rule should have paused and didn't: the service refused, or someone was first."""
    return Card(
        title=f"Guardrail {incident.rule} didn't pause {clip(incident.label)}",
        tone=Tone.BAD if failed else Tone.WARN,
        failure=failed,
        text=(_sentence(incident.note), why),
        facts=(Fact(label="Rule", value=incident.sentence),),
        buttons=_about(incident.rule, _scope_of(incident), incident.label),
        footer=footer,
    )


def suggestion(
    name: str, rule: Rule, label: str, note: str, *, target: str, why: str = "", footer: str = ""
) -> Card:
    """A rule suggests a pause, with the one button that does it."""
    pause = Pause(target=(target,), duration=rule.duration, reason=f"guardrail {name}")
    what = "all sequences" if rule.scope is Scope.WORKSPACE else clip(label)
    button = Button(label=f"Pause {rule.scope}"[:24], action=pause, tone=Tone.BAD)
    return Card(
        title=f"Guardrail {name} suggests pausing {what}",
        tone=Tone.WARN,
        text=(_sentence(note), *filter(None, [why])),
        facts=(Fact(label="Rule", value=str(rule)),),
        buttons=(button, *_about(name, rule.scope, label)),
        footer=footer,
    )


def notice(name: str, rule: Rule, label: str, note: str, *, footer: str = "") -> Card:
    """A rule notifies."""
    what = "the outreach workspace" if rule.scope is Scope.WORKSPACE else f"{rule.scope} {clip(label)}"
    pause: tuple[Button, ...] = ()
    if rule.scope is Scope.DOMAIN:
        wanted = Pause(target=(target_of(rule, label),), reason=f"guardrail {name}")
        pause = (Button(label="Pause domain", action=wanted, tone=Tone.BAD),)
    return Card(
        title=f"Guardrail {name} fired for {what}",
        tone=Tone.WARN,
        text=(_sentence(note),),
        facts=(Fact(label="Rule", value=str(rule)),),
        buttons=(*pause, *_about(name, rule.scope, label)),
        footer=footer,
    )


def together(found: Sequence[tuple[Incident, Card]]) -> Card:
    """All that rules found on one domain, on the card of the first that suggests a pause, or else of the first."""
    first = min(found, key=lambda one: one[0].action != Action.SUGGEST)
    more = tuple(
        f"{incident.rule} on {clip(incident.label)}: {_sentence(incident.note)}"
        for incident, _ in found
        if incident.id != first[0].id
    )
    return replace(first[1], text=(*first[1].text, *more))


def handed_over(domain: str) -> Card:
    """What guardrails found on a domain is on the card of its pause by now."""
    return Card(title=f"Guardrails on {clip(domain)}: see the card of its pause", tone=Tone.INFO)


def waiting(names: Sequence[str], why: str, *, footer: str = "") -> Card:
    """Rules that act don't, because their data is stale or incomplete."""
    return Card(
        title="Guardrails can't pause right now",
        tone=Tone.WARN,
        text=(
            _sentence(why),
            f"Rules: {_listed(names)}. They can pause again as soon as the data is complete.",
        ),
        buttons=(Button(label="Show guardrails", action=Guard()),),
        footer=footer,
    )


def trusted_again(*, footer: str = "") -> Card:
    """What is known is fresh and complete again."""
    return Card(title="Guardrails can pause again", tone=Tone.GOOD, footer=footer)


def target_of(rule: Rule, label: str) -> str:
    """What a person pauses by a command for a subject of the rule."""
    return {Scope.DOMAIN: f"domain:{label.casefold()}", Scope.WORKSPACE: "all"}.get(rule.scope, label)


def _about(name: str, scope: Scope | None, label: str) -> tuple[Button, ...]:
    """What a person looks at, and what keeps the rule quiet."""
    inboxes = Inboxes(filter=label.casefold() if scope in {Scope.DOMAIN, Scope.INBOX} else "unhealthy")
    sure = Confirm(
        title=f"Turn {name} off?",
        text="It does nothing until someone turns it on. Sequences that are paused stay paused.",
        yes="Turn off",
    )
    return (
        Button(label="Show inboxes", action=inboxes),
        Button(label="Snooze 24 h", action=Guard(act="snooze", name=name, duration=timedelta(days=1))),
        Button(label="Turn rule off", action=Guard(act="off", name=name), confirm=sure),
        Button(label="Test the rule", action=Guard(act="test", name=name), menu=True),
    )


def _scope_of(incident: Incident) -> Scope | None:
    """What the rule was about when it fired; None where a newer version wrote it."""
    try:
        return parse(incident.sentence).scope
    except Misunderstood:
        return None


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(clip(name, length=40) for name in names[:MOST_NAMES])
    return f"{shown} and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else shown
