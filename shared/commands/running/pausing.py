"""Pauses or resumes sequences, one or many: what is meant, what is asked first, and what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from collections.abc import Sequence as Many
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Literal

from shared.api.errors import NotFound, OutreachError, Uncertain
from shared.api.models import Sequence
from shared.api.pace import Priority
from shared.commands.base import (
    ALL,
    DOMAIN,
    Act,
    Choice,
    OnSequences,
    Problem,
    Question,
    Result,
    clip,
    did_you_mean,
    refusal,
    refused,
)
from shared.commands.pause import Pause
from shared.commands.resolve import END_WORDS, Ambiguous, NoMatch, Resolved, resolve_sequence
from shared.commands.resume import Resume
from shared.commands.run import NO_RECORDS, CommandContext, which_sequence
from shared.commands.running.hold import (
    FORGOTTEN,
    Changed,
    Target,
    change_status,
    ends_earlier,
    read_revisions,
    read_timers,
    target_of,
)
from shared.commands.sequences import Sequences, sequence_table
from shared.commands.times import LEAP_DAY, end_mistake
from shared.domain.card import Button, Card, Fact, Tone
from shared.records.audit import Before
from shared.records.records import RecordsUnavailable
from shared.records.sequence_changes import Status, Timer
from shared.text.formats import show_number, show_time

LOOK_BACK = timedelta(days=30)
CHANGED_AT_ONCE = 5
SHOWN = 15
FAILURES_SHOWN = 5
AUTOMATIC = "It resumes automatically."
NO_BOT = (
    "It resumes only while the bot runs, and no bot uses this database. Start it with `outreach bot`. "
    "If it is already running, `outreach doctor` shows which database it uses."
)
CHECK = "Check `sequences paused`."
WAS: Mapping[str, str] = {"paused": "active", "active": "paused"}
"""The status that a sequence has before it gets another."""
VERB: Mapping[str, str] = {"paused": "pause", "active": "resume"}
NOUN: Mapping[str, str] = {"paused": "pause", "active": "resumption"}
DONE: Mapping[str, str] = {"paused": "paused", "active": "active again"}


Change = Callable[[Target], Awaitable[Changed]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetStatus(Act):
    """Pauses or resumes exactly these sequences."""

    status: Status
    targets: tuple[Target, ...]
    until: datetime | None = None
    is_on_day: bool = False
    """The end was given by its day, which is shown with it."""
    reason: str = ""
    keep_longer: bool = False
    """A pause that lasts at least as long is left as it is."""

    @property
    def verb(self) -> str:
        return VERB[self.status]

    async def carry_out(self, context: CommandContext) -> Result:
        if self.until and self.until <= context.now():
            end = show_time(self.until, now=context.now(), zone=context.zone)
            return refused(
                f"{end} has passed", "Nothing was paused.", why="the time has passed", argument="until"
            )
        if len(self.targets) == 1:
            return await self._result_of_one(context)
        tally = await change_each(self.targets, self._change_of(context))
        return result_of_many(tally, self, context=context)

    def _change_of(self, context: CommandContext) -> Change:
        async def change(target: Target) -> Changed:
            return await change_status(
                target,
                self.status,
                until=self.until,
                reason=self.reason,
                keep_longer=self.keep_longer,
                context=context,
            )

        return change

    async def _result_of_one(self, context: CommandContext) -> Result:
        (target,) = self.targets
        done = await self._change_of(context)(target)
        label, row = clip(target.label), {"id": target.id, "name": target.label, "status": self.status}
        is_news = done.note == FORGOTTEN or bool(self.reason)
        if done.outcome in {"already", "kept"} and not is_news:
            other = Resume(target=(target.id,)) if self.status == "paused" else Pause(target=(target.id,))
            card = Card(
                title=f"{label} is already {self.status}",
                text=("Nothing was changed.",),
                buttons=(Button(label=other.verb.capitalize(), action=other),),
                footer=done.note,
            )
            return Result(card=card, rows=(row,))
        stays = done.outcome in {"extended", "already"}
        if self.status == "active":
            state = "stays active" if stays else "is active again"
        else:
            state = f"{'stays' if stays else 'is'} paused{self.end(context)}"
        resumes = self.until is None or await _bot_runs(context)
        facts = [Fact(label="Reason", value=self.reason)] if self.reason else []
        if self.until:  # for faces that know each reader's zone
            shown = show_time(self.until, now=context.now(), zone=context.zone)
            facts.append(Fact(label="Until", value=shown, at=self.until))
        return Result(
            card=Card(
                title=f"{label} {state}",
                tone=Tone.GOOD if resumes else Tone.WARN,
                text=(AUTOMATIC if resumes else NO_BOT,) if self.until else (),
                facts=tuple(facts),
                footer=done.note,
            ),
            rows=(row,),
            audit=f"{label} {state}",
            effect="paused" if self.status == "paused" else "resumed",
            sequences=(target.id,),
            until=self.until,
            reason=self.reason,
            undoable={target.id: done.before} if done.before else {},
        )

    def end(self, context: CommandContext) -> str:
        """` until 30 Nov 09:00 CET`; with the day also where it is today. Empty if the pause has no end."""
        if self.until is None:
            return ""
        now, zone = context.now(), context.zone
        is_today = self.until.astimezone(zone).date() == now.astimezone(zone).date()
        today = "today " if self.is_on_day and is_today else ""
        return f" until {today}{show_time(self.until, now=now, zone=zone)}"


@dataclass(slots=True, kw_only=True)
class Tally:
    """Sequences by what became of them."""

    changed: list[Target] = field(default_factory=list)
    extended: list[Target] = field(default_factory=list)
    """Those whose pause got another end."""
    same: list[Target] = field(default_factory=list)
    moved: list[Target] = field(default_factory=list)
    """Those that an Undo left as they are, because somebody changed them since."""
    gone: list[Target] = field(default_factory=list)
    uncertain: list[Target] = field(default_factory=list)
    """Those for which a request was sent whose outcome is unknown."""
    failed: list[str] = field(default_factory=list)
    """Those that the service refused, each with its reason."""
    undoable: dict[str, Before] = field(default_factory=dict)

    @property
    def touched(self) -> list[Target]:
        return [*self.changed, *self.extended]

    def count(self, target: Target, outcome: Changed | OutreachError | RecordsUnavailable) -> None:
        if isinstance(outcome, Changed):
            lists = {"changed": self.changed, "extended": self.extended, "moved": self.moved}
            lists.get(outcome.outcome, self.same).append(target)
            if outcome.before:
                self.undoable[target.id] = outcome.before
        elif isinstance(outcome, Uncertain):
            self.uncertain.append(target)
        elif isinstance(outcome, NotFound):
            self.gone.append(target)
        else:
            why = outcome.message if isinstance(outcome, OutreachError) else str(outcome)
            self.failed.append(f"{clip(target.label, length=40)}: {why}")


async def change_each(targets: Many[Target], change: Change) -> Tally:
    """Change each of several, a few at once; one that fails doesn't stop the others."""
    turns, tally = asyncio.Semaphore(CHANGED_AT_ONCE), Tally()

    async def one(target: Target) -> Changed | OutreachError | RecordsUnavailable:
        async with turns:
            try:
                return await change(target)
            except (OutreachError, RecordsUnavailable) as error:
                return error

    outcomes = await asyncio.gather(*map(one, targets))
    for target, outcome in zip(targets, outcomes, strict=True):
        tally.count(target, outcome)
    return tally


