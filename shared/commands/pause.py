"""`pause` and `resume`: sequences, one or many; what is meant, what is asked first, and what became of it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from collections.abc import Sequence as Many
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Literal, Self

from shared.commands.base import (
    ALL,
    DOMAIN,
    Act,
    ArgumentError,
    Choice,
    Command,
    OnSequences,
    Problem,
    Question,
    Result,
    Words,
    did_you_mean,
    need_target,
    refusal,
    refused,
    texts,
)
from shared.commands.sequences import (
    END_WORDS,
    Ambiguous,
    NoMatch,
    Resolved,
    Sequences,
    resolve_sequence,
    sequence_table,
)
from shared.commands.times import LEAP_DAY, UNTIL, End, Moment, end_mistake, read_end
from shared.domain.card import Button, Card, Fact, Tone
from shared.domain.roles import Role
from shared.text.formats import clip, show_number
from shared.text.tokenize import quote

if TYPE_CHECKING:
    from shared.api.models import Sequence
    from shared.commands.hold import Changed
    from shared.commands.run import CommandContext
    from shared.records.audit import Before
    from shared.records.sequence_changes import Timer

Status = Literal["active", "paused"]
LOOK_BACK = timedelta(days=30)
CHANGED_AT_ONCE, SHOWN, FAILURES_SHOWN = 5, 15, 5
NO_BOT = (
    "It resumes only while the bot runs, and no bot uses this database. Start it with `outreach bot`. "
    "If it is already running, `outreach doctor` shows which database it uses."
)
WAS: Mapping[str, Status] = {"paused": "active", "active": "paused"}
"""The status that a sequence has before it gets another."""
VERB: Mapping[str, str] = {"paused": "pause", "active": "resume"}
DONE: Mapping[str, str] = {"paused": "paused", "active": "active again"}
REASON_WORDS = ("reason", "reason:")


class Pause(OnSequences):
    """`pause SEQUENCE [for 2h] [reason …]`."""

    verb = "pause"
    duration: timedelta | None = None
    until: Moment | None = None
    """Where no duration is given."""
    reason: str = ""

    @classmethod
    def read(cls, words: Words) -> Self:
        at = (at for at, word in enumerate(words) if at and word.is_one_of(*REASON_WORDS))
        reason = next(at, len(words))
        is_scope = bool(cls(target=texts(words[:1])).scope)
        named, end = _split_end(words[:reason], is_scope=is_scope)
        why = " ".join(texts(words[reason + 1 :]))
        return cls(target=need_target(named), duration=end.duration, until=end.until, reason=why)

    def write(self) -> Iterable[str]:
        yield from super().write()
        yield from End(duration=self.duration, until=self.until).write()
        if self.reason:
            yield from ("reason", quote(self.reason))


class Resume(OnSequences):
    """`resume SEQUENCE`."""

    verb = "resume"

    @classmethod
    def read(cls, words: Words) -> Self:
        return cls(target=need_target(words))


def _split_end(words: Words, *, is_scope: bool) -> tuple[Words, End]:
    """The words that name the sequence, and the end after them.

    Words that only look like an end are refused, never dropped. What a name may contain as well, like the `for` of
    “Looking for CTOs”, is left to the operation, which knows the names.
    """
    for at in range(1, len(words)):
        if not any(word.quoted for word in words[at:]) and (end := read_end(texts(words[at:]))):
            return words[:at], end
    for at in range(1, len(words)):
        if words[at].is_one_of(*UNTIL) or _is_length(words[at:]):
            raise _no_end(words[at:])
    if len(words) > 1 and words[0].quoted and not words[0].key:
        raise _no_end(words[1:])
    if is_scope and words[1:] and (words[1].is_one_of("for") or re.match("[0-9]+[a-z]", words[1].text)):
        raise _no_end(words[1:])
    return words, End()


def _is_length(words: Words) -> bool:
    """A `for` before an amount: `for 2h30`, `for 2h please`; a name may go on like `for 50 founders`."""
    if not words[0].is_one_of("for") or not words[1:] or words[1].quoted:
        return False
    amount = words[1].text
    is_amount = amount[:1].isdigit() and (not amount.isdigit() or len(words) == 2)
    return is_amount or any(read_end(texts(words[:count])) for count in range(2, len(words)))


def _no_end(words: Words) -> ArgumentError:
    mistake = end_mistake(texts(words))
    return ArgumentError(
        mistake.problem,
        hint=f"{mistake.hint} A reason comes after `reason`. If it is part of a name, put the name in quotes.",
    )


# -- what a command line means, and what is asked about it


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A sequence that is to be changed, and what was known of it when that was decided."""

    id: str
    label: str
    status: str = ""
    """As the service listed it; empty: it wasn't asked."""
    revision: int | None = None
    """The number of its changes before it was listed: the status counts only as long as nobody changes it."""
    unchanged_since: int | None = None
    """The number of changes that an Undo expects: at another one the sequence is left as it is."""


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
        from shared.commands.hold import change_status

        if self.until and self.until <= context.now():
            title, why = f"{context.show(self.until)} has passed", "the time has passed"
            return refused(title, "Nothing was paused.", why=why, argument="until")

        async def change(target: Target) -> Changed:
            return await change_status(
                target,
                self.status,
                until=self.until,
                reason=self.reason,
                keep_longer=self.keep_longer,
                context=context,
            )

        if len(self.targets) > 1:
            return _result_of_many(await change_each(self.targets, change), self, context)
        (target,) = self.targets
        return await _result_of_one(target, await change(target), self, context)

    def end(self, context: CommandContext) -> str:
        """` until 30 Nov 09:00 CET`; with the day also where it is today. Empty if the pause has no end."""
        if self.until is None:
            return ""
        is_today = self.until.astimezone(context.zone).date() == context.local_day
        return f" until {'today ' if self.is_on_day and is_today else ''}{context.show(self.until)}"


