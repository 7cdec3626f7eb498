"""`pause` and `resume`: sequences, one or many; what is meant, what is asked first, and what became of it."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from collections.abc import Sequence as Many
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Literal, Self

from shared.commands.base import (
    ALL,
    DOMAIN,
    NOTHING_CHANGED,
    Act,
    ArgumentError,
    ChangingCommand,
    Choice,
    Data,
    OnSequences,
    Problem,
    Question,
    Result,
    Words,
    ask,
    did_you_mean,
    need_target,
    refusal,
    refused,
    texts,
)
from shared.commands.sequences import END_WORDS, Sequences, resolve_sequence, sequence_table
from shared.commands.times import UNTIL, End, Moment, end_mistake, read_end
from shared.domain.card import Button, Card, Fact, Tone
from shared.text.formats import clip, show_number, show_some
from shared.text.tokenize import quote

if TYPE_CHECKING:
    from shared.api.models import Sequence
    from shared.commands.hold import Tally
    from shared.commands.run import CommandContext
    from shared.records.sequence_changes import Timer

Status = Literal["active", "paused"]
LOOK_BACK = timedelta(days=30)
SHOWN, FAILURES_SHOWN = 15, 5
NO_BOT = (
    "It resumes only while the bot runs, and no bot uses this database. Start it with `outreach bot`. "
    "If it is already running, `outreach doctor` shows which database it uses."
)
WAS: Mapping[str, Status] = {"paused": "active", "active": "paused"}
"""The status that a sequence has before it gets another."""
VERB: Mapping[str, str] = {"paused": "pause", "active": "resume"}
DONE: Mapping[str, str] = {"paused": "paused", "active": "sending again"}
EFFECT: Mapping[str, Literal["paused", "resumed"]] = {"paused": "paused", "active": "resumed"}


class Pause(OnSequences):
    """`pause SEQUENCE [for 2h] [reason …]`."""

    verb = "pause"
    duration: timedelta | None = None
    until: Moment | None = None
    """The end as a moment, where no duration is given."""
    reason: str = ""

    @classmethod
    def read(cls, words: Words) -> Self:
        at = (at for at, word in enumerate(words) if at and word.is_one_of("reason", "reason:"))
        reason = next(at, len(words))
        is_scope = bool(cls(target=texts(words[:1])).scope)
        named, end = _split_end(words[:reason], is_scope=is_scope)
        why = " ".join(texts(words[reason + 1 :]))
        return cls(target=need_target(named), duration=end.duration, until=end.until, reason=why)

    @property
    def end(self) -> End:
        return End(duration=self.duration, until=self.until)

    def write(self) -> Iterable[str]:
        reason = ("reason", quote(self.reason)) if self.reason else ()
        return (*super().write(), *self.end.write(), *reason)


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
    is_named = words and words[0].quoted and not words[0].key
    is_cut = is_scope and words[1:] and (words[1].is_one_of("for") or re.match("[0-9]+[a-z]", words[1].text))
    if words[1:] and (is_named or is_cut):
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
    hint = "A reason comes after `reason`. If it is part of a name, put the name in quotes."
    return ArgumentError(mistake.problem, hint=f"{mistake.hint} {hint}")


# -- what a command line means, and what is asked about it


class Target(Data):
    """A sequence that is to be changed, and what was known of it when that was decided."""

    id: str
    label: str
    status: str = ""
    """The status as the service listed it; empty: it wasn't asked."""
    revision: int | None = None
    """The number of its changes before it was listed: the status counts only as long as nobody changes it."""
    unchanged_since: int | None = None
    """The number of changes that an Undo expects: at another one the sequence is left as it is."""


class SetStatus(Act):
    """Pauses or resumes exactly these sequences."""

    status: Status
    targets: tuple[Target, ...] = ()
    until: datetime | None = None
    reason: str = ""
    keep_longer: bool = False
    """A pause that lasts at least as long is left as it is."""

    @property
    def verb(self) -> str:
        return VERB[self.status]

    async def carry_out(self, context: CommandContext) -> Result:
        from shared.commands.hold import change_each, change_status

        if self.until and self.until <= context.now():
            return _is_over(context.show(self.until))
        change = partial(
            change_status,
            status=self.status,
            context=context,
            until=self.until,
            reason=self.reason,
            keep_longer=self.keep_longer,
        )
        return await _result(await change_each(self.targets, change), self, context)

    def end(self, context: CommandContext) -> str:
        """` until 30 Nov 09:00 CET`; empty if the pause has no end."""
        return f" until {context.show(self.until)}" if self.until else ""


