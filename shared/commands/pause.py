"""`pause` and `resume`: sequences, one or many; what is meant, what is asked first, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Sequence as Many
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal, Self

from shared.commands.base import (
    ALL,
    DOMAIN,
    NOTHING_CHANGED,
    Act,
    ChangingCommand,
    Choice,
    Data,
    OnSequences,
    Question,
    Result,
    UsageError,
    Words,
    ask,
    need_target,
    read_part,
    refused,
    texts,
)
from shared.commands.inboxes import need_inboxes
from shared.commands.sequences import Sequences, resolve_sequence, sequence_table
from shared.commands.times import END_WORDS, End, end_mistake, read_end
from shared.domain.card import Button, Card, Fact, Tone
from shared.text.formats import clip, show_number, show_some
from shared.text.tokenize import quote

if TYPE_CHECKING:
    from shared.api.models import Sequence
    from shared.commands.hold import Outcome, Tally
    from shared.commands.run import CommandContext
    from shared.records.records import Timer

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
EFFECT: Mapping[str, Literal["paused", "resumed"]] = {"paused": "paused", "active": "resumed"}


class Pause(OnSequences):
    """`pause SEQUENCE [for 2h] [reason …]`."""

    verb = "pause"
    end: End = End()  # frozen
    reason: str = ""

    @classmethod
    def read(cls, words: Words) -> Self:
        """Other words stay with the name, which may contain `for`: the operation knows the names."""
        at = (at for at, word in enumerate(words) if at and word.is_one_of("reason", "reason:"))
        reason = next(at, len(words))
        named, end = words[:reason], End()
        for start in range(1, reason):
            is_quoted = any(word.quoted for word in words[start:reason])
            if not is_quoted and (told := read_end(texts(words[start:reason]))):
                named, end = words[:start], told
                break
        return cls(target=need_target(named), end=end, reason=" ".join(texts(words[reason + 1 :])))

    def write(self) -> Iterable[str]:
        reason = ("reason", quote(self.reason)) if self.reason else ()
        return (*super().write(), *self.end.write(), *reason)


class Resume(OnSequences):
    """`resume SEQUENCE`."""

    verb = "resume"

    @classmethod
    def read(cls, words: Words) -> Self:
        return cls(target=need_target(words))


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
        tally = await change_each(self.targets, lambda target: change_status(target, self, context))
        return await _result(tally, self, context)


def _is_over(end: str) -> Result:
    return refused(f"{end} has passed", "Nothing was paused.", why="the time has passed", argument="until")


def ends_earlier(timer: Timer | None, end: datetime | None) -> bool:
    """True where a timer ends a pause before `end`; None is never."""
    return timer is not None and (end is None or timer.due_at < end)


# -- what a command line means, and what is asked about it


class Plan(Data):
    """The change that is meant, among sequences as the service listed them."""

    act: SetStatus
    until: str
    """` until 30 Nov 09:00 CET`; empty if the pause has no end."""
    sequences: Many[Sequence]
    revisions: Mapping[str, int] | None
    timers: Mapping[str, Timer]
    """The ends of timed pauses, by sequence; none for a resume."""
    able: Many[Sequence] = ()
    """The sequences whose status would change."""
    timed: Many[Sequence] = ()
    """The paused sequences that would resume before the pause ends."""

    def among(self, sequences: Many[Sequence]) -> Plan:
        """The same change, of some of them."""
        able = [one for one in sequences if one.status == WAS[self.act.status]]
        paused = [one for one in sequences if one.status == "paused"]
        timed = [one for one in paused if ends_earlier(self.timers.get(one.id), self.act.until)]
        return replace(self, sequences=sequences, able=able, timed=timed)

    def of(self, sequences: Iterable[Sequence], *others: Target) -> SetStatus:
        """The act on these."""
        from shared.commands.hold import target_of

        targets = (target_of(sequence, self.revisions) for sequence in sequences)
        return replace(self.act, targets=(*targets, *others))

    def choice(self, word: str) -> Choice:
        """The button names what it changes: `Pause all 12`, `Pause these 3`, `Pause Q3 founders`."""
        able = self.able
        what = f"{word} {len(able)}" if len(able) != 1 else clip(able[0].label, length=40)
        label = f"{self.act.verb.capitalize()} {what}" if able else "Keep paused"
        return Choice(label, self.of([*able, *self.timed]))

    def question(self, title: str, *choices: Choice, text: str = "", hint: str = "") -> Question:
        """The question about the change, with these sequences; with a hint, no choice is what the command says."""
        kept, until = show_number(len(self.timed), "paused sequence"), self.until or " until you resume them"
        does = f"They stop sending{until}. Replies still arrive."
        if self.act.status == "active":
            does = "They continue sending where they stopped."
        longer = f"{kept} would resume earlier: kept paused{until}." if self.timed else ""
        listed = self.able or self.timed
        card = Card(
            title if self.able else f"Keep {kept} paused?",
            tone=Tone.WARN,
            text=(text, hint or does, longer),
            table=replace(sequence_table(listed[:SHOWN]), total=len(listed)),
        )
        return Question(card=card, choices=choices, is_open=bool(hint))


async def _plan(arguments: OnSequences, context: CommandContext) -> Result | Question:  # noqa: PLR0911 # a scope each
    """Read the meaning of `pause` or `resume` as a question; most are asked only by a face that asks everything."""
    from shared.commands.hold import read_revisions, read_timers

    act, shown = SetStatus(status="active"), ""
    if isinstance(arguments, Pause):
        end = arguments.end
        until = end.after(context.now(), zone=context.zone)
        if end.until and until is None:
            return _is_over(f"“{end.until}”")
        act = SetStatus(status="paused", until=until, reason=arguments.reason)
        shown = f" until {context.show(until)}" if until else ""
    is_pause = act.status == "paused"
    revisions = await read_revisions(context)
    before = await read_timers(context) if is_pause else {}
    listed = await context.sequences()
    # One that resumes a sequence meanwhile is gone after the list, and one that is set meanwhile was not there before.
    after = await read_timers(context) if is_pause else {}
    plan = Plan(act=act, until=shown, sequences=listed, revisions=revisions, timers={**before, **after})
    plan = plan.among(listed)
    if arguments.ids:
        return _chosen(arguments.ids, plan, context)
    scope = arguments.scope
    if not scope:
        return _named(arguments, plan, context)
    if not (plan.able or plan.timed):
        return _nothing_able(act.status)
    plan = replace(plan, act=replace(act, keep_longer=True))
    if scope != ALL:
        return await _of_domain(scope.removeprefix(DOMAIN), plan, context)
    if not is_pause:
        return await _resume_all(plan, context)
    return plan.question(f"Pause {show_number(len(plan.able), 'active sequence')}?", plan.choice("all"))


def _named(arguments: OnSequences, plan: Plan, context: CommandContext) -> Result | Question:
    """The sequence of a name or an id."""
    target, is_pause = arguments.target, isinstance(arguments, Pause)
    match = resolve_sequence(plan.sequences, target, greedy=is_pause)
    first, words = target[:1], target[1:] if is_pause else ()
    if match.only and not match.after:
        return _one(match.only, plan, context)
    if match.only:
        raise _no_end(arguments, (match.only.id,), match.after)
    if words and replace(arguments, target=first).scope:
        raise _no_end(arguments, first, words)
    result = match.refusal(arguments)
    # A button would lose the words about the end: `for`, `2h`, `tomorow`.
    is_end = any(word.lower() in END_WORDS or word[:1].isdigit() for word in words)
    if is_end or (words and end_mistake(("until", words[-1])).near):
        return replace(result, card=replace(result.card, buttons=()))
    return result


def _no_end(arguments: OnSequences, target: tuple[str, ...], words: tuple[str, ...]) -> UsageError:
    """The refusal of words that tell no end; its button has the end that they are near to."""
    mistake = end_mistake(words)
    buttons: tuple[Button, ...] = ()
    if mistake.near:
        meant = replace(arguments, target=target, end=mistake.near)  # type: ignore[call-arg] # it is a Pause
        buttons = (Button(f"Pause {clip(str(mistake.near), length=40)}", meant),)
    hint = f"{mistake.hint} A reason comes after `reason`. If it is part of a name, put the name in quotes."
    title = mistake.problem.removesuffix(".")
    return UsageError(Card(title, tone=Tone.WARN, text=("Nothing was paused.", hint), buttons=buttons))


def _one(sequence: Sequence, plan: Plan, context: CommandContext) -> Question:
    """One sequence; a pause gets another end only with a question: it never ends earlier without being asked."""
    act, label, until = plan.of([sequence]), clip(sequence.label), plan.act.until
    verb, does = act.verb.capitalize(), "It continues where it stopped."
    if act.status == "paused":
        timer = plan.timers.get(sequence.id)
        is_longer = timer and until and timer.due_at <= until
        if sequence.status == "paused" and (timer or until) and not is_longer:
            present = f"until {context.show(timer.due_at)}" if timer else "until resumed"
            wanted = plan.until.strip() or "until resumed"
            title, text = f"{label} is already paused {present}", f"Pause it {wanted} instead?"
            question = ask(title, text, label=f"Pause {wanted}", act=act)
            return replace(question, no=f"Keep {present}")
        end = f"{plan.until}, then resumes" if until else " until someone resumes it"
        does = f"It stops sending{end}."
    return replace(ask(f"{verb} {label}{plan.until}?", does, label=verb, act=act), asks=False)


def _chosen(ids: Many[str], plan: Plan, context: CommandContext) -> Result | Question:
    """The sequences that were pointed at. One that is missing in the list is asked for by its id all the same."""
    chosen = plan.among([sequence for sequence in plan.sequences if sequence.id in ids])
    if len(ids) == 1 and chosen.sequences:
        return _one(chosen.sequences[0], plan, context)
    listed = {sequence.id for sequence in chosen.sequences}
    act = plan.of(chosen.able, *(Target(id=name, label=name) for name in ids if name not in listed))
    if not act.targets:
        return _nothing_able(act.status)
    label = f"{act.verb.capitalize()} {show_number(len(act.targets), 'sequence')}"
    return replace(ask(f"{label}{plan.until}?", names_of(act.targets), label=label, act=act), asks=False)


async def _resume_all(plan: Plan, context: CommandContext) -> Question:
    """Ask about the sequences that this program paused; the others are left to an explicit choice."""
    able = plan.able
    changes = await context.records.last_changes(context.workspace.name, [one.id for one in able])
    own = [one for one in able if (change := changes.get(one.id)) and change.effect == "paused"]
    others = plan.of([sequence for sequence in able if sequence not in own]).targets
    title = f"Resume {show_number(len(own or able), 'paused sequence')}?"
    if not others:
        return plan.question(title, plan.choice("all"))
    elsewhere = f"Paused elsewhere: {names_of(others)}."
    if not own:
        hint = "To resume one of them, name it: `resume SEQUENCE`."
        return plan.question(title, plan.choice("all"), text=elsewhere, hint=hint)
    these = plan.among(own)
    text = f"{elsewhere} {'It stays' if len(others) == 1 else 'They stay'} paused."
    return these.question(title, these.choice("these"), plan.choice("all"), text=text)


async def _of_domain(domain: str, plan: Plan, context: CommandContext) -> Result | Question:
    """The sequences that were seen on a domain; the service doesn't list them, so that a person may choose all."""
    verb, was, since = plan.act.verb, WAS[plan.act.status], context.now() - LOOK_BACK
    names = await context.records.domain_sequences(context.workspace.name, domain, since)
    folded = {name.casefold() for name in names}
    these = plan.among([sequence for sequence in plan.sequences if sequence.label.casefold() in folded])
    unknown = "The service doesn't list the sequences of a domain."
    if not these.sequences:
        await need_inboxes(domain, context, argument="target")
        none = f"{unknown} None used it in the last 30 days."
        title, hint = f"Which sequences send from {clip(domain)}?", f"To {verb} every sequence: `{verb} all`."
        return plan.question(title, plan.choice("all"), text=none, hint=hint)
    if not (these.able or these.timed):
        return _nothing_able(plan.act.status, f" known to send from {domain}")
    used = f"{unknown} These used it in the last 30 days. Others may use it too."
    more = () if len(these.able) == len(plan.able) else (plan.choice("all"),)
    title = f"{verb.capitalize()} {show_number(len(these.able), f'{was} sequence')} that used {clip(domain)}?"
    return these.question(title, these.choice("these"), *more, text=used)


