"""Pauses or resumes all sequences, or those of a domain, after confirmation."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from collections.abc import Sequence as Sequences
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from shared.api.errors import OutreachError, Uncertain
from shared.api.models import Sequence
from shared.api.pace import Priority
from shared.commands.arguments import (
    ALL,
    DOMAIN,
    OnSequences,
    Resume,
    clip,
    did_you_mean,
)
from shared.commands.arguments import Sequences as ListSequences
from shared.commands.pauses import Pause
from shared.commands.result import Problem, Result
from shared.domain.card import Button, Card, Tone
from shared.operations import sequences
from shared.operations.context import CommandContext
from shared.operations.outcome import need_records, refusal
from shared.operations.pauses import (
    RESUME_TIMER,
    Changed,
    ends_earlier,
    pause_one,
    read_revisions,
    resume_one,
)
from shared.operations.sequences import due_at_of, end_problem, sequence_table, until_text
from shared.records.audit import Effect
from shared.records.records import RecordsUnavailable
from shared.records.sequence_changes import UNDER_WAY, Timer
from shared.text.formats import show_number

LOOK_BACK = timedelta(days=30)
CHANGED_AT_ONCE = 5
SHOWN = 15
STATUS = {"pause": "active", "resume": "paused"}
DONE = {"pause": "paused", "resume": "active again"}
BACK = {"pause": "resume", "resume": "pause"}
NOUN = {"pause": "pause", "resume": "resumption"}
CHECK = "Check `sequences paused`."


@dataclass(slots=True, kw_only=True)
class Tally:
    """The sequences by result."""

    until: datetime | None = None
    """When the pause ends, the same for the timers and for the answer."""
    changed: list[Sequence] = field(default_factory=list)
    extended: list[Sequence] = field(default_factory=list)
    """Those that were paused until earlier."""
    already: int = 0
    moved: int = 0
    """Those that an Undo left as they are, because somebody changed them since."""
    gone: int = 0
    failed: list[str] = field(default_factory=list)
    """Those that the service refused, each with its reason."""
    uncertain: list[Sequence] = field(default_factory=list)
    """Those for which a request was sent whose outcome is unknown."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Of those that were paused or resumed."""
        return tuple(one.id for one in self.changed)

    @property
    def touched(self) -> tuple[str, ...]:
        """Of those that were changed in any way."""
        return tuple(one.id for one in (*self.changed, *self.extended))


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """What a line means: the sequences that can be changed, and those of them that were seen on the domain."""

    able: tuple[Sequence, ...]
    """None where all those on the domain are as the command would make them."""
    seen: tuple[Sequence, ...] = ()
    domain: str = ""
    timed: tuple[Sequence, ...] = ()
    """Those that are paused and would resume before the pause ends."""
    timed_seen: tuple[Sequence, ...] = ()
    domains: tuple[str, ...] = ()
    """Those of the inboxes, where the domain is none of them."""

    @property
    def offers(self) -> tuple[tuple[str, tuple[Sequence, ...]], ...]:
        """The choices offered; the first is what the line says."""
        if not self.domain:
            return (("all", self.able),)
        these = (("these", self.seen),) if self.seen or self.timed_seen else ()
        return these if these and len(self.seen) == len(self.able) else (*these, ("all", self.able))

    @property
    def nothing(self) -> bool:
        """There is nothing to change."""
        return bool(self.domains) or not (self.able or self.timed or self.timed_seen)

    def timed_for(self, word: str) -> tuple[Sequence, ...]:
        """Those whose pause a choice makes longer."""
        return self.timed_seen if word == "these" else self.timed

    def names(self, word: str) -> tuple[str, ...]:
        """The ids of everything that a choice changes."""
        return tuple(one.id for one in (*dict(self.offers)[word], *self.timed_for(word)))