def _is_over(end: str) -> Result:
    return refused(f"{end} has passed", "Nothing was paused.", why="the time has passed", argument="until")


class Plan(Data):
    """The change that is meant, among sequences as the service listed them; `timers` end the pauses of some."""

    act: SetStatus
    sequences: Many[Sequence]
    revisions: Mapping[str, int] | None
    timers: Mapping[str, Timer]
    context: CommandContext

    @property
    def until(self) -> str:
        return self.act.end(self.context)

    @property
    def able(self) -> Many[Sequence]:
        """The sequences whose status would change."""
        return [sequence for sequence in self.sequences if sequence.status == WAS[self.act.status]]

    @property
    def timed(self) -> Many[Sequence]:
        """The paused sequences that would resume before the pause ends."""
        from shared.commands.hold import ends_earlier

        paused = [sequence for sequence in self.sequences if self.act.status == sequence.status == "paused"]
        return [sequence for sequence in paused if ends_earlier(self.timers.get(sequence.id), self.act.until)]

    def among(self, ids: Container[str]) -> Plan:
        return replace(self, sequences=[sequence for sequence in self.sequences if sequence.id in ids])

    def of(self, sequences: Iterable[Sequence], *others: Target) -> SetStatus:
        """The act on these."""
        from shared.commands.hold import target_of

        targets = (target_of(sequence, self.revisions) for sequence in sequences)
        return replace(self.act, targets=(*targets, *others))

    def choice(self, word: str) -> Choice:
        """The button names what it changes: `Pause all 12`, `Pause these 3`, `Pause Q3 founders`."""
        able = self.able
        what = f"{word} {len(able)}" if len(able) != 1 else clip(able[0].label, length=40)
        label = f"{VERB[self.act.status].capitalize()} {what}" if able else "Keep paused"
        return Choice(label, self.of([*able, *self.timed]))

    def question(
        self, title: str, *choices: Choice, text: Iterable[str] = (), is_open: bool = False
    ) -> Question:
        """The question about the change, with these sequences."""
        kept, until = show_number(len(self.timed), "paused sequence"), self.until or " until you resume them"
        does = f"They stop sending{until}. Replies still arrive."
        if self.act.status == "active":
            does = "They continue sending where they stopped."
        longer = f"{kept} would resume earlier: kept paused{until}." if self.timed else ""
        listed = self.able or self.timed
        card = Card(
            title if self.able else f"Keep {kept} paused?",
            tone=Tone.WARN,
            text=(*text, "" if is_open else does, longer),
            table=replace(sequence_table(listed[:SHOWN]), total=len(listed)),
        )
        return Question(card=card, choices=choices, is_open=is_open)


async def _plan(arguments: OnSequences, context: CommandContext) -> Result | Question:
    """Read the meaning of `pause` or `resume` as a question; most are asked only by a face that asks everything."""
    from shared.commands.hold import read_revisions, read_timers

    act = SetStatus(status="active")
    if isinstance(arguments, Pause):
        until = arguments.end.after(context.now(), zone=context.zone)
        if arguments.until and until is None:
            return _is_over(f"“{arguments.until}”")
        act = SetStatus(status="paused", until=until, reason=arguments.reason)
    revisions = await read_revisions(context)
    before = await read_timers(context) if act.status == "paused" else {}
    listed = await context.sequences()
    # One that resumes a sequence meanwhile is gone after the list, and one that is set meanwhile was not there before.
    after = await read_timers(context) if act.status == "paused" else {}
    timers = {**before, **after}
    plan = Plan(act=act, sequences=listed, revisions=revisions, timers=timers, context=context)
    if arguments.ids:
        return _chosen(arguments.ids, plan)
    if arguments.scope:
        return await _many(arguments.scope, replace(plan, act=replace(act, keep_longer=True)))
    return _named(arguments, plan)


