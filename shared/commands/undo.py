"""`undo`: takes a change of sequences back, by what the audit holds of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from shared.commands.base import COMMANDS, Act, Arguments, Choice, Command, Problem, Question, Result, refused
from shared.domain.card import Button, Card, Tone
from shared.domain.roles import Role
from shared.text.formats import clip, show_number, show_time

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.commands.hold import Changed
    from shared.commands.pause import Tally, Target
    from shared.commands.run import CommandContext
    from shared.records.audit import AuditEntry, Before, Undoable

WITHIN = timedelta(minutes=10)
"""How long a typed `undo` finds a change."""
KEPT = timedelta(days=7)
"""How long the Undo of a card counts."""
NAMED = 5
UNDO = "Undo"
"""The label of the button that takes back what its card tells."""


class Undo(Arguments):
    """`undo`."""

    verb = "undo"


class UndoChange(Act):
    """Takes back the change with this number in the audit, as far as nobody changed its sequences since."""

    change: int

    @property
    def verb(self) -> str:
        return "undo"

    async def carry_out(self, context: CommandContext) -> Result:

        records = context.changes
        found = await records.undoable(context.workspace.name, self.change)
        if found is None or found.entry.at < context.now() - KEPT:
            return _too_late()
        if refusal := _refusal(found, context):
            return refusal
        if not await records.take_undo(self.change, context.actor.shown):
            return _undone_already(replace(found.entry, undone_by="someone else"))
        try:
            result = await _take_back(found, context)
        except BaseException:
            await records.give_back_undo(self.change)  # one that failed can be tried again
            raise
        if not result.sequences:
            await records.give_back_undo(self.change)
            return result
        return await _with_rest(result, self.change, context)


def _refusal(found: Undoable, context: CommandContext) -> Result | None:
    """Why a change can't be taken back; None if it can."""
    if found.entry.undone_by:
        return _undone_already(found.entry)
    if refusal := _not_permitted(found.entry, context):
        return refusal
    return None if _left(found) else _moved_on(found, context)


async def _with_rest(result: Result, change: int, context: CommandContext) -> Result:
    """The result of an Undo; that of a guardrail's pause also lets its rule rest."""
    from shared.domain.wall_clock import moment

    if context.records is None:
        return result
    rests = await context.records.guardrails.rest_undone(change, context.actor.name)
    if rests is None or rests.until is None:
        return result
    until = show_time(moment(rests.until), now=context.now(), zone=context.zone)
    text = (*result.card.text, f"Guardrail {rests.rule} is snoozed until {until}.")
    return replace(result, card=replace(result.card, text=text))


async def _run(_: Undo, context: CommandContext) -> Result | Question:
    """Ask about the person's newest change that is not undone: which it was, and what undoing it does."""
    since = context.now() - WITHIN
    name = context.workspace.name
    found = await context.changes.last_undoable(name, context.actor, since)
    if found is None:
        card = Card(
            title="Nothing to undo",
            tone=Tone.WARN,
            text=(
                "You paused and resumed nothing here in the last 10 minutes.",
                "`audit` shows all changes. Buttons on the bot's messages undo older ones.",
            ),
        )
        return Result(card=card, problem=Problem(text="nothing to undo"))
    if refusal := _refusal(found, context):
        return refusal
    entry, left = found.entry, _left(found)
    kept = (_changed_since(found, context),) if len(left) < len(entry.undoable) else ()
    return Question(
        card=Card(
            title=f"Undo “{clip(entry.command)}” of {_at(entry, context)}?",
            tone=Tone.WARN,
            text=(*_does(left, context), *kept),
        ),
        choices=(Choice(label=_label(left), act=UndoChange(change=entry.number)),),
    )


def _left(found: Undoable) -> Mapping[str, Before]:
    """The sequences that nobody has changed since."""
    return {name: one for name, one in found.entry.undoable.items() if name not in found.moved}


def _not_permitted(entry: AuditEntry, context: CommandContext) -> Result | None:
    statuses = {one.status for one in entry.undoable.values()}
    for verb in ("resume" if "active" in statuses else "", "pause" if "paused" in statuses else ""):
        if verb and not context.allows(COMMANDS[verb]):
            title = f"You don't have permission to {verb} sequences here"
            return refused(title, "Nothing was changed.", why="role")
    return None


def _label(left: Mapping[str, Before]) -> str:
    """`Resume 3 sequences`; where some are resumed and others paused, `Undo 5 changes`."""
    statuses = {one.status for one in left.values()}
    if len(statuses) > 1:
        return f"Undo {show_number(len(left), 'change')}"
    verb = "Resume" if statuses == {"active"} else "Pause"
    return f"{verb} {show_number(len(left), 'sequence')}"


def _does(left: Mapping[str, Before], context: CommandContext) -> tuple[str, ...]:
    """What undoing does to each sequence, with the end that a pause had."""
    resumed = [one.label for one in left.values() if one.status == "active"]
    lines = [f"This resumes {_listed(resumed)}."] if resumed else []
    ends: dict[str, list[str]] = {}
    for one in left.values():
        if one.status == "paused":
            ends.setdefault(_end(one, context), []).append(one.label)
    lines += [f"This pauses {_listed(labels)}{end}." for end, labels in ends.items()]
    return tuple(lines)


