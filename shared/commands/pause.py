"""`pause` and `resume`: sequences, one or many; what is meant, what is asked first, and what became of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as Many
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal, Self

from shared.api.words import SequenceStatus
from shared.commands.base import (
    ALL,
    DOMAIN,
    NOTHING_CHANGED,
    Act,
    Changing,
    Choice,
    CommandContext,
    Data,
    Done,
    OnSequence,
    Question,
    Result,
    UsageError,
    Words,
    ask,
    is_over,
    need_target,
    read_part,
    texts,
)
from shared.commands.inboxes import need_inboxes
from shared.commands.sequences import Sequences, read_pauses, resolve_sequence, sequence_table
from shared.commands.times import END_WORDS, End, end_mistake, read_end
from shared.domain.card import Button, Card, Fact, Tone, warning
from shared.text.formats import clip, clip_name, show_number, show_some
from shared.text.tokenize import quote

if TYPE_CHECKING:
    from shared.api.models import Sequence
    from shared.commands.hold import Changes
    from shared.records import Pauses, Timer

LOOK_BACK = timedelta(days=30)
SHOWN = 15
NO_BOT = (
    "It resumes only while the bot runs, and no bot uses this database. Start it with `outreach bot`. "
    "If it is already running, `outreach doctor` shows which database it uses."
)
UNTIL_RESUMED = "until resumed"
WAS: Mapping[str, SequenceStatus] = {"paused": "active", "active": "paused"}
"""The status that a sequence has before it gets another."""
VERB: Mapping[str, str] = {"paused": "pause", "active": "resume"}
Outcome = Literal["changed", "already", "moved", "gone", "uncertain", "failed"]
EFFECT: Mapping[str, Literal["paused", "resumed"]] = {"paused": "paused", "active": "resumed"}


class OnSequences(OnSequence, Changing):
    """A command about one sequence, or about several."""

    own_fields = ("id", "status")
    asks = True

    @property
    def scope(self) -> str:
        """`all`, `domain:acme.com`, or nothing: one sequence is meant."""
        text = self.target[0].lower() if len(self.target) == 1 else ""
        return text if text == ALL or (text.startswith(DOMAIN) and len(text) > len(DOMAIN)) else ""

    async def run(self, context: CommandContext) -> Done:
        """Read what is meant; one sequence is paused or resumed without being asked, unless its pause gets another end."""
        act, scope = SetStatus(status="active"), self.scope
        if isinstance(self, Pause):
            until = self.end.after(context.now(), zone=context.zone)
            if self.end.until and until is None:
                return is_over(f"“{self.end.until}”")
            # Between backticks an answer would show it as code of ours.
            reason = self.reason.replace("`", "'")
            act = SetStatus(status="paused", until=until, reason=reason, keep_longer=bool(scope))
        known, listed = await read_pauses(context), await context.sequences()
        # One that resumes a sequence meanwhile is gone after the list, and one that is set meanwhile was not there before.
        timers = {**known.timers, **(await read_pauses(context)).timers}
        plan = Plan(act=act, context=context, sequences=listed, known=known, timers=timers)
        if not scope:
            return _named(self, plan)
        which = text = ""
        if scope != ALL:
            domain = scope.removeprefix(DOMAIN)
            plan, which = await _of_domain(domain, plan), f" that used {clip(domain)} in the last 30 days"
            text = "The service doesn't list the sequences of a domain: others may use it, too."
        if not plan.able:
            return Result(Card(f"No {WAS[act.status]} sequences{which}", text=(text, NOTHING_CHANGED)))
        if scope == ALL and act.status == "active":
            return await _resume_all(plan)
        return plan.question(which=which, text=text)


class Pause(OnSequences):
    """Pause a sequence, or all of them, until you resume it or for a set time."""

    verb = "pause"
    aliases = ("stop",)
    usage = "SEQUENCE [for 2h] [reason …]"
    examples = (
        'pause "Q3 founders" for 2h reason bounces are high',
        "pause sq_1",
        "pause sq_1 until monday 9am",
        "pause sq_1 for the weekend",
        "pause all",
        "pause domain:acme.com",
    )

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
    """Resume a paused sequence."""

    verb = "resume"
    aliases = ("unpause",)
    usage = "SEQUENCE"
    examples = ('resume "Q3 founders"', "resume sq_1", "resume all")


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

    @classmethod
    def listed(cls, sequence: Sequence, known: Pauses) -> Self:
        """A sequence as it was listed after these records were read."""
        revision = None if known.revisions is None else known.revisions.get(sequence.id, 0)
        return cls(id=sequence.id, label=sequence.label, status=sequence.status or "", revision=revision)


class SetStatus(Act):
    """Pauses or resumes exactly these sequences."""

    status: SequenceStatus
    targets: tuple[Target, ...] = ()
    until: datetime | None = None
    reason: str = ""
    keep_longer: bool = False
    """A pause that lasts at least as long is left as it is."""

    @property
    def verb(self) -> str:  # type: ignore[override] # what it does decides it
        return VERB[self.status]

    @property
    def label(self) -> str:
        """`Pause 12 sequences`, `Pause Q3 founders`."""
        many = show_number(len(self.targets), "sequence")
        one = clip_name(self.targets[0].label) if len(self.targets) == 1 else many
        return f"{self.verb.capitalize()} {one}"

    async def run(self, context: CommandContext) -> Result:
        from shared.commands.hold import change_each

        if self.until and self.until <= context.now():
            return is_over(context.show(self.until))
        done = await change_each([(target, self) for target in self.targets], context)
        return await _result(done, self, context)


def ends_earlier(timer: Timer | None, end: datetime | None) -> bool:
    """True where a timer ends a pause before `end`; None is never."""
    return timer is not None and (end is None or timer.due_at < end)


# -- what a command line means, and what is asked about it


class Plan(Data):
    """The change that is meant, among sequences as the service listed them."""

    act: SetStatus
    context: CommandContext
    sequences: Many[Sequence]
    known: Pauses
    """The records of before the sequences were listed."""
    timers: Mapping[str, Timer]
    """The ends of timed pauses, by sequence, also those of after that."""

    @property
    def able(self) -> Many[Sequence]:
        """Those whose status would change, and the paused ones that would resume before the new end."""
        status, end = self.act.status, self.act.until
        return [
            one
            for one in self.sequences
            if one.status == WAS[status]
            or (one.status == status == "paused" and ends_earlier(self.timers.get(one.id), end))
        ]

    def of(self, sequences: Iterable[Sequence]) -> SetStatus:
        """The act on these."""
        targets = tuple(Target.listed(sequence, self.known) for sequence in sequences)
        return replace(self.act, targets=targets)

    def question(self, *more: Choice, which: str = "", text: str = "") -> Question:
        """The question about these sequences; the button names what it changes."""
        able, choice, until = self.able, self.choice, self.context.until(self.act.until)
        does = "They continue sending where they stopped."
        if self.act.status == "paused":
            does = f"They stop sending{until or ' until you resume them'}. Replies still arrive."
        table = replace(sequence_table(able[:SHOWN]), total=len(able))
        card = warning(f"{choice.label}{which}{until}?", text, does, table=table)
        return Question(card=card, choices=(choice, *more))

    @property
    def choice(self) -> Choice:
        act = self.of(self.able)
        return Choice(act.label, act)


def _named(arguments: OnSequences, plan: Plan) -> Done:
    """The sequence of a name or an id."""
    target, is_pause = arguments.target, isinstance(arguments, Pause)
    match = resolve_sequence(plan.sequences, target, greedy=is_pause)
    if match.only and match.after:
        raise _no_end(arguments, (match.only.id,), match.after)
    if match.only:
        return _one(match.only, plan)
    first, words = target[:1], target[1:] if is_pause else ()
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
        buttons = (Button(f"Pause {clip_name(str(mistake.near))}", meant),)
    hint = f"{mistake.hint} A reason comes after `reason`. If it is part of a name, put the name in quotes."
    title = mistake.problem.removesuffix(".")
    return UsageError(warning(title, "Nothing was paused.", hint, buttons=buttons))


def _one(sequence: Sequence, plan: Plan) -> Question | Act:
    """One sequence; a pause gets another end only with a question: it never ends earlier without being asked."""
    act, timer, context = plan.of([sequence]), plan.timers.get(sequence.id), plan.context
    end, is_pause, label = act.until, act.status == "paused", clip(sequence.label)
    until, verb, does = context.until(end), act.verb.capitalize(), "It continues where it stopped."
    is_longer = timer and end and timer.due_at <= end
    if is_pause and sequence.status == "paused" and (timer or end) and not is_longer:
        present = context.until(timer.due_at if timer else None).strip() or UNTIL_RESUMED
        wanted = until.strip() or UNTIL_RESUMED
        title, text = f"{label} is already paused {present}", f"Pause it {wanted} instead?"
        return replace(ask(title, text, label=f"Pause {wanted}", act=act), no=f"Keep {present}")
    if not context.asks_always:
        return act
    if is_pause:
        does = f"It stops sending{f'{until}, then resumes' if end else ' until someone resumes it'}."
    return ask(f"{verb} {label}{until}?", does, label=verb, act=act)


async def _resume_all(plan: Plan) -> Question:
    """Ask about the sequences that this program paused; the others are left to an explicit choice."""
    able, context = plan.able, plan.context
    changes = await context.records.last_changes(context.workspace.name, [one.id for one in able])
    own = [one for one in able if (change := changes.get(one.id)) and change.effect == "paused"]
    others = plan.of([sequence for sequence in able if sequence not in own]).targets
    if not others:
        return plan.question()
    text = f"Paused elsewhere: {names_of(others)}."
    if not own:
        return replace(plan.question(text=text), is_open=True)
    text += f" They stay paused, unless you choose all {len(able)}."
    return replace(plan, sequences=own).question(plan.choice, text=text)


async def _of_domain(domain: str, plan: Plan) -> Plan:
    """Only the sequences that were seen on a domain; raises `Stop` where the account has none of its inboxes."""
    context = plan.context
    since, workspace = context.now() - LOOK_BACK, context.workspace.name
    names = {name.casefold() for name in await context.records.domain_sequences(workspace, domain, since)}
    used = [sequence for sequence in plan.sequences if sequence.label.casefold() in names]
    if not used:
        await need_inboxes(domain, context)
    return replace(plan, sequences=used)


# -- what became of it


async def _result(done: Changes, act: SetStatus, context: CommandContext) -> Result:
    """The result for the sequences: one by its name, several by their number."""
    status, is_paused, is_one = act.status, act.status == "paused", len(done) == 1
    by, left = by_outcome(done)
    touched, failed, note = by["changed"], by["failed"], done[0][1].note if is_one else ""
    if is_one and not touched:
        (only,) = act.targets
        other = (Resume if is_paused else Pause)(target=(only.id,))
        title, button = f"{clip(only.label)} is already {status}", Button(other.verb.capitalize(), other)
        card = Card(title, text=(NOTHING_CHANGED,), buttons=(button,), footer=note)
        return Result(card, rows=rows_of([only], status))
    if not (touched or failed):
        return Result(Card(f"Nothing left to {act.verb}", text=left))
    uncertain, facts, resumes = by["uncertain"], [], True
    if act.reason:
        facts.append(Fact("Reason", act.reason))
    if touched:
        title = title_of(touched, f"paused{context.until(act.until)}" if is_paused else "sending again")
    else:
        verb = act.verb if len(uncertain) < len(failed) else f"confirm the {act.verb} of"
        title = f"Couldn't {verb} {show_number(len(failed), 'sequence')}"
    if act.until and touched:  # a fact for faces that know each reader's zone
        facts.append(Fact("Until", context.show(act.until), at=act.until))
        # Who asks in Slack is answered by a bot that runs.
        is_bots = context.actor.face == "slack"
        resumes = is_bots or bool((await read_part(context.records.bot_is_running())).value)
    card = Card(
        title,
        tone=Tone.WARN if failed or not resumes else Tone.GOOD,
        text=("" if is_one else names_of(touched), *left, "" if resumes else NO_BOT),
        facts=facts,
        buttons=(Button("Paused sequences", Sequences(status="paused")),) if uncertain else (),
        footer=note,
    )
    ids = tuple(target.id for target in touched)
    return Result(
        card,
        rows=rows_of(touched, status),
        audit=title if is_one else f"{title}: {', '.join(ids)}",
        effect=EFFECT[status] if ids else "failed",
        sequences=ids,
        until=act.until,
        reason=act.reason,
        undoable={target.id: one.before for target, one in done if one.before},
    )


def title_of(targets: Many[Target], state: str) -> str:
    """`Q3 founders is paused`, `12 sequences are sending again`."""
    if len(targets) == 1:
        return f"{clip(targets[0].label)} is {state}"
    return f"{show_number(len(targets), 'sequence')} are {state}"


def rows_of(targets: Iterable[Target], status: SequenceStatus) -> tuple[dict[str, str], ...]:
    return tuple({"id": target.id, "name": target.label, "status": status} for target in targets)


def names_of(targets: Many[Target]) -> str:
    return show_some([clip_name(target.label) for target in targets], SHOWN)


LEFT: Mapping[Outcome, str] = {
    "already": "Unchanged",
    "moved": "Changed later and left as is",
    "gone": "No longer there",
    "uncertain": "Couldn't confirm",
    "failed": "Not changed",
}
"""The outcomes of sequences that were not changed, in words."""


def by_outcome(done: Changes) -> tuple[Mapping[Outcome, Many[Target]], Many[str]]:
    """The sequences by what came of them; and a sentence for each kind that was not changed, with the reasons.

    `failed` are all whose change isn't certain or wasn't made.
    """
    by, reasons = defaultdict[Outcome, list[Target]](list), dict[str, None]()
    for target, changed in done:
        by[changed.outcome].append(target)
        if changed.outcome == "failed":
            reasons[changed.note] = None
    lines = [f"{words}: {names_of(by[outcome])}." for outcome, words in LEFT.items() if by[outcome]]
    by["failed"] += by["uncertain"] + by["gone"]
    return by, (*lines, *reasons)
