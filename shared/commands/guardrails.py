"""`guardrails`: rules that tell, suggest or pause; lists, adds, tests, removes and switches them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal, Self, get_args

from shared.commands.base import (
    COMMANDS,
    NOTHING_CHANGED,
    Act,
    ArgumentError,
    Arguments,
    ChangingCommand,
    Choice,
    Question,
    Result,
    Words,
    ask,
    none_left,
    refused,
    texts,
    unknown_word,
)
from shared.commands.times import end_mistake, read_end
from shared.domain.card import Button, Card, Fact, Row, Table, Tone, columns, number
from shared.domain.wall_clock import DAY, moment
from shared.text.formats import clip, short_duration, show_count, show_exact_span, show_number
from shared.text.tokenize import quote

if TYPE_CHECKING:
    from shared.commands.run import CommandContext
    from shared.guardrails.activity import Activity
    from shared.guardrails.backtest import Backtest
    from shared.guardrails.catalog import NamedRule
    from shared.guardrails.evaluate import Standing
    from shared.guardrails.rule import Rule
    from shared.records.guardrails import Switch
    from shared.store.history import Records

GuardAct = Literal["list", "add", "test", "remove", "snooze", "off", "on"]
ACTS: tuple[GuardAct, ...] = get_args(GuardAct)
SNOOZED = timedelta(days=1)
LOOK_BACK = timedelta(days=30)
FIRINGS_SHOWN = 8
ENOUGH_SECONDS = 7 * DAY
"""A time without a firing says something about a rule from so many seconds on."""
TONES = {"acts": Tone.GOOD, "suggests": Tone.INFO, "notifies": Tone.INFO, "waits": Tone.WARN}
STAY = "Sequences that are paused stay paused."
ALL_SILENT = "No rule posts, suggests or pauses anything until someone turns them on."


class Guard(Arguments):
    """`guardrails [list|add RULE [as NAME]|test RULE|test NAME|remove NAME|snooze NAME [for 24h]|off [NAME]|on [NAME]]`."""

    verb = "guardrails"
    act: GuardAct = "list"
    rule: str = ""
    """The sentence as it was understood."""
    name: str = ""
    duration: timedelta | None = None
    """The length of a `snooze`; None: the usual one."""

    @classmethod
    def read(cls, words: Words) -> Self:
        if not words:
            return cls()
        # late, as below: every start of the program would wait for it
        from shared.guardrails.sentence import ACTIONS

        typed, rest = words[0], words[1:]
        if typed.is_one_of(*ACTIONS):
            hint = f"To add it, write: guardrails add {clip(_text(words), length=120)}"
            raise ArgumentError("Add the rule, or test it first.", hint=hint)
        act = next((one for one in ACTS if typed.is_one_of(one)), None)
        if act is None:
            raise unknown_word(typed, ACTS)
        if act == "list":
            none_left(rest)
        if act == "list" or (act in {"off", "on"} and not rest):
            return cls(act=act)
        if act == "snooze":
            return cls(act=act, name=_name(rest[:1]), duration=_length(rest[1:]))
        if act not in {"add", "test"} or (act == "test" and _is_name(rest)):
            return cls(act=act, name=_name(rest))
        if act == "add" and len(rest) >= 2 and rest[-2].is_one_of("as"):
            return cls(act=act, name=_name(rest[-1:]), rule=_rule(rest[:-2]))
        return cls(act=act, rule=_rule(rest))

    def write(self) -> Iterable[str]:
        yield self.act
        if self.rule:
            yield quote(self.rule)
        if self.name:
            yield from ("as", self.name) if self.act == "add" else (self.name,)
        if self.duration:
            yield from ("for", short_duration(self.duration))

    @property
    def only_reads(self) -> bool:
        return self.act in {"list", "test"}


def _is_name(words: Words) -> bool:
    from shared.guardrails.catalog import NAME

    return len(words) == 1 and bool(NAME.fullmatch(words[0].text.lower()))


def _name(words: Words) -> str:
    if not words:
        raise ArgumentError("Which rule?", hint="`guardrails list` shows their names.")
    if not _is_name(words):
        hint = "A name has up to 40 letters, digits, dots and dashes. `guardrails list` shows all names."
        raise ArgumentError(f"“{clip(_text(words))}” isn't the name of a rule.", hint=hint)
    return words[0].text.lower()


def _length(words: Words) -> timedelta | None:
    """The length of a snooze: `for 24h`."""
    if not words:
        return None
    end = read_end(texts(words))
    if end is None or end.duration is None:
        mistake = end_mistake(texts(words))
        raise ArgumentError(mistake.problem, example="guardrails snooze bounces-5 for 24h")
    return end.duration


def _rule(words: Words) -> str:
    """The sentence as it was understood."""
    from shared.guardrails.sentence import EXAMPLE, Misunderstood, parse

    if not words:
        raise ArgumentError("Which rule?", example=f"guardrails add {EXAMPLE}")
    try:
        return str(parse(_text(words)))
    except Misunderstood as error:
        raise ArgumentError(error.problem, example=f"guardrails add {EXAMPLE}") from None


def _text(words: Words) -> str:
    """The sentence, whether it was put into quotes as a whole or only its names."""
    if len(words) == 1:
        return words[0].text
    escaped = (word.text.replace("\\", "\\\\").replace('"', '\\"') for word in words)
    return " ".join(
        f'"{text}"' if word.quoted else word.text for word, text in zip(words, escaped, strict=True)
    )


async def _run(arguments: Guard, context: CommandContext) -> Result | Question:
    from shared.guardrails.sentence import parse

    rules, name, act = await _rules(context), arguments.name, arguments.act
    if act == "add":
        return await _add(arguments, rules, context)
    # Before anything else: a misspelled name must switch nothing.
    if name and name not in rules:
        text = f"Rules: {', '.join(sorted(rules)) or 'none'}."
        return refused(f"No rule is named {name}", text, why="no such rule", argument="name")
    if act == "test":
        return await _backtest(name, rules[name].rule if name else parse(arguments.rule), context)
    if act == "off" and not name:
        return _ask_all_off(len(rules), context)
    doing = {
        "list": lambda: _list(rules, context),
        "remove": lambda: _remove(rules[name], context),
        "snooze": lambda: _switch_off(name, context, until=context.now() + (arguments.duration or SNOOZED)),
        "off": lambda: _switch_off(name, context),
        "on": lambda: _turn_on(name, context),
    }
    return await doing[act]()


async def _rules(context: CommandContext) -> Mapping[str, NamedRule]:
    from shared.guardrails.catalog import catalog

    workspace = context.workspace.name
    configured: Mapping[str, str] = context.settings.guardrails(workspace) if context.settings else {}
    return catalog(configured, await context.records.guardrails.rules(workspace))


# -- the list


async def _list(rules: Mapping[str, NamedRule], context: CommandContext) -> Result:
    """A line a rule: its state, the sentence, and when it fired last."""
    from shared.guardrails.activity import HORIZON
    from shared.guardrails.evaluate import is_on, spans_of, standing
    from shared.records.guardrails import ALL

    records, workspace = context.records.guardrails, context.workspace.name
    now = context.now().timestamp()
    spans = spans_of(rule.rule for rule in rules.values())
    activity = await load_activity(context.records, workspace, now, spans)
    incidents = await records.incidents(workspace, now - HORIZON)
    switches = await records.switches(workspace)
    stands = [
        standing(
            rule.name,
            rule.rule,
            activity,
            incidents=incidents,
            switches=switches,
            now=now,
            show=lambda at: context.show(moment(at)),
        )
        for rule in rules.values()
    ]
    all_off = next((switch for switch in switches if switch.rule == ALL and is_on(switch, now=now)), None)
    off = Button("Turn all off", Guard(act="off"), tone=Tone.BAD)
    return Result(
        Card(
            show_number(len(stands), "guardrail"),
            tone=Tone.WARN if all_off else Tone.INFO,
            text=(_off_text(all_off, context),) if all_off else (),
            facts=tuple(_line(one, context) for one in stands),
            buttons=(Button("Turn all on", Guard(act="on")) if all_off else off,),
            footer="guardrails test NAME shows what a rule would have done in the last 30 days.",
        ),
        rows=tuple(_data(one, rules[one.name].source) for one in stands),
    )


def _line(standing: Standing, context: CommandContext) -> Fact:
    """`suggests · suggest pausing sequence when bounces > 5% … · fired 22 Nov 14:05`, without the usual limits."""
    state = ": ".join(filter(None, (standing.state, standing.why)))
    fired = "" if standing.last_fired is None else f"fired {context.show(moment(standing.last_fired))}"
    sentence = str(replace(standing.rule, per_day=0, at_once=0))
    tone = Tone.BAD if standing.holds else TONES.get(standing.state, Tone.UNKNOWN)
    return Fact(standing.name, " · ".join(filter(None, (state, sentence, fired))), tone=tone)


def _data(standing: Standing, source: str) -> dict[str, object]:
    fired = standing.fired
    return {
        "name": standing.name,
        "rule": str(standing.rule),
        "source": source,
        "state": standing.state,
        "why": standing.why,
        "holds": standing.holds,
        "last_fired": None if standing.last_fired is None else moment(standing.last_fired).isoformat(),
        "fired_for": fired and fired.label,
        "fired_value": fired and fired.note,
    }


# -- changes


async def _add(
    arguments: Guard, rules: Mapping[str, NamedRule], context: CommandContext
) -> Result | Question:
    """A rule that pauses without asking is asked about first, with its backtest."""
    from shared.guardrails.catalog import free_name
    from shared.guardrails.rule import Action
    from shared.guardrails.sentence import parse

    rule = parse(arguments.rule)
    name = arguments.name or free_name(rule, rules)
    if (taken := rules.get(name)) and taken.source != "shipped":
        where = "outreach.toml" if taken.source == "settings" else "this workspace"
        return refused(
            f"There is already a rule named {name} in {where}",
            f"It says: {taken.rule}",
            "Choose another name: guardrails add RULE as NAME",
            why="the name is taken",
            argument="name",
        )
    # A rule acts in the name of who added it, and so can do no more than that person.
    if rule.action is not Action.TELL and not context.allows(COMMANDS["pause"]):
        text = "A rule that pauses or suggests pausing needs the same permission."
        return refused("You don't have permission to pause sequences here", text, why="role")
    act = AddRule(name=name, sentence=str(rule))
    if rule.action is not Action.ACT:
        return await act.carry_out(context)
    tested = await _backtest(name, rule, context)
    card = replace(tested.card, title=f"Let {name} pause without asking?", tone=Tone.WARN, buttons=())
    return Question(card=card, choices=(Choice("Turn on", act),))


class AddRule(Act):
    """Adds a rule to a workspace."""

    command = "guardrails"
    name: str
    sentence: str

    async def carry_out(self, context: CommandContext) -> Result:
        from shared.guardrails.rule import Action
        from shared.guardrails.sentence import parse
        from shared.records.guardrails import StoredRule

        name, rule, who = self.name, parse(self.sentence), context.actor
        stored = StoredRule(name=name, sentence=self.sentence, added_by=who.id, added_name=who.name)
        # The name was free when it was asked about; someone may have taken it since.
        if not await context.records.guardrails.add_rule(context.workspace.name, stored):
            title = f"There is already a rule named {name}"
            return refused(title, why="the name is taken", argument="name")
        does = {
            Action.TELL: "It posts a message.",
            Action.SUGGEST: "It posts a message with a button that pauses.",
            Action.ACT: "It pauses without asking.",
        }[rule.action]
        card = Card(
            f"Guardrail {name} is on",
            tone=Tone.GOOD,
            text=(f"Rule: {rule}.", does, *await _missing_sequence(rule, context)),
            buttons=(
                Button("Test it", Guard(act="test", name=name)),
                Button("Remove", Guard(act="remove", name=name)),
            ),
        )
        return Result(card, audit=f"guardrail {name}: {rule}", setting=f"guardrail {name}")


async def _missing_sequence(rule: Rule, context: CommandContext) -> tuple[str, ...]:
    """A warning where a rule names a sequence that doesn't exist."""
    from shared.api.errors import OutreachError
    from shared.guardrails.rule import Scope, subject_key

    if not rule.only or rule.scope is not Scope.SEQUENCE:
        return ()
    try:
        names = [subject_key(one.label) for one in await context.sequences()]
    except OutreachError:
        return ()
    if subject_key(rule.only) in names:
        return ()
    return (f"Warning: no sequence is named “{rule.only}”. The rule does nothing until there is one.",)