def result_of_many(tally: Tally, act: SetStatus, *, context: CommandContext) -> Result:
    """What became of several sequences."""
    status = act.status
    if not (tally.touched or tally.failed or tally.uncertain or tally.gone):
        title = f"Nothing left to {VERB[status]}"
        return Result(card=Card(title=title, text=leftovers(tally, status)))
    until = act.end(context) if tally.touched else ""
    text = (
        names_of(tally.changed),
        act.reason and f"Reason: {act.reason}",
        _extended(tally, until),
        *leftovers(tally, status),
    )
    paused = (Button(label="Paused sequences", action=Sequences(status="paused")),)
    return Result(
        card=Card(
            title=_title_of_many(tally, status) + until,
            tone=Tone.WARN if tally.failed or tally.uncertain or tally.gone else Tone.GOOD,
            text=tuple(filter(None, text)),
            buttons=paused if tally.uncertain else (),
        ),
        rows=tuple({"id": one.id, "name": one.label, "status": status} for one in tally.touched),
        audit=_audit(tally, status),
        effect=effect_of(status) if tally.touched else "failed",
        sequences=tuple(one.id for one in tally.touched),
        until=act.until,
        reason=act.reason,
        undoable=tally.undoable,
    )


def effect_of(status: Status) -> Literal["paused", "resumed"]:
    return "paused" if status == "paused" else "resumed"


