"""The message of a pause or resumption: one line that says how its sequences are now. Pure.

It is drawn from the change in the audit, which knows what became of each sequence since, and so says the same after an
Undo, the end of a timed pause, and whatever another person or program did.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from bot.blockkit import card_blocks
from bot.blockkit.card_blocks import Message
from shared.commands.undo import UNDO, UndoChange
from shared.domain.card import Button, Card
from shared.domain.wall_clock import moment
from shared.records.audit import AuditEntry, Now
from shared.text.formats import clip, show_number

SOON = timedelta(hours=18)
"""A time that is closer needs no day beside it."""


def message(entry: AuditEntry, card: Card, *, workspace: str = "") -> Message:
    """The line, with its Undo while that takes something back; `card` has what else was said, and other buttons.

    `workspace` is the one that the buttons mean, where there are several.
    """
    stands = not (entry.undone_by or entry.overtaken_by)
    undo = Button(label=UNDO, action=UndoChange(change=entry.number), workspace=workspace)
    others = tuple(button for button in card.buttons if not isinstance(button.action, UndoChange))
    facts = [f"{fact.label}: {fact.value}" for fact in card.facts if fact.at is None] if stands else []
    was = f"{_rule(entry)} paused it." if _is_guardrail(entry) and not stands else ""
    rest = "The rule is snoozed for 24 h." if _is_guardrail(entry) and entry.undone_by else ""
    note = (
        card.footer if stands or _is_guardrail(entry) else ""
    )  # it tells of an end that may be another by now
    said = " · ".join(filter(None, (was, *card.text, *facts, rest, note)))
    return card_blocks.render_line(_title(entry), said, buttons=(undo, *others) if stands else others)


def _is_guardrail(entry: AuditEntry) -> bool:
    return entry.actor.face == "bot"


def _rule(entry: AuditEntry) -> str:
    """`Guardrail bounces-3`."""
    return entry.actor.name[:1].upper() + entry.actor.name[1:]


def _title(entry: AuditEntry) -> str:
    states = {name: entry.state_of(name) for name in entry.undoable}
    paused = {name: state for name, state in states.items() if state.status == "paused"}
    if not paused:
        verb = "is sending again" if len(states) == 1 else "are sending again"
        return f"▶ {_what(entry, states)} {verb}{_by(entry, states.values())}"
    until = _until(entry, paused.values())
    if len(paused) < len(states):
        what = f"{len(paused)} of {show_number(len(states), 'sequence')}"
        return f"⏸ {what} paused{until}{_by(entry, paused.values())}"
    if _is_guardrail(entry) and all(state.by == entry.actor.name for state in paused.values()):
        return f"⏸ {card_blocks.escape_marks(_rule(entry))} paused {_what(entry, paused)}{until}"
    return f"⏸ {_what(entry, paused)} paused{until}{_by(entry, paused.values())}"


def _what(entry: AuditEntry, sequences: Collection[str]) -> str:
    labels = [entry.undoable[name].label for name in sequences]
    what = clip(labels[0]) if len(labels) == 1 else show_number(len(labels), "sequence")
    return card_blocks.escape_marks(what)


def _until(entry: AuditEntry, paused: Collection[Now]) -> str:
    """` until 16:31` in the reader's time zone; empty where they have no end, or several."""
    ends = {state.ends_at for state in paused}
    end = moment(ends.pop()) if len(ends) == 1 else None
    if end is None:
        return ""
    return f" until {card_blocks.date(end, with_day=end - entry.at > SOON)}"


def _by(entry: AuditEntry, states: Collection[Now]) -> str:
    """` · @ben`, where one person or rule made them all so."""
    names = {state.by for state in states}
    name = card_blocks.escape_marks(names.pop()) if len(names) == 1 else ""
    is_undone = entry.undone_by and all(before.later is None for before in entry.undoable.values())
    return f" · {'undone by ' if is_undone else ''}{name}" if name else ""


def history(entry: AuditEntry) -> Message:
    """The message in the thread of an earlier change: who changed its sequences again, and why."""
    who = card_blocks.escape_marks(entry.actor.shown)
    who = f"{who[:1].upper()}{who[1:]}"
    if entry.undoes:
        did = f"{who} undid this."
    elif entry.effect == "paused":
        ends = {before.new_end for before in entry.undoable.values()}
        end = moment(ends.pop()) if len(ends) == 1 else None
        until = f" until {card_blocks.date(end, with_day=end - entry.at > SOON)}" if end else ""
        did = f"{who} paused it{until}."
    else:
        did = "The pause ended." if _is_guardrail(entry) else f"{who} resumed it."
    return card_blocks.render_line(did, f"Reason: {clip(entry.reason)}" if entry.reason else "")