async def _remove(rule: NamedRule, context: CommandContext) -> Result:
    name = rule.name
    if rule.source != "added":
        is_set = rule.source == "settings"
        where = "It is in outreach.toml. Remove it there, or" if is_set else "It is built in. To"
        text = f"{where} turn it off: `guardrails off {name}`."
        return refused(f"{name} was not removed", text, why="not added", argument="name")
    await context.records.guardrails.remove_rule(context.workspace.name, name)
    again = Button("Add it again", Guard(act="add", rule=str(rule.rule), name=name))
    card = Card(f"Guardrail {name} was removed", tone=Tone.GOOD, buttons=(again,))
    return Result(card, audit=f"guardrail {name} removed", setting=f"guardrail {name}")


async def _switch_off(name: str, context: CommandContext, *, until: datetime | None = None) -> Result:
    """Turn a rule off, until a moment where one is given; without a name, all rules of all workspaces."""
    from shared.records.guardrails import Switch

    records, workspace = context.records.guardrails, context.workspace.name
    what = f"Guardrail {name} is" if name else f"All guardrails{_everywhere(context)} are"
    buttons = (Button("Turn on", Guard(act="on", name=name), tone=Tone.GOOD),)
    # What a person turned off stays off: a snooze would turn it on again at its end.
    if until and any(
        switch.rule == name and switch.until is None for switch in await records.switches(workspace)
    ):
        return Result(Card(f"{what} off", text=(NOTHING_CHANGED,), buttons=buttons))
    at, end = context.now().timestamp(), until.timestamp() if until else None
    await records.switch_off(workspace, Switch(rule=name, by=context.actor.name, at=at, until=end))
    state, does = "off", "It does nothing until someone turns it on." if name else ALL_SILENT
    if until:
        state, does = f"snoozed until {context.show(until)}", "Then it works again."
    tone = Tone.GOOD if until else Tone.WARN
    card = Card(f"{what} {state}", tone=tone, text=(does, STAY), buttons=buttons)
    audit = f"{what[:1].lower()}{what[1:]} {state}"
    return Result(card, audit=audit, setting=_setting(name))