async def find_touched(arguments: OnSequences, context: CommandContext) -> Touched:
    """What the line would touch. Raises `OutreachError`, `RecordsUnavailable`."""
    wanted = arguments.scope
    known, timers = await _list_with_timers(arguments, context)
    due_at = due_at_of(arguments, context)
    able = tuple(one for one in known if one.status == STATUS[arguments.verb])
    timed = tuple(one for one in known if one.status == "paused" and ends_earlier(timers.get(one.id), due_at))
    if wanted == ALL or not (able or timed):
        return Touched(able=able, timed=timed)
    domain = wanted.removeprefix(DOMAIN)
    names = await need_records(context).domain_sequences(
        context.workspace.name, domain, context.now() - LOOK_BACK
    )
    folded = {name.casefold() for name in names}
    on_domain = [one for one in known if one.label.casefold() in folded]
    if not on_domain and (domains := await _other_domains(domain, context)):
        return Touched(able=(), domain=domain, domains=domains)
    seen = tuple(one for one in on_domain if one in able)
    timed_seen = tuple(one for one in on_domain if one in timed)
    if on_domain and not (seen or timed_seen):
        return Touched(able=(), domain=domain)
    return Touched(able=able, seen=seen, domain=domain, timed=timed, timed_seen=timed_seen)


async def _other_domains(domain: str, context: CommandContext) -> tuple[str, ...]:
    """The domains of the inboxes; none where this is one of them, or none is known."""
    inboxes = await context.client.list_inboxes(priority=Priority.INTERACTIVE)
    known = {one.domain for one in inboxes if one.domain}
    return () if domain in known else tuple(sorted(known))


async def _list_with_timers(
    arguments: OnSequences, context: CommandContext
) -> tuple[Sequences[Sequence], Mapping[str, Timer]]:
    """The sequences and, where the command pauses, the timers that stood before the list or stand after it.

    One that resumes a sequence meanwhile is gone afterwards, and one that is set meanwhile was not there before.
    """
    before = await _timers(arguments, context)
    listed = await context.client.list_sequences(priority=Priority.INTERACTIVE)
    return listed, {**before, **await _timers(arguments, context)}


async def _timers(arguments: OnSequences, context: CommandContext) -> Mapping[str, Timer]:
    if context.records is None or arguments.verb != "pause":
        return {}
    try:
        timers = await context.records.timers(context.workspace.name, RESUME_TIMER)
    except RecordsUnavailable:
        return {}
    return {timer.key: timer for timer in timers}


async def pause(arguments: Pause, context: CommandContext) -> Result:
    """`pause SEQUENCE`, `pause all`, `pause domain:acme.com`."""
    return (
        end_problem(arguments, context)
        or await _many(arguments, context)
        or await sequences.pause(arguments, context)
    )


async def resume(arguments: Resume, context: CommandContext) -> Result:
    """`resume SEQUENCE`, `resume all`, `resume domain:acme.com`."""
    return await _many(arguments, context) or await sequences.resume(arguments, context)


async def _many(arguments: OnSequences, context: CommandContext) -> Result | None:
    """Ask about several, or change them once that is confirmed; None: the line means one."""
    if not arguments.scope:
        return None
    touched = await find_touched(arguments, context)
    if touched.nothing:
        return nothing_able(arguments.verb, touched)
    word = touched.offers[0][0]
    if touched.domain and word == "all":
        verb = arguments.verb
        asked = question(arguments, touched, context=context)
        text = (*asked.text, f"To {verb} every sequence: `{verb} all`.")
        return Result(
            card=replace(asked, text=text), problem=Problem(text="which sequences", argument="target")
        )
    if not (arguments.confirmed or context.confirmed):
        yes = replace(arguments, confirmed=True)
        button = Button(label=confirm_label(arguments.verb, touched, word), action=yes, tone=Tone.BAD)
        card = replace(question(arguments, touched, context=context), buttons=(button,))
        return Result(card=card, question=yes)
    tally = await change_each(
        arguments, touched.names(word), context=context, everything=arguments.scope == ALL
    )
    return result_of(arguments, tally, context=context)


def confirm_label(verb: str, touched: Touched, word: str) -> str:
    """The label of the button that confirms a choice."""
    return f"{verb.capitalize()} {word}" if dict(touched.offers)[word] else "Keep paused"


def nothing_able(verb: str, touched: Touched) -> Result:
    """There is none to change, or none of those that were seen on the domain, or no such domain."""
    domain = touched.domain
    if touched.domains:
        hint = did_you_mean(domain, touched.domains)
        card = Card(
            title=f"No inbox is on {clip(domain)}", tone=Tone.WARN, text=(f"Nothing was changed. {hint}",)
        )
        return refusal(card, why="no such domain", argument="target")
    if domain:
        title = f"No {STATUS[verb]} sequence is known to send from {domain}"
        return Result(card=Card(title=title, text=("Nothing was changed.",)))
    return Result(
        card=Card(title=f"No {STATUS[verb]} sequences", text=("Nothing was changed.",)),
        problem=Problem(text="nothing to change"),
    )