def _named(arguments: OnSequences, plan: Plan) -> Result | Question:
    """The sequence of a name or an id."""
    pause = arguments if isinstance(arguments, Pause) else None
    match = resolve_sequence(plan.sequences, arguments.target, greedy=pause is not None)
    if not match.only:
        result, words = match.refusal(arguments), arguments.target[1:] if pause else ()
        # A button would lose the words about the end.
        if any(word.lower() in END_WORDS or word[:1].isdigit() for word in words):
            return replace(result, card=replace(result.card, buttons=()))
        return result
    if pause and match.after:
        return _which_end(pause, match.only, match.after)
    if pause and plan.act.until and plan.context.records is None:
        endless = replace(pause, target=(match.only.id,), duration=None, until=None)
        card = Card(
            f"{clip(match.only.label)} was not paused",
            tone=Tone.WARN,
            text=("Only the bot can end a timed pause, and its database isn't reachable from here.",),
            buttons=(Button("Pause until resumed", endless),),
        )
        why = "The bot's database isn't reachable from here."
        return refusal(card, why=why, argument="until" if pause.until else "duration")
    return _one(match.only, plan)


def _which_end(arguments: Pause, sequence: Sequence, words: tuple[str, ...]) -> Result:
    """The refusal of words that tell no end; its button has the end that they are near to."""
    mistake = end_mistake(words)
    buttons: tuple[Button, ...] = ()
    if near := mistake.near:
        timed = replace(arguments, target=(sequence.id,), duration=near.duration, until=near.until)
        buttons = (Button(f"Pause {clip(str(near), length=40)}", timed),)
    text = ("Nothing was paused.", f"{mistake.hint} A reason comes after `reason`.")
    card = Card(mistake.problem.rstrip("."), tone=Tone.WARN, text=text, buttons=buttons)
    return refusal(card, why="no duration", argument="duration")


def _one(sequence: Sequence, plan: Plan) -> Question:
    """One sequence; a pause gets another end only with a question: it never ends earlier without being asked."""
    act, label, until = plan.of([sequence]), clip(sequence.label), plan.act.until
    verb, does = VERB[act.status].capitalize(), "It continues where it stopped."
    if act.status == "paused":
        timer = plan.timers.get(sequence.id)
        is_shorter = until is not None and (timer is None or until < timer.due_at)
        if sequence.status == "paused" and (is_shorter or (timer and until is None)):
            present = f"until {plan.context.show(timer.due_at)}" if timer else "until resumed"
            stands = present if timer else "until someone resumes it"
            wanted = plan.until.strip()
            text = f"Keep it paused {stands}, or {wanted or 'until someone resumes it'} instead?"
            button = f"Pause {wanted or 'until resumed'}"
            question = ask(f"{label} is already paused {stands}", text, label=button, act=act)
            return replace(question, no=f"Keep {present}")
        end = f"{plan.until}, then resumes" if until else " until someone resumes it"
        does = f"It stops sending{end}."
    return replace(ask(f"{verb} {label}{plan.until}?", does, label=verb, act=act), asks=False)


def _chosen(ids: Many[str], plan: Plan) -> Result | Question:
    """The sequences that were pointed at. One that is missing in the list is asked for by its id all the same."""
    status, chosen = plan.act.status, plan.among(ids)
    if len(ids) == 1 and chosen.sequences:
        return _one(chosen.sequences[0], plan)
    listed = {sequence.id for sequence in chosen.sequences}
    act = plan.of(chosen.able, *(Target(id=name, label=name) for name in ids if name not in listed))
    if not act.targets:
        return _nothing_able(status)
    label = f"{VERB[status].capitalize()} {show_number(len(act.targets), 'sequence')}"
    return replace(ask(f"{label}{plan.until}?", names_of(act.targets), label=label, act=act), asks=False)


# -- all of them, or those of a domain


async def _many(scope: str, plan: Plan) -> Result | Question:
    if not (plan.able or plan.timed):
        return _nothing_able(plan.act.status)
    if scope != ALL:
        return await _of_domain(scope.removeprefix(DOMAIN), plan)
    if plan.act.status == "active":
        return await _resume_all(plan)
    return plan.question(f"Pause {show_number(len(plan.able), 'active sequence')}?", plan.choice("all"))


