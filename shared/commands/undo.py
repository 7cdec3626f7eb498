"""`undo` takes a change of sequences back, by what the audit holds of it; `audit` shows who changed what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from shared.api.words import SequenceStatus
from shared.commands.base import (
    NOTHING_CHANGED,
    Act,
    Arguments,
    Changing,
    CommandContext,
    Question,
    Result,
    Stop,
    ask,
    not_done,
    refused,
)
from shared.commands.pause import (
    EFFECT,
    VERB,
    SetStatus,
    Target,
    by_outcome,
    rows_of,
    title_of,
)
from shared.domain.card import Card, Row, Table, Tone, columns, warning
from shared.domain.wall_clock import moment
from shared.text.formats import clip, clip_name, show_number, show_some

if TYPE_CHECKING:
    from shared.records import AuditEntry, Before
    from shared.store.audit import Only

WITHIN = timedelta(minutes=10)
"""The age up to which a typed `undo` finds a change."""
KEPT = timedelta(days=7)
"""The age up to which the Undo of a card works."""
NAMED = 5
AUDIT_COLUMNS = columns("When", "Who", "Where", "Command", "Result")
AUDITED: Mapping[Only, int] = {"refused": 5, "calls": 3, "changes": 20}
"""How many refused commands, assistants' calls and changes are shown."""
UNDO = "Undo"
"""The label of the button that takes back what its card tells."""


class Undo(Changing):
    """Undo your newest pause or resume, then the one before, each within 10 minutes."""

    verb = "undo"
    asks = True
    examples = ("undo",)

    async def run(self, context: CommandContext) -> Result | Question:
        """Ask about the person's newest change that is not undone: which it was, and what undoing it does."""
        since = context.now() - WITHIN
        entry = await context.records.last_undoable(context.workspace.name, context.actor, since)
        if entry is None:
            return not_done(
                "Nothing to undo",
                "You paused and resumed nothing here in the last 10 minutes.",
                "`audit` shows all changes. Buttons on the bot's messages undo older ones.",
                why="nothing to undo",
            )
        left, others = _left(entry, context)
        labels: dict[str, list[str]] = {}
        for one in left.values():
            labels.setdefault(_state(one, context), []).append(clip_name(one.label))
        does = [f"Then {state}: {show_some(named, NAMED)}." for state, named in labels.items()]
        label = f"{UNDO} {show_number(len(left), 'change')}"
        title = f"Undo “{clip(entry.command)}” of {context.show(entry.at)}?"
        # The question names only what it will change; what others changed since stays theirs.
        return ask(title, *does, others, label=label, act=UndoChange(change=entry.number))


class UndoChange(Act):
    """Takes back the change with this number in the audit, as far as nobody changed its sequences since."""

    verb = "undo"
    change: int

    async def run(self, context: CommandContext) -> Result:
        records = context.records
        entry = await records.change_with_number(self.change)
        is_here = entry is not None and entry.workspace == context.workspace.name
        if entry is None or not (is_here and entry.undoable) or entry.at < context.now() - KEPT:
            return not_done("It's too late to undo this", "`audit` shows all changes.", why="nothing to undo")
        left, others = _left(entry, context)
        # Two people may press at once: the first one has it.
        if not await records.take_undo(self.change, context.actor.shown):
            return _undone_by("someone else")
        result = None
        try:
            result = await _take_back(entry, left, others, context)
        finally:  # one that failed or changed nothing can be tried again
            if result is None or not result.sequences:
                await records.give_back_undo(self.change)
        if not result.sequences or entry.actor.face != "bot":
            return result
        # That of a guardrail's pause also lets its rule rest.
        rests = await records.guardrails.rest_undone(self.change, context.actor.name)
        if rests is None or rests.until is None:
            return result
        text = f"Guardrail {rests.rule} is snoozed{context.until(moment(rests.until))}."
        return replace(result, card=replace(result.card, text=(*result.card.text, text)))