def question(arguments: OnSequences, touched: Touched, *, context: CommandContext) -> Card:
    """What would be touched, without its buttons."""
    verb, (word, shown) = arguments.verb, touched.offers[0]
    timed = touched.timed_for(word)
    listed = shown or timed
    title = (
        _title(verb, shown, domain=touched.domain, named=word == "these")
        if shown
        else f"Keep {show_number(len(timed), 'paused sequence')} paused?"
    )
    until = until_text(arguments, context) or " until you resume them"
    longer = f"{show_number(len(timed), 'paused sequence')} would resume earlier: kept paused{until}."
    return Card(
        title=title,
        tone=Tone.WARN,
        text=(*explanation(verb, touched, until=until), *((longer,) if timed else ())),
        table=replace(sequence_table(list(listed[:SHOWN])), total=len(listed)),
    )


async def change_each(
    arguments: OnSequences, ids: Sequences[str], *, context: CommandContext, everything: bool = False
) -> Tally:
    """Pause or resume exactly these; with `everything`, also make all other timed pauses last as long."""
    revisions = await read_revisions(context)
    listed, timers = await _list_with_timers(arguments, context)
    known = {one.id: one for one in listed}
    verb, due_at = arguments.verb, due_at_of(arguments, context)
    tally, turns = Tally(until=due_at), asyncio.Semaphore(CHANGED_AT_ONCE)
    reason = arguments.reason if isinstance(arguments, Pause) else ""
    if everything:
        others = (
            one.id for one in listed if one.status == "paused" and ends_earlier(timers.get(one.id), due_at)
        )
        ids = tuple(dict.fromkeys((*ids, *others)))

    async def change(sequence: Sequence) -> Changed:
        if verb == "resume":
            return await resume_one(sequence, context=context, revisions=revisions)
        return await pause_one(
            sequence, due_at=due_at, reason=reason, context=context, revisions=revisions, never_shorten=True
        )

    async def count(sequence: Sequence) -> None:
        under_way = (revisions or {}).get(sequence.id) == UNDER_WAY
        longer = sequence.status == "paused" and ends_earlier(timers.get(sequence.id), due_at)
        if sequence.status != STATUS[verb] and not (under_way or longer):
            tally.already += 1
            return
        async with turns:
            try:
                done = await change(sequence)
            except Uncertain:
                uncertain.add(sequence.id)
                return
            except (OutreachError, RecordsUnavailable) as error:
                why = error.message if isinstance(error, OutreachError) else str(error)
                failed[sequence.id] = f"{clip(sequence.label, length=40)}: {why}"
                return
        if done.moved:
            tally.moved += 1
        elif done.kept:
            tally.already += 1
        else:
            (extended if done.already else changed).add(sequence.id)

    changed: set[str] = set()
    extended: set[str] = set()
    uncertain: set[str] = set()
    failed: dict[str, str] = {}
    tally.gone = sum(name not in known for name in ids)
    await asyncio.gather(*(count(known[name]) for name in ids if name in known))
    tally.changed = [known[name] for name in ids if name in changed]
    tally.extended = [known[name] for name in ids if name in extended]
    tally.failed = [failed[name] for name in ids if name in failed]
    tally.uncertain = [known[name] for name in ids if name in uncertain]
    return tally


def _audit(arguments: OnSequences, tally: Tally) -> str:
    """Which were changed."""
    changed = ", ".join(tally.ids)
    done = f"{show_number(len(tally.changed), 'sequence')} {DONE[arguments.verb]}: {changed}"
    if not tally.extended:
        return done
    kept = f"{show_number(len(tally.extended), 'sequence')} kept paused: "
    kept += ", ".join(one.id for one in tally.extended)
    return f"{done}; {kept}" if changed else kept