@dataclass(frozen=True, slots=True)
class Listing:
    """The sequences as the service has them now, and what the records say of their pauses."""

    sequences: Many[Sequence]
    revisions: Mapping[str, int] | None
    timers: Mapping[str, Timer]

    def targets(self, sequences: Iterable[Sequence]) -> tuple[Target, ...]:
        from shared.commands.hold import target_of

        return tuple(target_of(one, self.revisions) for one in sequences)


async def _plan(arguments: OnSequences, context: CommandContext) -> Result | Question:
    """What `pause` or `resume` means, as a question; most are asked only by a face that asks everything."""
    act = SetStatus(status="active", targets=())
    if isinstance(arguments, Pause):
        due_at = _due_at(arguments, context)
        if arguments.until and due_at is None:
            return _end_problem(arguments.until, context)
        on_day = arguments.until is not None and arguments.until.names_day
        reason = arguments.reason
        act = SetStatus(status="paused", targets=(), until=due_at, is_on_day=on_day, reason=reason)
    listing = await _list(act.status, context)
    if arguments.ids:
        return _chosen(arguments.ids, act, listing, context)
    if arguments.scope:
        return await _many(arguments.scope, replace(act, keep_longer=True), listing, context)
    return _named(arguments, act, listing, context)


async def _list(status: Status, context: CommandContext) -> Listing:
    """List the sequences, with the timers that stood before the list or stand after it.

    One that resumes a sequence meanwhile is gone afterwards, and one that is set meanwhile was not there before.
    """
    from shared.commands.hold import read_revisions, read_timers

    revisions = await read_revisions(context)
    before = await read_timers(context) if status == "paused" else {}
    known = await context.sequences()
    after = await read_timers(context) if status == "paused" else {}
    return Listing(known, revisions, {**before, **after})


def _due_at(arguments: Pause, context: CommandContext) -> datetime | None:
    """When a timed pause ends; None if it isn't timed, or its moment never comes."""
    if arguments.until:
        return arguments.until.after(context.now(), zone=context.zone)
    return context.now() + arguments.duration if arguments.duration else None


def _end_problem(until: Moment, context: CommandContext) -> Result:
    """Why a pause can't end when it should: the time has passed, or the day doesn't exist."""
    if dates := until.nearest_dates(context.now(), zone=context.zone):
        before, after = dates
        hint = f"Use `until {before}` or `until {after}`."
        title = f"{before.year} has no {date(2000, *LEAP_DAY):%-d %B}"
        return refused(title, "Nothing was paused.", hint, why="the date doesn't exist", argument="until")
    title, why = f"“{until}” has passed", "the time has passed"
    return refused(title, "Nothing was paused.", why=why, argument="until")