def _setting(name: str) -> str:
    from shared.records.guardrails import ALL_RULES

    return f"guardrail {name}" if name else ALL_RULES


class AllOff(Act):
    """Turns all rules of all workspaces off."""

    command = "guardrails"

    async def carry_out(self, context: CommandContext) -> Result:
        return await _switch_off("", context)


def _ask_all_off(count: int, context: CommandContext) -> Question:
    text = f"{show_number(count, 'guardrail')} here. {ALL_SILENT}"
    return ask(
        f"Turn off all guardrails{_everywhere(context)}?", text, STAY, label="Turn all off", act=AllOff()
    )


def _everywhere(context: CommandContext) -> str:
    """The reach of a switch of all rules, where there is more than one workspace."""
    is_one = context.settings is None or len(context.settings.workspaces) < 2
    return "" if is_one else " of all outreach workspaces"


async def _turn_on(name: str, context: CommandContext) -> Result:
    from shared.records.guardrails import ALL

    records, workspace = context.records.guardrails, context.workspace.name
    changed = await records.switch_on(workspace, name)
    left = [one for one in await records.switches(workspace) if name and one.rule == ALL]
    what = f"Guardrail {name} is" if name else "All guardrails are"
    title = f"{what} on" if changed else f"{what} already on"
    card = Card(title, tone=Tone.GOOD, text=tuple(_off_text(one, context) for one in left[:1]))
    return Result(card, audit=title.lower() if changed else "", setting=_setting(name))