def _audit(tally: Tally, status: Status) -> str:
    parts = []
    if tally.changed or not tally.extended:
        ids = ", ".join(one.id for one in tally.changed)
        parts.append(f"{show_number(len(tally.changed), 'sequence')} {DONE[status]}: {ids}")
    if tally.extended:
        ids = ", ".join(one.id for one in tally.extended)
        parts.append(f"{show_number(len(tally.extended), 'sequence')} kept paused: {ids}")
    return "; ".join(parts)


def _extended(tally: Tally, until: str) -> str:
    """Which timed pauses end later, or no longer by themselves."""
    if not tally.extended:
        return ""
    is_one, names = len(tally.extended) == 1, names_of(tally.extended)
    if until:
        return f"Shorter {'pause now lasts' if is_one else 'pauses now last'}{until}: {names}."
    return f"Already paused, no longer {'resumes' if is_one else 'resume'} automatically: {names}."


def _title_of_many(tally: Tally, status: Status) -> str:
    count = len(tally.changed)
    if count:
        is_paused = "is" if count == 1 else "are"
        return f"{show_number(count, 'sequence')} {is_paused} {DONE[status]}"
    if tally.extended:
        stays = "stays" if len(tally.extended) == 1 else "stay"
        return f"{show_number(len(tally.extended), 'sequence')} {stays} paused"
    if not (tally.failed or tally.gone):
        return f"Couldn't confirm {show_number(len(tally.uncertain), NOUN[status])}"
    failed = len(tally.failed) + len(tally.uncertain) + len(tally.gone)
    return f"Couldn't {VERB[status]} {show_number(failed, 'sequence')}"


def names_of(targets: Many[Target]) -> str:
    names = ", ".join(clip(one.label, length=40) for one in targets[:SHOWN])
    return f"{names} and {len(targets) - SHOWN} more" if len(targets) > SHOWN else names


def leftovers(tally: Tally, status: Status) -> tuple[str, ...]:
    """A sentence for each kind of sequence that was not changed."""
    failed = [f"Not {DONE[status]}: {one}" for one in tally.failed[:FAILURES_SHOWN]]
    more = len(tally.failed) - FAILURES_SHOWN
    exists = "exists" if len(tally.gone) == 1 else "exist"
    lines = (
        f"{len(tally.same)} unchanged." if tally.same else "",
        f"{show_number(len(tally.moved), 'sequence')} changed later and left as is." if tally.moved else "",
        f"{show_number(len(tally.gone), 'sequence')} no longer {exists}." if tally.gone else "",
        *failed,
        f"and {more} more" if more > 0 else "",
        f"Couldn't confirm: {names_of(tally.uncertain)}. {CHECK}" if tally.uncertain else "",
    )
    return tuple(filter(None, lines))