def _named(
    arguments: OnSequences, act: SetStatus, listing: Listing, context: CommandContext
) -> Result | Question:
    """The sequence of a name or an id."""
    found = resolve_sequence(listing.sequences, arguments.target, greedy=isinstance(arguments, Pause))
    if not isinstance(found, Resolved):
        return _which(found, arguments)
    if isinstance(arguments, Pause) and found.rest:
        return _which_end(arguments, found)
    if isinstance(arguments, Pause) and act.until and context.records is None:
        return _endless_only(arguments, found.sequence)
    return _one(found.sequence, act, listing, context)


def _one(sequence: Sequence, act: SetStatus, listing: Listing, context: CommandContext) -> Question:
    """One sequence; a pause gets another end only with a question."""
    act = replace(act, targets=listing.targets([sequence]))
    label, verb = clip(sequence.label), VERB[act.status].capitalize()
    if act.status == "paused" and sequence.status == "paused":
        timer = listing.timers.get(sequence.id)
        lasts = timer is None or (act.until is not None and act.until < timer.due_at)
        if (act.until and lasts) or (timer and not act.until):
            return _other_end(label, timer, act, context)
    does = "It continues where it stopped."
    if act.status == "paused":
        does = "It stops sending until someone resumes it."
        does = f"It stops sending{act.end(context)}, then resumes." if act.until else does
    card = Card(title=f"{verb} {label}{act.end(context)}?", tone=Tone.WARN, text=(does,))
    return Question(card=card, choices=(Choice(label=verb, act=act),), asks=False)


def _other_end(label: str, timer: Timer | None, act: SetStatus, context: CommandContext) -> Question:
    """Which end a pause is to have that has another, or none: a pause never ends earlier without being asked."""
    present = f"until {context.show(timer.due_at)}" if timer else "until resumed"
    wanted = act.end(context).strip() or "until resumed"
    stands = present if timer else "until someone resumes it"
    instead = wanted if act.until else "until someone resumes it"
    text = f"Keep it paused {stands}, or {instead} instead?"
    card = Card(title=f"{label} is already paused {stands}", tone=Tone.WARN, text=(text,))
    choice = Choice(label=f"Pause {wanted}", act=act)
    return Question(card=card, choices=(choice,), no=f"Keep {present}")


def _chosen(ids: Many[str], act: SetStatus, listing: Listing, context: CommandContext) -> Result | Question:
    """The sequences that were pointed at. One that is missing in the list is asked for by its id all the same."""
    known = {one.id: one for one in listing.sequences}
    if len(ids) == 1 and ids[0] in known:
        return _one(known[ids[0]], act, listing, context)
    able = [name for name in ids if name not in known or known[name].status == WAS[act.status]]
    if not able:
        return _nothing_able(act.status)
    targets = [
        *listing.targets(known[name] for name in able if name in known),
        *(Target(id=name, label=name) for name in able if name not in known),
    ]
    verb, count = VERB[act.status].capitalize(), show_number(len(targets), "sequence")
    card = Card(title=f"{verb} {count}{act.end(context)}?", tone=Tone.WARN, text=(names_of(targets),))
    choice = Choice(label=f"{verb} {count}", act=replace(act, targets=tuple(targets)))
    return Question(card=card, choices=(choice,), asks=False)


def _endless_only(arguments: Pause, sequence: Sequence) -> Result:
    endless = replace(arguments, target=(sequence.id,), duration=None, until=None)
    card = Card(
        title=f"{clip(sequence.label)} was not paused",
        tone=Tone.WARN,
        text=("Only the bot can end a timed pause, and its database isn't reachable from here.",),
        buttons=(Button(label="Pause until resumed", action=endless),),
    )
    why = "The bot's database isn't reachable from here."
    return refusal(card, why=why, argument="until" if arguments.until else "duration")


def _which(found: Ambiguous | NoMatch, arguments: OnSequences) -> Result:
    """The question which sequence is meant; without buttons where they would lose words about the end."""
    from shared.commands.run import which_sequence

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
    text = ("Nothing was paused.", f"{mistake.hint} A reason comes after `reason`.")
    card = Card(title=mistake.problem.rstrip("."), tone=Tone.WARN, text=text, buttons=buttons)
    return refusal(card, why="no duration", argument="duration")


# -- all of them, or those of a domain