async def _resume_all(plan: Plan) -> Question:
    """Ask about the sequences that this program paused; the others are left to an explicit choice."""
    able, own = plan.able, {sequence.id for sequence in plan.able}
    if records := plan.context.records:
        changes = await records.last_changes(plan.context.workspace.name, list(own))
        own = {name for name in own if name in changes and changes[name].effect == "paused"}
    others = plan.of([sequence for sequence in able if sequence.id not in own]).targets
    title = f"Resume {show_number(len(own or able), 'paused sequence')}?"
    if not others:
        return plan.question(title, plan.choice("all"))
    is_one = len(others) == 1
    counted = f"{show_number(len(others), 'sequence')} {'was' if is_one else 'were'}"
    elsewhere = f"{counted} paused elsewhere: {names_of(others)}."
    if not own:
        hint = (elsewhere, "To resume one of them, name it: `resume SEQUENCE`.")
        return plan.question(title, plan.choice("all"), text=hint, is_open=True)
    left = f"{elsewhere} {'It stays' if is_one else 'They stay'} paused."
    these = plan.among(own)
    return these.question(title, these.choice("these"), plan.choice("all"), text=(left,))


async def _of_domain(domain: str, plan: Plan) -> Result | Question:
    """The sequences that were seen on a domain; the service doesn't list them, so that a person may choose all."""
    context, status = plan.context, plan.act.status
    verb, since = VERB[status], context.now() - LOOK_BACK
    names = await context.need_records().domain_sequences(context.workspace.name, domain, since)
    folded = {name.casefold() for name in names}
    these = plan.among({sequence.id for sequence in plan.sequences if sequence.label.casefold() in folded})
    unknown = "The service doesn't list the sequences of a domain."
    if not these.sequences:
        domains = {one.domain for one in await context.inboxes() if one.domain}
        if domains and domain not in domains:
            text = f"{NOTHING_CHANGED} {did_you_mean(domain, sorted(domains))}"
            return refused(f"No inbox is on {clip(domain)}", text, why="no such domain", argument="target")
        none = (f"{unknown} None used it in the last 30 days.", f"To {verb} every sequence: `{verb} all`.")
        title = f"Which sequences send from {clip(domain)}?"
        return plan.question(title, plan.choice("all"), text=none, is_open=True)
    if not (these.able or these.timed):
        title = f"No {WAS[status]} sequence is known to send from {domain}"
        return Result(Card(title, text=(NOTHING_CHANGED,)))
    counted = show_number(len(these.able), f"{WAS[status]} sequence")
    used = f"{unknown} These used it in the last 30 days. Others may use it too."
    more = () if len(these.able) == len(plan.able) else (plan.choice("all"),)
    title = f"{verb.capitalize()} {counted} that used {clip(domain)}?"
    return these.question(title, these.choice("these"), *more, text=(used,))


def _nothing_able(status: Status) -> Result:
    card = Card(f"No {WAS[status]} sequences", text=(NOTHING_CHANGED,))
    return Result(card, problem=Problem("nothing to change"))


# -- what became of it


async def _result(tally: Tally, act: SetStatus, context: CommandContext) -> Result:
    """The result for the sequences: one by its name, several by their number."""
    from shared.commands.hold import FORGOTTEN

    status, only = act.status, act.targets[0] if len(act.targets) == 1 else None
    changed, extended = tally.of("changed"), tally.of("extended")
    touched, failed = [*changed, *extended], tally.of("failed", "uncertain", "gone")
    note = tally.outcomes[only].note if only else ""
    if only and not touched:
        if note != FORGOTTEN and not act.reason:
            other = (Resume if status == "paused" else Pause)(target=(only.id,))
            button, title = Button(other.verb.capitalize(), other), f"{clip(only.label)} is already {status}"
            card = Card(title, text=(NOTHING_CHANGED,), buttons=(button,), footer=note)
            return Result(card, rows=_rows([only], status))
        touched = [only]  # a reason, or an end that no longer counts, is a change too
    left = leftovers(tally, status) if not only else ()
    if not (touched or failed):
        return Result(Card(f"Nothing left to {VERB[status]}", text=left))
    told = changed or touched
    subject = clip(only.label) if only else show_number(len(told), "sequence")
    state = f"paused{act.end(context)}" if status == "paused" else "sending again" if changed else "active"
    is_one = len(told) == 1
    does = ("is" if is_one else "are") if changed else ("stays" if is_one else "stay")
    title = f"{subject} {does} {state}" if told else _title_of_failures(tally, status)
    facts = [Fact("Reason", act.reason)] if act.reason else []
    resumes = True
    if act.until and told:  # a fact for faces that know each reader's zone
        facts.append(Fact("Until", context.show(act.until), at=act.until))
        resumes = await _bot_runs(context)
    names = names_of(changed) if not only else ""
    card = Card(
        title,
        tone=Tone.WARN if failed or not resumes else Tone.GOOD,
        text=(
            names,
            _extended(extended, act.end(context)) if not only else "",
            *left,
            "" if resumes else NO_BOT,
        ),
        facts=tuple(facts),
        buttons=(Button("Paused sequences", Sequences(status="paused")),) if tally.of("uncertain") else (),
        footer=note,
    )
    ids = tuple(target.id for target in touched)
    return Result(
        card,
        rows=_rows(touched, status),
        audit=title if only else f"{title}: {', '.join(ids)}",
        effect=EFFECT[status] if ids else "failed",
        sequences=ids,
        until=act.until,
        reason=act.reason,
        undoable=tally.undoable,
    )


