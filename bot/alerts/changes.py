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
from shared.records.audit import AuditEntry
from shared.text.formats import clip, show_number

SOON = timedelta(hours=18)
"""A time that is closer needs no day beside it."""


def message(entry: AuditEntry, card: Card, *, workspace: str = "") -> Message:
    """The line, with its Undo while that takes something back; `card` has what else was said, and other buttons.

    `workspace` is the one that the buttons mean, where there are several.
    """
    is_rule, stands = entry.actor.face == "bot", not (entry.undone_by or entry.overtaken_by)
    buttons = [button for button in card.buttons if not isinstance(button.action, UndoChange)]
    said = list(card.text)
    if stands:
        buttons.insert(0, Button(label=UNDO, action=UndoChange(change=entry.number), workspace=workspace))
        said += [f"{fact.label}: {fact.value}" for fact in card.facts if fact.at is None]
    elif is_rule:
        said.insert(0, f"{_rule(entry)} paused it.")
    if is_rule and entry.undone_by:
        said.append("The rule is snoozed for 24 h.")
    if stands or is_rule:  # else it tells of an end that may be another by now
        said.append(card.footer)
    return card_blocks.render_line(_title(entry), " · ".join(filter(None, said)), buttons=buttons)


def _rule(entry: AuditEntry) -> str:
    """`Guardrail bounces-3`."""
    return entry.actor.name[:1].upper() + entry.actor.name[1:]


def _title(entry: AuditEntry) -> str:
    states = {name: entry.state_of(name) for name in entry.undoable}
    paused = {name: state for name, state in states.items() if state.status == "paused"}
    some = paused or states
    labels = [entry.undoable[name].label for name in some]
    # Names come from outside, and Slack reads this line: none of them styles it or mentions anybody.
    what = card_blocks.escape_marks(
        clip(labels[0]) if len(labels) == 1 else show_number(len(labels), "sequence")
    )
    makers = {state.by for state in some.values()}
    by = card_blocks.escape_marks(makers.pop()) if len(makers) == 1 else ""
    if entry.undone_by and all(before.later is None for before in entry.undoable.values()):
        by = by and f"undone by {by}"
    by = by and f" · {by}"
    if not paused:
        return f"▶ {what} {'is' if len(states) == 1 else 'are'} sending again{by}"
    until = _until(entry, {state.ends_at for state in paused.values()})
    if len(paused) < len(states):
        what = f"{len(paused)} of {show_number(len(states), 'sequence')}"
    elif entry.actor.face == "bot" and {state.by for state in paused.values()} == {entry.actor.name}:
        return f"⏸ {card_blocks.escape_marks(_rule(entry))} paused {what}{until}"
    return f"⏸ {what} paused{until}{by}"


def _until(entry: AuditEntry, ends: Collection[float | None]) -> str:
    """` until 16:31` in the reader's time zone; empty where they have no end, or several."""
    end = moment(next(iter(ends))) if len(ends) == 1 else None
    return f" until {card_blocks.date(end, with_day=end - entry.at > SOON)}" if end else ""


def history(entry: AuditEntry) -> Message:
    """The message in the thread of an earlier change: who changed its sequences again, and why."""
    who = card_blocks.escape_marks(entry.actor.shown)
    who = f"{who[:1].upper()}{who[1:]}"
    did = f"{who} resumed it."
    if entry.undoes:
        did = f"{who} undid this."
    elif entry.effect == "paused":
        until = _until(entry, {before.new_end for before in entry.undoable.values()})
        did = f"{who} paused it{until}."
    elif entry.actor.face == "bot":
        did = "The pause ended."
    return card_blocks.render_line(did, f"Reason: {clip(entry.reason)}" if entry.reason else "")