@dataclass(frozen=True, slots=True)
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
        what = f"{word} {len(able)}" if len(able) != 1 else clip(able[0].label, length=40)
        label = f"{VERB[self.act.status].capitalize()} {what}" if able else "Keep paused"
        return Choice(label=label, act=replace(self.act, targets=self.listing.targets([*able, *timed])))

    def question(
        self, title: str, *choices: Choice, text: Iterable[str] = (), is_open: bool = False
    ) -> Question:
        """What would be changed, with the sequences of the first choice."""
        first = choices[0].act
        assert isinstance(first, SetStatus)
        chosen = {one.id for one in first.targets}
        able = [one for one in self.able if one.id in chosen]
        timed = [one for one in self.timed if one.id in chosen]
        kept = show_number(len(timed), "paused sequence")
        until = self.act.end(self.context) or " until you resume them"
        does = f"They stop sending{until}. Replies still arrive."
        if self.act.status == "active":
            does = "They continue sending where they stopped."
        longer = f"{kept} would resume earlier: kept paused{until}." if timed else ""
        listed = able or timed
        return Question(
            card=Card(
                title=title if able else f"Keep {kept} paused?",
                tone=Tone.WARN,
                text=tuple(filter(None, (*text, "" if is_open else does, longer))),
                table=replace(sequence_table(listed[:SHOWN]), total=len(listed)),
            ),
            choices=choices,
            is_open=is_open,
        )


async def _many(scope: str, act: SetStatus, listing: Listing, context: CommandContext) -> Result | Question:
    from shared.commands.hold import ends_earlier

    able = [one for one in listing.sequences if one.status == WAS[act.status]]
    timed = [
        one
        for one in listing.sequences
        if act.status == one.status == "paused" and ends_earlier(listing.timers.get(one.id), act.until)
    ]
    if not (able or timed):
        return _nothing_able(act.status)
    meant = Scope(act, listing, able, timed, context)
    if scope != ALL:
        return await _of_domain(scope.removeprefix(DOMAIN), meant)
    if act.status == "active":
        return await _resume_all(meant)
    return meant.question(f"Pause {show_number(len(able), 'active sequence')}?", meant.all())


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
    is_one = len(others) == 1
    paused = "was paused" if is_one else "were paused"
    elsewhere = f"{show_number(len(others), 'sequence')} {paused} elsewhere: {names_of(others)}."
    if not own:
        text = (elsewhere, "To resume one of them, name it: `resume SEQUENCE`.")
        return scope.question(title, scope.all(), text=text, is_open=True)
    title = f"Resume {show_number(len(own), 'paused sequence')}?"
    left = f"{elsewhere} {'It stays' if is_one else 'They stay'} paused."
    return scope.question(title, scope.choice("these", own), scope.all(), text=(left,))


async def _of_domain(domain: str, scope: Scope) -> Result | Question:
    """The sequences that were seen on a domain; the service doesn't list them, so that a person may choose all."""
    context, verb = scope.context, VERB[scope.act.status]
    since = context.now() - LOOK_BACK
    names = await context.need_records().domain_sequences(context.workspace.name, domain, since)
    folded = {name.casefold() for name in names}
    seen = {one.id for one in scope.listing.sequences if one.label.casefold() in folded}
    unknown = "The service doesn't list the sequences of a domain."
    if not seen:
        domains = {one.domain for one in await context.inboxes() if one.domain}
        if domains and domain not in domains:
            text = (f"Nothing was changed. {did_you_mean(domain, sorted(domains))}",)
            card = Card(title=f"No inbox is on {clip(domain)}", tone=Tone.WARN, text=text)
            return refusal(card, why="no such domain", argument="target")
        none = f"{unknown} None used it in the last 30 days."
        title = f"Which sequences send from {clip(domain)}?"
        every = f"To {verb} every sequence: `{verb} all`."
        return scope.question(title, scope.all(), text=(none, every), is_open=True)
    able = [one for one in scope.able if one.id in seen]
    timed = [one for one in scope.timed if one.id in seen]
    was = WAS[scope.act.status]
    if not (able or timed):
        title = f"No {was} sequence is known to send from {domain}"
        return Result(card=Card(title=title, text=("Nothing was changed.",)))
    these = scope.choice("these", able, timed)
    title = f"{verb.capitalize()} {show_number(len(able), f'{was} sequence')} that used {clip(domain)}?"
    text = (f"{unknown} These used it in the last 30 days. Others may use it too.",)
    more = () if len(able) == len(scope.able) else (scope.all(),)
    return scope.question(title, these, *more, text=text)