def _rows(targets: Iterable[Target], status: Status) -> tuple[dict[str, str], ...]:
    return tuple({"id": target.id, "name": target.label, "status": status} for target in targets)


async def _bot_runs(context: CommandContext) -> bool:
    from shared.records.records import RecordsUnavailable

    try:
        return await context.need_records().bot_is_running()
    except RecordsUnavailable:
        return False


def _title_of_failures(tally: Tally, status: Status) -> str:
    failed = tally.of("failed", "gone")
    uncertain = tally.of("uncertain")
    if not failed:
        noun = "pause" if status == "paused" else "resumption"
        return f"Couldn't confirm {show_number(len(uncertain), noun)}"
    return f"Couldn't {VERB[status]} {show_number(len(failed) + len(uncertain), 'sequence')}"


def _extended(extended: Many[Target], until: str) -> str:
    """Which timed pauses end later, or no longer by themselves."""
    if not extended:
        return ""
    is_one, names = len(extended) == 1, names_of(extended)
    if until:
        return f"Shorter {'pause now lasts' if is_one else 'pauses now last'}{until}: {names}."
    return f"Already paused, no longer {'resumes' if is_one else 'resume'} automatically: {names}."


def names_of(targets: Many[Target]) -> str:
    return show_some([clip(target.label, length=40) for target in targets], SHOWN)


def leftovers(tally: Tally, status: Status) -> tuple[str, ...]:
    """A sentence for each kind of sequence that was not changed."""
    same, moved, gone = tally.of("already", "kept"), tally.of("moved"), tally.of("gone")
    failed, uncertain = tally.of("failed"), tally.of("uncertain")
    refusals = (
        f"{clip(target.label, length=40)}: {tally.outcomes[target].note}"
        for target in failed[:FAILURES_SHOWN]
    )
    lines = (
        f"{len(same)} unchanged." if same else "",
        f"{show_number(len(moved), 'sequence')} changed later and left as is." if moved else "",
        f"{show_number(len(gone), 'sequence')} no longer {'exists' if len(gone) == 1 else 'exist'}."
        if gone
        else "",
        *(f"Not {DONE[status]}: {one}" for one in refusals),
        f"and {len(failed) - FAILURES_SHOWN} more" if len(failed) > FAILURES_SHOWN else "",
        f"Couldn't confirm: {names_of(uncertain)}. Check `sequences paused`." if uncertain else "",
    )
    return tuple(filter(None, lines))


FAMILY = (
    ChangingCommand(
        arguments=Pause,
        run=_plan,
        rank=30,
        aliases=("stop",),
        usage="SEQUENCE [for 2h] [reason …]",
        summary="Pause a sequence, or all of them, until you resume it or for a set time",
        own_fields=("id", "status"),
        asks=True,
        examples=(
            'pause "Q3 founders" for 2h reason bounces are high',
            "pause sq_1",
            "pause sq_1 until monday 9am",
            "pause sq_1 for the weekend",
            "pause all",
            "pause domain:acme.com",
        ),
    ),
    ChangingCommand(
        arguments=Resume,
        run=_plan,
        rank=40,
        aliases=("unpause",),
        usage="SEQUENCE",
        summary="Resume a paused sequence",
        own_fields=("id", "status"),
        asks=True,
        examples=('resume "Q3 founders"', "resume sq_1", "resume all"),
    ),
)