def _off_text(switch: Switch, context: CommandContext) -> str:
    return f"@{switch.by} turned all guardrails off at {context.show(moment(switch.at))}."


# -- the backtest: when a rule would have fired in the stored history, and what it would have prevented


async def load_activity(
    records: Records, workspace: str, now: float, spans: Iterable[float] | None = None
) -> Activity:
    """The stored past, as far as it matters to windows that are so many seconds long; None: to all windows."""
    import asyncio

    from shared.guardrails.activity import HORIZON, Activity

    heard = await records.guardrails.heard_since(workspace)
    activity = Activity(heard_since=float("inf") if heard is None else heard)
    for at, broken in await records.domains.broken_since(workspace, moment(now - HORIZON)):
        activity.saw_broken(at, broken)
    activity.saw_broken(now, await records.domains.broken(workspace))
    async for happenings, samples in records.guardrails.past(workspace, now, spans):
        # In a thread: it takes a while for a large account.
        await asyncio.to_thread(activity.add, happenings, samples)
    return activity


async def _backtest(name: str, rule: Rule, context: CommandContext) -> Result:
    """Replay a rule over the last 30 days; one without a name is new, and can be added from there."""
    import asyncio

    from shared.guardrails.backtest import backtest
    from shared.guardrails.catalog import free_name
    from shared.guardrails.rule import Action

    end = context.now().timestamp()
    activity = await load_activity(context.records, context.workspace.name, end)
    start = end - LOOK_BACK.total_seconds()
    # In a thread: thirty days of a large account take seconds.
    result = await asyncio.to_thread(backtest, rule, activity, start=start, end=end)
    firings, is_known = result.firings, result.start <= end
    span = f"the last {LOOK_BACK.days} days"
    if is_known and result.start > start:
        span = f"the {show_exact_span(timedelta(seconds=end - result.start))} that are known"
    times = "once" if len(firings) == 1 else f"{len(firings):,} times"
    fired = f"have fired {times}" if firings else "not have fired"
    shown = name or free_name(rule, {})
    title = f"{shown} would {fired} in {span}" if is_known else f"{shown} can't be tested yet"
    since = _from_when(rule)
    footer = f"Checked hour by hour over the last {LOOK_BACK.days} days." if is_known else ""
    if is_known and result.start > start:
        metric = str(rule.condition.metric).capitalize()
        footer = f"{metric} before {context.show(moment(result.start))} are unknown: {since}."
    prevented = (
        Fact("Sends", show_count(result.sends)),
        Fact("Bounces", f"{result.bounces:,}"),
    )
    add = Button("Add this rule", Guard(act="add", rule=str(rule)))
    return Result(
        Card(
            title,
            text=(f"Rule: {rule}.", *await _missing_sequence(rule, context), *_summary(rule, result)),
            facts=prevented if firings and rule.action is not Action.TELL else (),
            table=_firings(rule, result, context) if firings else None,
            buttons=() if name else (add,),
            footer=footer,
        ),
        rows=tuple(
            {
                "at": moment(firing.at).isoformat(),
                rule.scope.value: firing.label,
                "measured": firing.note,
                "held_back": firing.held_back,
                "sends_after": firing.sends,
                "bounces_after": firing.bounces,
            }
            for firing in firings
        ),
    )