def _nothing_able(status: Status, where: str = "") -> Result:
    return Result(Card(f"No {WAS[status]} sequences{where}", text=(NOTHING_CHANGED,)))


# -- what became of it


async def _result(tally: Tally, act: SetStatus, context: CommandContext) -> Result:
    """The result for the sequences: one by its name, several by their number."""
    status, only = act.status, act.targets[0] if len(act.targets) == 1 else None
    changed, extended = tally.of("changed"), tally.of("extended")
    touched, failed = [*changed, *extended], tally.of("failed", "uncertain", "gone")
    note = tally.outcomes[only].note if only else ""
    if only and not touched and act.reason:
        touched = [only]  # a reason is a change too
    if only and not touched:
        other = (Resume if status == "paused" else Pause)(target=(only.id,))
        button, title = Button(other.verb.capitalize(), other), f"{clip(only.label)} is already {status}"
        card = Card(title, text=(NOTHING_CHANGED,), buttons=(button,), footer=note)
        return Result(card, rows=_rows([only], status))
    left = () if only else leftovers(tally, status)
    if not (touched or failed):
        return Result(Card(f"Nothing left to {act.verb}", text=left))
    until = f" until {context.show(act.until)}" if act.until else ""
    told = changed or touched
    if not told:
        title = title_of_failures(tally, status)
    else:
        subject = clip(told[0].label) if only else show_number(len(told), "sequence")
        be, stay = ("is", "stays") if len(told) == 1 else ("are", "stay")
        state = f"paused{until}" if status == "paused" else "sending again" if changed else "active"
        title = f"{subject} {be if changed else stay} {state}"
    facts = [Fact("Reason", act.reason)] if act.reason else []
    resumes = True
    if act.until and told:  # a fact for faces that know each reader's zone
        facts.append(Fact("Until", context.show(act.until), at=act.until))
        resumes = bool((await read_part(context.records.bot_is_running())).value)
    names = [] if only else [names_of(changed)]
    if extended and not only:
        names.append(f"Already paused, now{until or ' until someone resumes them'}: {names_of(extended)}.")
    card = Card(
        title,
        tone=Tone.WARN if failed or not resumes else Tone.GOOD,
        text=(*names, *left, "" if resumes else NO_BOT),
        facts=facts,
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


def title_of_failures(tally: Tally, status: Status) -> str:
    count = len(tally.of("failed", "gone", "uncertain"))
    if count > len(tally.of("uncertain")):
        return f"Couldn't {VERB[status]} {show_number(count, 'sequence')}"
    return f"Couldn't confirm {show_number(count, 'pause' if status == 'paused' else 'resumption')}"


def names_of(targets: Many[Target]) -> str:
    return show_some([clip(target.label, length=40) for target in targets], SHOWN)


def leftovers(tally: Tally, status: Status) -> tuple[str, ...]:
    """A sentence for each kind of sequence that was not changed."""
    failed, not_done = tally.of("failed"), f"Not {'paused' if status == 'paused' else 'sending again'}"
    unchanged = len(tally.of("already"))
    lines = [f"{unchanged} unchanged."] if unchanged else []
    kinds: dict[Outcome, str] = {"moved": "Changed later and left as is: {}.", "gone": "No longer there: {}."}
    kinds["uncertain"] = "Couldn't confirm: {}. Check `sequences paused`."
    for kind, text in kinds.items():
        if of_kind := tally.of(kind):
            lines.append(text.format(names_of(of_kind)))
    lines += [
        f"{not_done}: {clip(one.label, length=40)}: {tally.outcomes[one].note}"
        for one in failed[:FAILURES_SHOWN]
    ]
    if len(failed) > FAILURES_SHOWN:
        lines.append(f"and {len(failed) - FAILURES_SHOWN} more")
    return tuple(lines)


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