# -- what a command line means, and what is asked about it


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The sequences as the service has them now, and what the records say of their pauses."""

    sequences: Many[Sequence]
    revisions: Mapping[str, int] | None
    timers: Mapping[str, Timer]

    def targets(self, sequences: Many[Sequence]) -> tuple[Target, ...]:
        return tuple(target_of(one, self.revisions) for one in sequences)


async def _list(status: Status, context: CommandContext) -> Listing:
    """List the sequences, with the timers that stood before the list or stand after it.

    One that resumes a sequence meanwhile is gone afterwards, and one that is set meanwhile was not there before.
    """
    revisions = await read_revisions(context)
    before = await read_timers(context) if status == "paused" else {}
    known = await context.client.list_sequences(priority=Priority.INTERACTIVE)
    after = await read_timers(context) if status == "paused" else {}
    return Listing(sequences=known, revisions=revisions, timers={**before, **after})


async def plan(arguments: OnSequences, context: CommandContext) -> Result | Question:
    """What `pause` or `resume` means, as a question; most are asked only by a face that asks everything."""
    if isinstance(arguments, Pause) and (problem := end_problem(arguments, context)):
        return problem
    act = _act_of(arguments, context)
    listing = await _list(act.status, context)
    if arguments.ids:
        return _chosen(arguments.ids, act, listing, context)
    if arguments.scope:
        return await _many(arguments, replace(act, keep_longer=True), listing, context)
    return _named(arguments, act, listing, context)


def _act_of(arguments: OnSequences, context: CommandContext) -> SetStatus:
    """What is to be done, without the sequences."""
    if not isinstance(arguments, Pause):
        return SetStatus(status="active", targets=())
    return SetStatus(
        status="paused",
        targets=(),
        until=due_at_of(arguments, context),
        is_on_day=arguments.until is not None and arguments.until.names_day,
        reason=arguments.reason,
    )


def _named(
    arguments: OnSequences, act: SetStatus, listing: Listing, context: CommandContext
) -> Result | Question:
    """The sequence of a name or an id."""
    is_pause = isinstance(arguments, Pause)
    found = resolve_sequence(listing.sequences, arguments.target, greedy=is_pause)
    if not isinstance(found, Resolved):
        return _which(found, arguments)
    if isinstance(arguments, Pause) and found.rest:
        return _which_end(arguments, found)
    if isinstance(arguments, Pause) and act.until and context.records is None:
        return _endless_only(arguments, found.sequence)
    return _one(found.sequence, act, listing, context)


def _one(sequence: Sequence, act: SetStatus, listing: Listing, context: CommandContext) -> Result | Question:
    act = replace(act, targets=listing.targets([sequence]))
    label = clip(sequence.label)
    if act.status == "paused" and sequence.status == "paused":
        timer = listing.timers.get(sequence.id)
        lasts = timer is None or (act.until is not None and act.until < timer.due_at)
        if (act.until and lasts) or (timer and not act.until):
            return _other_end(label, timer, act, context)
    verb = VERB[act.status].capitalize()
    return Question(
        card=Card(title=f"{verb} {label}{act.end(context)}?", tone=Tone.WARN, text=(_does(act, context),)),
        choices=(Choice(label=verb, act=act),),
        asks=False,
    )


def _does(act: SetStatus, context: CommandContext) -> str:
    if act.status == "active":
        return "It continues where it stopped."
    if act.until:
        return f"It stops sending{act.end(context)}, then resumes."
    return "It stops sending until someone resumes it."


def _other_end(label: str, timer: Timer | None, act: SetStatus, context: CommandContext) -> Question:
    """Which end a pause is to have that has another, or none: a pause never ends earlier without being asked."""
    now, zone = context.now(), context.zone
    present = f"until {show_time(timer.due_at, now=now, zone=zone)}" if timer else "until resumed"
    wanted = act.end(context).strip() or "until resumed"
    stands = present if timer else "until someone resumes it"
    instead = wanted if act.until else "until someone resumes it"
    return Question(
        card=Card(
            title=f"{label} is already paused {stands}",
            tone=Tone.WARN,
            text=(f"Keep it paused {stands}, or {instead} instead?",),
        ),
        choices=(Choice(label=f"Pause {wanted}", act=act),),
        no=f"Keep {present}",
    )


def _chosen(ids: Many[str], act: SetStatus, listing: Listing, context: CommandContext) -> Result | Question:
    """The sequences that were pointed at. One that is missing in the list is asked for by its id all the same."""
    known = {one.id: one for one in listing.sequences}
    if len(ids) == 1 and ids[0] in known:
        return _one(known[ids[0]], act, listing, context)
    targets = [
        listing.targets([known[name]])[0] if name in known else Target(id=name, label=name)
        for name in ids
        if name not in known or known[name].status == WAS[act.status]
    ]
    if not targets:
        return nothing_able(act.status, "")
    verb = VERB[act.status].capitalize()
    count = show_number(len(targets), "sequence")
    return Question(
        card=Card(title=f"{verb} {count}{act.end(context)}?", tone=Tone.WARN, text=(names_of(targets),)),
        choices=(Choice(label=f"{verb} {count}", act=replace(act, targets=tuple(targets))),),
        asks=False,
    )


def due_at_of(arguments: Pause, context: CommandContext) -> datetime | None:
    """When a timed pause ends; None if it isn't timed, or has an `end_problem`."""
    if arguments.until:
        return arguments.until.after(context.now(), zone=context.zone)
    return context.now() + arguments.duration if arguments.duration else None


def end_problem(arguments: Pause, context: CommandContext) -> Result | None:
    """Why a pause can't end when it should: the time has passed, or the day doesn't exist. None if it can."""
    until = arguments.until
    if until is None or due_at_of(arguments, context):
        return None
    if dates := until.nearest_dates(context.now(), zone=context.zone):
        before, after = dates
        hint = f"Use `until {before}` or `until {after}`."
        title = f"{before.year} has no {date(2000, *LEAP_DAY):%-d %B}"
        return refused(title, "Nothing was paused.", hint, why="the date doesn't exist", argument="until")
    why = "the time has passed"
    return refused(f"“{until}” has passed", "Nothing was paused.", why=why, argument="until")