def _listed(labels: list[str]) -> str:
    more = f" and {len(labels) - NAMED} more" if len(labels) > NAMED else ""
    return ", ".join(clip(one, length=40) for one in labels[:NAMED]) + more


def _end(before: Before, context: CommandContext) -> str:
    """` until 16:30 UTC`, or that a pause had no end."""
    from shared.domain.wall_clock import moment

    if before.ends_at is None:
        return " without an end"
    return f" until {show_time(moment(before.ends_at), now=context.now(), zone=context.zone)}"


async def _take_back(found: Undoable, context: CommandContext) -> Result:
    """Make each sequence what it was before, under its lock, where it is unchanged."""
    from shared.commands.hold import change_status
    from shared.commands.pause import Tally, Target, change_each
    from shared.domain.wall_clock import moment

    left = _left(found)
    now = context.now().timestamp()
    due = {name for name, one in left.items() if one.ends_at is not None and one.ends_at <= now}

    async def change(target: Target) -> Changed:
        before = left[target.id]
        until = None if before.ends_at is None else moment(before.ends_at)
        return await change_status(target, before.status, until=until, reason=before.reason, context=context)

    targets = [
        Target(id=name, label=one.label, unchanged_since=one.revision)
        for name, one in left.items()
        if name not in due
    ]
    if len(targets) == 1:
        tally = Tally()
        tally.count(targets[0], await change(targets[0]))  # its error is told as an error
    else:
        tally = await change_each(targets, change)
    return _result(found, tally, due=[left[name].label for name in left if name in due], context=context)


def _result(found: Undoable, tally: Tally, *, due: list[str], context: CommandContext) -> Result:
    from shared.commands.pause import effect_of, leftovers

    done = {one.id: found.entry.undoable[one.id] for one in tally.touched}
    statuses = sorted({one.status for one in done.values()})
    status = statuses[0] if len(statuses) == 1 else "active"
    over = f"The pause would be over by now: {_listed(due)}. Nothing was changed there." if due else ""
    moved = _changed_since(found, context) if found.moved else ""
    text = tuple(filter(None, (over, moved, *leftovers(tally, status))))
    if not done:
        failed = bool(tally.failed or tally.uncertain)
        card = Card(
            title="Couldn't undo this" if failed else "Nothing left to undo",
            tone=Tone.BAD if failed else Tone.WARN,
            text=text,
            buttons=(Button(label="Sequences", action=_sequences()),) if tally.uncertain else (),
        )
        audit = f"failed: {' '.join(text)}" if failed else ""
        return Result(card=card, audit=audit, effect="failed" if failed else "")
    title = _title(list(done.values()), context)
    return Result(
        card=Card(title=title, tone=Tone.WARN if tally.failed or tally.uncertain else Tone.GOOD, text=text),
        rows=tuple({"id": name, "name": one.label, "status": one.status} for name, one in done.items()),
        audit=f"{title} ({', '.join(done)})",
        effect=effect_of(status),
        sequences=tuple(done),
        undoes=found.entry.number,
    )


def _sequences() -> Arguments:
    from shared.commands.sequences import Sequences

    return Sequences()


def _title(done: list[Before], context: CommandContext) -> str:
    ends = {_end(one, context) if one.status == "paused" else "" for one in done}
    what = clip(done[0].label) if len(done) == 1 else show_number(len(done), "sequence")
    are = "is" if len(done) == 1 else "are"
    if ends == {""}:
        return f"{what} {are} active again"
    if "" not in ends and len(ends) == 1:
        return f"{what} {are} paused again{ends.pop()}"
    return f"{what} {are} as before"


def _too_late() -> Result:
    text = ("`audit` shows all changes.",)
    card = Card(title="It's too late to undo this", tone=Tone.WARN, text=text)
    return Result(card=card, problem=Problem(text="nothing to undo"))


def _undone_already(entry: AuditEntry) -> Result:
    card = Card(title=f"Already undone by {entry.undone_by}", text=("Nothing was changed.",))
    return Result(card=card, problem=Problem(text="undone already"))


def _moved_on(found: Undoable, context: CommandContext) -> Result:
    return refused(
        "Not undone: it was changed later",
        _changed_since(found, context),
        "Nothing was changed.",
        why="it was changed later",
    )


def _changed_since(found: Undoable, context: CommandContext) -> str:
    last = max(found.moved.values(), key=lambda one: one.at)
    count = show_number(len(found.moved), "sequence")
    reason = f" · {clip(last.reason, length=200)}" if last.reason else ""
    return (
        f"{count} changed later and left as is. Last change: {last.actor.shown} at "
        f"{_at(last, context)}: {clip(last.result, length=200)}{reason}"
    )


def _at(entry: AuditEntry, context: CommandContext) -> str:
    return show_time(entry.at, now=context.now(), zone=context.zone)


COMMAND = Command(
    arguments=Undo,
    run=_run,
    rank=200,
    summary="Undo your newest pause or resume, then the one before, each within 10 minutes",
    changes=True,
    asks=True,
    role=Role.OPERATOR,
    examples=("undo",),
)