def _left(entry: AuditEntry, context: CommandContext) -> tuple[Mapping[str, Before], str]:
    """The sequences that nobody has changed since, and how others left the other ones.

    Raises `Stop` where nothing can be taken back.
    """
    if entry.undone_by:
        raise Stop(_undone_by(entry.undone_by))
    statuses = {one.status for one in entry.undoable.values()}
    for status, verb in VERB.items():
        if status in statuses and not context.allows(verb):
            title = f"You don't have permission to {verb} sequences here"
            raise Stop(refused(title, NOTHING_CHANGED, why="role"))
    left: dict[str, Before] = {}
    others, now = list[str](), context.now()
    for name, before in entry.undoable.items():
        end, later = moment(before.ends_at), before.later
        if later is None and (end is None or end > now):
            left[name] = before
            continue
        how = "its pause would be over"
        if later:
            by = f" by {later.by}" if later.by else ""
            how = f"{EFFECT[later.status]}{by}{context.until(moment(later.ends_at))}"
        others.append(f"{clip_name(before.label)} ({how})")
    text = f"Left as is: {show_some(others, NAMED)}." if others else ""
    if not left:
        why = "it was changed later"
        raise Stop(refused(f"Not undone: {why}", text, NOTHING_CHANGED, why=why))
    return left, text


def _undone_by(who: str) -> Result:
    return not_done(f"Already undone by {who}", NOTHING_CHANGED, why="undone already")


def _state(before: Before, context: CommandContext) -> str:
    """`sending again`, `paused again until 16:30 UTC`."""
    if before.status == "active":
        return "sending again"
    return f"paused again{context.until(moment(before.ends_at))}"


async def _take_back(
    entry: AuditEntry, left: Mapping[str, Before], others: str, context: CommandContext
) -> Result:
    """Restore each sequence as it was, also the end of its pause."""
    from shared.commands.hold import change_each

    wanted = []
    for name, before in left.items():
        target = Target(id=name, label=before.label, unchanged_since=before.revision)
        act = SetStatus(status=before.status, until=moment(before.ends_at), reason=before.reason)
        wanted.append((target, act))
    by, left_as_is = by_outcome(await change_each(wanted, context))
    done, failed, text = by["changed"], by["failed"], (others, *left_as_is)
    if not done:
        audit = f"failed: {' '.join(filter(None, text))}" if failed else ""
        card = warning("Couldn't undo this", *text)
        return Result(card, audit=audit, effect="failed" if audit else "")
    states = {_state(left[target.id], context) for target in done}
    title = title_of(done, states.pop() if len(states) == 1 else "as before")
    is_paused = all(left[target.id].status == "paused" for target in done)
    status: SequenceStatus = "paused" if is_paused else "active"
    ids = tuple(target.id for target in done)
    return Result(
        Card(title, tone=Tone.WARN if failed else Tone.GOOD, text=text),
        rows=rows_of(done, status),
        audit=f"{title} ({', '.join(ids)})",
        effect=EFFECT[status],
        sequences=ids,
        undoes=entry.number,
    )


# -- the audit log


class Audit(Arguments):
    """List recent changes: who, what, when and where."""

    verb = "audit"
    aliases = ("log",)
    own_fields = ("at", "workspace", "via")
    newest_only = True
    examples = ("audit",)

    async def run(self, context: CommandContext) -> Result:
        """The newest changes first; what was refused changed nothing, and is shown apart."""
        records, name, limit = context.records, context.workspace.name, context.limit
        # Each by itself: many refused commands, which anybody can type, would hide the changes.
        entries: list[AuditEntry] = []
        for only, most in AUDITED.items():
            entries += await records.audit(name, limit or most, only=only)
        # Some are written late, such as the result of a request whose answer was lost.
        entries.sort(key=lambda one: one.at, reverse=True)
        rows, data = [], []
        for one in entries:
            is_refused, actor = one.effect == "refused", one.actor
            place, via = f"{actor.face} {actor.channel}".strip(), f", via {actor.via}" if actor.via else ""
            cells = (context.show(one.at), actor.shown, place + via, one.command, one.result)
            rows.append(Row(cells, tone=Tone.WARN if is_refused else Tone.INFO))
            row = {
                "at": one.at.isoformat(),
                "who": actor.name,
                "where": place,
                "via": actor.via or None,
                "workspace": one.workspace,
                "command": one.command,
                "result": one.result,
                "refused": is_refused,
            }
            data.append(row)
        return Result(
            Card("Audit log" if rows else "No changes yet", table=Table(AUDIT_COLUMNS, rows)), rows=data
        )