def _endless_only(arguments: Pause, sequence: Sequence) -> Result:
    endless = replace(arguments, target=(sequence.id,), duration=None, until=None)
    card = Card(
        title=f"{clip(sequence.label)} was not paused",
        tone=Tone.WARN,
        text=("Only the bot can end a timed pause, and its database isn't reachable from here.",),
        buttons=(Button(label="Pause until resumed", action=endless),),
    )
    return refusal(card, why=NO_RECORDS, argument="until" if arguments.until else "duration")


def _which(found: Ambiguous | NoMatch, arguments: OnSequences) -> Result:
    """The question which sequence is meant; without buttons where they would lose words about the end."""
    result = which_sequence(found, arguments)
    words = arguments.target[1:] if isinstance(arguments, Pause) else ()
    if not any(word.lower() in END_WORDS or word[:1].isdigit() for word in words):
        return result
    return replace(result, card=replace(result.card, buttons=()))


def _which_end(arguments: Pause, found: Resolved) -> Result:
    """The refusal of words that tell no end; its button has the end that they are near to."""
    mistake = end_mistake(found.rest)
    buttons: tuple[Button, ...] = ()
    if near := mistake.near:
        target = (found.sequence.id,)
        timed = replace(arguments, target=target, duration=near.duration, until=near.until)
        buttons = (Button(label=f"Pause {clip(str(near), length=40)}", action=timed),)
    card = Card(
        title=mistake.problem.rstrip("."),
        tone=Tone.WARN,
        text=("Nothing was paused.", f"{mistake.hint} A reason comes after `reason`."),
        buttons=buttons,
    )
    return refusal(card, why="no duration", argument="duration")


async def _bot_runs(context: CommandContext) -> bool:
    try:
        return await context.need_records().bot_is_running()
    except RecordsUnavailable:
        return False


# -- all of them, or those of a domain