def _summary(rule: Rule, result: Backtest) -> tuple[str, ...]:
    from shared.guardrails.rule import Action

    if result.start > result.end:
        return (f"Nothing is known of {rule.condition.metric} yet: {_from_when(rule)}.",)
    if not result.firings:
        is_long = result.end - result.start >= ENOUGH_SECONDS
        short = "Its condition was never met, but that is too short a time to judge the rule by."
        return ("Its condition was never met in this time." if is_long else short,)
    if rule.action is Action.TELL:
        return ()
    held = sum(firing.held_back for firing in result.firings)
    limit = (f"Its own limits would have blocked it {show_number(held, 'time')}.",) if held else ()
    pausing = "Pausing each time" if rule.action is Action.ACT else "Following each suggestion"
    return (*limit, f"{pausing}{'' if rule.duration else ' for 24 h'} would have prevented:")


def _firings(rule: Rule, result: Backtest, context: CommandContext) -> Table:
    from shared.guardrails.rule import Action

    rows, tells = [], rule.action is Action.TELL
    for firing in result.firings[-FIRINGS_SHOWN:][::-1]:
        note = firing.note + (" (limit reached)" if firing.held_back else "")
        prevented = (None, None) if tells else (firing.sends, firing.bounces)
        cells = (context.show(moment(firing.at)), firing.label, note, *prevented)
        rows.append(Row(cells, tone=Tone.WARN))
    titles = ("When", rule.scope.capitalize(), "Measured")
    counts = (number("Sends prevented"), number("Bounces prevented"))
    return Table(columns(*titles, *counts), tuple(rows), total=len(result.firings))


def _from_when(rule: Rule) -> str:
    from shared.guardrails.rule import EVENT_OF, Metric

    if rule.condition.metric is Metric.DNS:
        return "it is known from the first change of a domain's DNS on"
    if rule.condition.metric in EVENT_OF:
        return "events are known from the first delivery on"
    return "it is known from the bot's first reading of the service on"


COMMAND = ChangingCommand(
    arguments=Guard,
    run=_run,
    rank=180,
    aliases=("guard",),
    usage="[list|add RULE [as NAME]|test RULE|test NAME|remove NAME|snooze NAME [for 24h]|off [NAME]|on [NAME]]",
    summary="Manage rules that notify you or pause sequences when bounces, replies or health get worse",
    own_fields=("at", "last_fired", "state"),
    asks=True,
    reads=True,
    examples=(
        "guardrails",
        'guardrails add "pause sequence for 4h when bounces > 5% of at least 50 sends in 24h"',
        "guardrails add notify about domain when health < 60 as low-health",
        "guardrails test bounces-5",
        "guardrails snooze bounces-5 for 24h",
        "guardrails off",
    ),
)