def result_of(arguments: OnSequences, tally: Tally, *, context: CommandContext) -> Result:
    """What became of them."""
    verb = arguments.verb
    if not (tally.touched or tally.failed or tally.uncertain):
        return Result(card=Card(title=f"Nothing left to {verb}", text=_leftovers(tally, verb)))
    until = until_text(arguments, context, due_at=tally.until) if tally.touched else ""
    reason = arguments.reason if isinstance(arguments, Pause) else ""
    text = (
        _names(tally.changed) if tally.changed else "",
        reason and f"Reason: {reason}",
        _extended(tally, until),
        *_leftovers(tally, verb),
    )
    pauses = isinstance(arguments, Pause)
    done: Effect = "paused" if pauses else "resumed"
    return Result(
        card=Card(
            title=_result_title(verb, tally) + until,
            tone=Tone.WARN if tally.failed or tally.uncertain else Tone.GOOD,
            text=tuple(filter(None, text)),
            buttons=(Button(label="Paused sequences", action=ListSequences(status="paused")),)
            if tally.uncertain
            else (),
        ),
        rows=tuple(
            {"id": one.id, "name": one.name, "status": "paused" if pauses else "active"}
            for one in (*tally.changed, *tally.extended)
        ),
        audit=_audit(arguments, tally),
        effect=done if tally.touched else "failed",
        sequences=tally.touched,
        until=tally.until,
        reason=reason,
        undo=(Resume(target=(ALL,)) if pauses else Pause(target=(ALL,))) if tally.changed else None,
        undoable=tally.ids,
    )


def _extended(tally: Tally, until: str) -> str:
    """Which timed pauses end later, or no longer by themselves."""
    if not tally.extended:
        return ""
    names = _names(tally.extended)
    if until:
        last = "pause now lasts" if len(tally.extended) == 1 else "pauses now last"
        return f"Shorter {last}{until}: {names}."
    return f"Already paused, no longer {'resumes' if len(tally.extended) == 1 else 'resume'} automatically: {names}."


def _title(verb: str, touched: Sequences[Sequence], *, domain: str, named: bool) -> str:
    count = show_number(len(touched), f"{STATUS[verb]} sequence")
    if not domain:
        return f"{verb.capitalize()} {count}?"
    return (
        f"{verb.capitalize()} {count} that used {clip(domain)}?"
        if named
        else f"Which sequences send from {clip(domain)}?"
    )


def explanation(verb: str, touched: Touched, *, until: str) -> tuple[str, ...]:
    """What the change does, and how the sequences were found."""
    touches = f"They stop sending{until}. Replies still arrive."
    does = touches if verb == "pause" else "They continue sending where they stopped."
    if not touched.domain:
        return (does,)
    unknown = "The service doesn't list the sequences of a domain."
    if touched.seen:
        return (f"{unknown} These used it in the last 30 days. Others may use it too.", does)
    return (f"{unknown} None used it in the last 30 days.",)


def _result_title(verb: str, tally: Tally) -> str:
    if not tally.changed and tally.extended:
        verb = "stays" if len(tally.extended) == 1 else "stay"
        return f"{show_number(len(tally.extended), 'sequence')} {verb} paused"
    if not tally.changed and tally.uncertain and not tally.failed:
        return f"Couldn't confirm {show_number(len(tally.uncertain), NOUN[verb])}"
    if not tally.changed:
        return f"Couldn't {verb} {show_number(len(tally.failed) + len(tally.uncertain), 'sequence')}"
    return f"{show_number(len(tally.changed), 'sequence')} {'is' if len(tally.changed) == 1 else 'are'} {DONE[verb]}"


def _names(changed: list[Sequence]) -> str:
    names = ", ".join(clip(change.label, length=40) for change in changed[:SHOWN])
    return f"{names} and {len(changed) - SHOWN} more" if len(changed) > SHOWN else names


def _leftovers(tally: Tally, verb: str) -> tuple[str, ...]:
    already = f"{tally.already} unchanged." if tally.already else ""
    failed = [f"Not {STATUS[BACK[verb]]}: {one}" for one in tally.failed[:5]]
    more = f"and {len(tally.failed) - 5} more" if len(tally.failed) > 5 else ""
    gone = (
        f"{show_number(tally.gone, 'sequence')} no longer {'exists' if tally.gone == 1 else 'exist'}."
        if tally.gone
        else ""
    )
    moved = f"{show_number(tally.moved, 'sequence')} changed later and left as is." if tally.moved else ""
    unsure = f"Couldn't confirm: {_names(tally.uncertain)}. {CHECK}" if tally.uncertain else ""
    if tally.uncertain and not (tally.changed or tally.extended or tally.failed):  # the title says the rest
        unsure = f"{_names(tally.uncertain)}: the service didn't confirm. {CHECK}"
    return tuple(filter(None, (already, moved, gone, *failed, more, unsure)))