async def _many(
    arguments: OnSequences, act: SetStatus, listing: Listing, context: CommandContext
) -> Result | Question:
    able = [one for one in listing.sequences if one.status == WAS[act.status]]
    timed = [
        one
        for one in listing.sequences
        if act.status == "paused"
        and one.status == "paused"
        and ends_earlier(listing.timers.get(one.id), act.until)
    ]
    if not (able or timed):
        return nothing_able(act.status, "")
    scope = Scope(act=act, listing=listing, able=able, timed=timed, context=context)
    if arguments.scope != ALL:
        return await _of_domain(arguments.scope.removeprefix(DOMAIN), scope)
    if act.status == "active":
        return await _resume_all(scope)
    return scope.question(f"Pause {show_number(len(able), 'active sequence')}?", scope.all())


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The sequences that `all` or a domain may mean."""

    act: SetStatus
    listing: Listing
    able: Many[Sequence]
    """Those whose status would change."""
    timed: Many[Sequence]
    """Those that are paused and would resume before the pause ends."""
    context: CommandContext

    def all(self) -> Choice:
        return self.choice("all", self.able, self.timed)

    def choice(self, word: str, able: Many[Sequence], timed: Many[Sequence] = ()) -> Choice:
        """The button names what it changes: `Pause all 12`, `Pause these 3`, `Pause Q3 founders`."""
        verb = VERB[self.act.status].capitalize()
        label = f"{verb} {word} {len(able)}" if len(able) != 1 else f"{verb} {clip(able[0].label, length=40)}"
        act = replace(self.act, targets=self.listing.targets([*able, *timed]))
        return Choice(label=label if able else "Keep paused", act=act)

    def question(
        self,
        title: str,
        *choices: Choice,
        text: tuple[str, ...] = (),
        shown: Many[Sequence] = (),
        is_open: bool = False,
    ) -> Question:
        """What would be changed, with the sequences of the first choice."""
        chosen = {one.id for one in choices[0].act.targets}  # type: ignore[attr-defined]
        able = shown or [one for one in self.able if one.id in chosen]
        timed = [one for one in self.timed if one.id in chosen]
        if not able:
            title = f"Keep {show_number(len(timed), 'paused sequence')} paused?"
        until = self.act.end(self.context) or " until you resume them"
        kept = show_number(len(timed), "paused sequence")
        longer = f"{kept} would resume earlier: kept paused{until}." if timed else ""
        stops = f"They stop sending{until}. Replies still arrive."
        does = stops if self.act.status == "paused" else "They continue sending where they stopped."
        listed = able or timed
        return Question(
            card=Card(
                title=title,
                tone=Tone.WARN,
                text=tuple(filter(None, (*text, "" if is_open else does, longer))),
                table=replace(sequence_table(list(listed[:SHOWN])), total=len(listed)),
            ),
            choices=choices,
            is_open=is_open,
        )


async def _resume_all(scope: Scope) -> Question:
    """Those that this program paused; the others only where a person chooses so."""
    context, able = scope.context, scope.able
    title = f"Resume {show_number(len(able), 'paused sequence')}?"
    if context.records is None:
        return scope.question(title, scope.all())
    changes = await context.records.last_changes(context.workspace.name, [one.id for one in able])
    own = [one for one in able if one.id in changes and changes[one.id].effect == "paused"]
    others = scope.listing.targets([one for one in able if one not in own])
    if not others:
        return scope.question(title, scope.all())
    paused = "was paused" if len(others) == 1 else "were paused"
    elsewhere = f"{show_number(len(others), 'sequence')} {paused} elsewhere: {names_of(others)}."
    if not own:
        text = (elsewhere, "To resume one of them, name it: `resume SEQUENCE`.")
        return scope.question(title, scope.all(), text=text, is_open=True)
    title = f"Resume {show_number(len(own), 'paused sequence')}?"
    left = f"{elsewhere} {'It stays' if len(others) == 1 else 'They stay'} paused."
    return scope.question(title, scope.choice("these", own), scope.all(), text=(left,))


async def _of_domain(domain: str, scope: Scope) -> Result | Question:
    """The sequences that were seen on a domain; the service doesn't list them, so that a person may choose all."""
    context, verb = scope.context, VERB[scope.act.status]
    since = context.now() - LOOK_BACK
    names = await context.need_records().domain_sequences(context.workspace.name, domain, since)
    folded = {name.casefold() for name in names}
    seen = [one for one in scope.listing.sequences if one.label.casefold() in folded]
    if not seen and (domains := await _other_domains(domain, context)):
        card = Card(
            title=f"No inbox is on {clip(domain)}",
            tone=Tone.WARN,
            text=(f"Nothing was changed. {did_you_mean(domain, domains)}",),
        )
        return refusal(card, why="no such domain", argument="target")
    able, timed = _among(scope.able, seen), _among(scope.timed, seen)
    unknown = "The service doesn't list the sequences of a domain."
    if not seen:
        text = (
            f"{unknown} None used it in the last 30 days.",
            f"To {verb} every sequence: `{verb} all`.",
        )
        title = f"Which sequences send from {clip(domain)}?"
        return scope.question(title, scope.all(), text=text, is_open=True)
    if not (able or timed):
        return nothing_able(scope.act.status, domain)
    count = show_number(len(able), f"{WAS[scope.act.status]} sequence")
    these = scope.choice("these", able, timed)
    more = () if len(able) == len(scope.able) else (scope.all(),)
    return scope.question(
        f"{verb.capitalize()} {count} that used {clip(domain)}?",
        these,
        *more,
        text=(f"{unknown} These used it in the last 30 days. Others may use it too.",),
    )


def _among(some: Many[Sequence], seen: Collection[Sequence]) -> list[Sequence]:
    ids = {one.id for one in seen}
    return [one for one in some if one.id in ids]


async def _other_domains(domain: str, context: CommandContext) -> tuple[str, ...]:
    """The domains of the inboxes; none where this is one of them, or none is known."""
    inboxes = await context.client.list_inboxes(priority=Priority.INTERACTIVE)
    known = {one.domain for one in inboxes if one.domain}
    return () if domain in known else tuple(sorted(known))


def nothing_able(status: Status, domain: str) -> Result:
    """There is none to change, or none of those that were seen on the domain."""
    if domain:
        title = f"No {WAS[status]} sequence is known to send from {domain}"
        return Result(card=Card(title=title, text=("Nothing was changed.",)))
    card = Card(title=f"No {WAS[status]} sequences", text=("Nothing was changed.",))
    return Result(card=card, problem=Problem(text="nothing to change"))