def _nothing_able(status: Status) -> Result:
    card = Card(title=f"No {WAS[status]} sequences", text=("Nothing was changed.",))
    return Result(card=card, problem=Problem(text="nothing to change"))


# -- what became of it


async def _result_of_one(target: Target, done: Changed, act: SetStatus, context: CommandContext) -> Result:
    from shared.commands.hold import FORGOTTEN

    label = clip(target.label)
    row = {"id": target.id, "name": target.label, "status": act.status}
    is_news = done.note == FORGOTTEN or bool(act.reason)
    if done.outcome in {"already", "kept"} and not is_news:
        other = Resume(target=(target.id,)) if act.status == "paused" else Pause(target=(target.id,))
        card = Card(
            title=f"{label} is already {act.status}",
            text=("Nothing was changed.",),
            buttons=(Button(label=other.verb.capitalize(), action=other),),
            footer=done.note,
        )
        return Result(card=card, rows=(row,))
    stays = done.outcome in {"extended", "already"}
    state = "stays active" if stays else "is active again"
    if act.status == "paused":
        state = f"{'stays' if stays else 'is'} paused{act.end(context)}"
    resumes = act.until is None or await _bot_runs(context)
    facts = [Fact(label="Reason", value=act.reason)] if act.reason else []
    if act.until:  # for faces that know each reader's zone
        facts.append(Fact(label="Until", value=context.show(act.until), at=act.until))
    return Result(
        card=Card(
            title=f"{label} {state}",
            tone=Tone.GOOD if resumes else Tone.WARN,
            text=("It resumes automatically." if resumes else NO_BOT,) if act.until else (),
            facts=tuple(facts),
            footer=done.note,
        ),
        rows=(row,),
        audit=f"{label} {state}",
        effect=effect_of(act.status),
        sequences=(target.id,),
        until=act.until,
        reason=act.reason,
        undoable={target.id: done.before} if done.before else {},
    )


async def _bot_runs(context: CommandContext) -> bool:
    from shared.records.records import RecordsUnavailable

    try:
        return await context.need_records().bot_is_running()
    except RecordsUnavailable:
        return False


def effect_of(status: Status) -> Literal["paused", "resumed"]:
    return "paused" if status == "paused" else "resumed"


@dataclass(slots=True)
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

    @property
    def has_failures(self) -> bool:
        return bool(self.failed or self.uncertain or self.gone)

    def count(self, target: Target, outcome: Changed | Exception) -> None:
        from shared.api.errors import NotFound, OutreachError, Uncertain

        if isinstance(outcome, Uncertain):
            self.uncertain.append(target)
        elif isinstance(outcome, NotFound):
            self.gone.append(target)
        elif isinstance(outcome, Exception):
            why = outcome.message if isinstance(outcome, OutreachError) else str(outcome)
            self.failed.append(f"{clip(target.label, length=40)}: {why}")
        else:
            lists = {"changed": self.changed, "extended": self.extended, "moved": self.moved}
            lists.get(outcome.outcome, self.same).append(target)
            if outcome.before:
                self.undoable[target.id] = outcome.before


async def change_each(targets: Many[Target], change: Callable[[Target], Awaitable[Changed]]) -> Tally:
    """Change each of several, a few at once; one that fails doesn't stop the others."""
    import asyncio

    from shared.api.errors import OutreachError
    from shared.records.records import RecordsUnavailable

    turns, tally = asyncio.Semaphore(CHANGED_AT_ONCE), Tally()

    async def one(target: Target) -> Changed | Exception:
        async with turns:
            try:
                return await change(target)
            except (OutreachError, RecordsUnavailable) as error:
                return error

    outcomes = await asyncio.gather(*map(one, targets))
    for target, outcome in zip(targets, outcomes, strict=True):
        tally.count(target, outcome)
    return tally


def _result_of_many(tally: Tally, act: SetStatus, context: CommandContext) -> Result:
    status, left = act.status, leftovers(tally, act.status)
    if not (tally.touched or tally.has_failures):
        return Result(card=Card(title=f"Nothing left to {VERB[status]}", text=left))
    until = act.end(context) if tally.touched else ""
    reason = f"Reason: {act.reason}" if act.reason else ""
    text = (names_of(tally.changed), reason, _extended(tally, until), *left)
    paused = (Button(label="Paused sequences", action=Sequences(status="paused")),)
    parts = []
    for targets, what in ((tally.changed, DONE[status]), (tally.extended, "kept paused")):
        if targets or (targets is tally.changed and not tally.extended):
            ids = ", ".join(one.id for one in targets)
            parts.append(f"{show_number(len(targets), 'sequence')} {what}: {ids}")
    return Result(
        card=Card(
            title=_title_of_many(tally, status) + until,
            tone=Tone.WARN if tally.has_failures else Tone.GOOD,
            text=tuple(filter(None, text)),
            buttons=paused if tally.uncertain else (),
        ),
        rows=tuple({"id": one.id, "name": one.label, "status": status} for one in tally.touched),
        audit="; ".join(parts),
        effect=effect_of(status) if tally.touched else "failed",
        sequences=tuple(one.id for one in tally.touched),
        until=act.until,
        reason=act.reason,
        undoable=tally.undoable,
    )


def _title_of_many(tally: Tally, status: Status) -> str:
    if count := len(tally.changed):
        return f"{show_number(count, 'sequence')} {'is' if count == 1 else 'are'} {DONE[status]}"
    if count := len(tally.extended):
        return f"{show_number(count, 'sequence')} {'stays' if count == 1 else 'stay'} paused"
    if not (tally.failed or tally.gone):
        noun = "pause" if status == "paused" else "resumption"
        return f"Couldn't confirm {show_number(len(tally.uncertain), noun)}"
    failed = len(tally.failed) + len(tally.uncertain) + len(tally.gone)
    return f"Couldn't {VERB[status]} {show_number(failed, 'sequence')}"


def _extended(tally: Tally, until: str) -> str:
    """Which timed pauses end later, or no longer by themselves."""
    if not tally.extended:
        return ""
    is_one, names = len(tally.extended) == 1, names_of(tally.extended)
    if until:
        return f"Shorter {'pause now lasts' if is_one else 'pauses now last'}{until}: {names}."
    return f"Already paused, no longer {'resumes' if is_one else 'resume'} automatically: {names}."


def names_of(targets: Many[Target]) -> str:
    names = ", ".join(clip(one.label, length=40) for one in targets[:SHOWN])
    return f"{names} and {len(targets) - SHOWN} more" if len(targets) > SHOWN else names


def leftovers(tally: Tally, status: Status) -> tuple[str, ...]:
    """A sentence for each kind of sequence that was not changed."""
    moved, gone = (show_number(len(some), "sequence") for some in (tally.moved, tally.gone))
    more = len(tally.failed) - FAILURES_SHOWN
    uncertain = f"Couldn't confirm: {names_of(tally.uncertain)}. Check `sequences paused`."
    lines = (
        f"{len(tally.same)} unchanged." if tally.same else "",
        f"{moved} changed later and left as is." if tally.moved else "",
        f"{gone} no longer {'exists' if len(tally.gone) == 1 else 'exist'}." if tally.gone else "",
        *(f"Not {DONE[status]}: {one}" for one in tally.failed[:FAILURES_SHOWN]),
        f"and {more} more" if more > 0 else "",
        uncertain if tally.uncertain else "",
    )
    return tuple(filter(None, lines))


FAMILY = (
    Command(
        arguments=Pause,
        run=_plan,
        rank=30,
        aliases=("stop",),
        usage="SEQUENCE [for 2h] [reason …]",
        summary="Pause a sequence, or all of them, until you resume it or for a set time",
        own_fields=frozenset({"id", "status"}),
        changes=True,
        asks=True,
        role=Role.OPERATOR,
        examples=(
            'pause "Q3 founders" for 2h reason bounces are high',
            "pause sq_1",
            "pause sq_1 until monday 9am",
            "pause sq_1 for the weekend",
            "pause all",
            "pause domain:acme.com",
        ),
    ),
    Command(
        arguments=Resume,
        run=_plan,
        rank=40,
        aliases=("unpause",),
        usage="SEQUENCE",
        summary="Resume a paused sequence",
        own_fields=frozenset({"id", "status"}),
        changes=True,
        asks=True,
        role=Role.OPERATOR,
        examples=('resume "Q3 founders"', "resume sq_1", "resume all"),
    ),
)
