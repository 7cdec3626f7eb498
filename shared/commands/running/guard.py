"""`guardrails`: lists, adds, tests, removes and switches rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from shared.commands import COMMANDS
from shared.commands.base import Act, Choice, Question, Result, refused
from shared.commands.guardrails import Guard
from shared.commands.run import CommandContext
from shared.commands.running.guard_backtest import backtest_rule, load_activity, missing_sequence
from shared.domain.card import Button, Card, Column, Fact, Row, Table, Tone, columns
from shared.domain.wall_clock import moment
from shared.guardrails.activity import HORIZON
from shared.guardrails.catalog import NamedRule, catalog, free_name
from shared.guardrails.evaluate import Standing, is_on, show_value, spans_of, standing
from shared.guardrails.rule import Action, Rule
from shared.guardrails.sentence import parse
from shared.records.guardrails import ALL, StoredRule, Switch
from shared.text.formats import show_number, show_time

DOES = {
    Action.TELL: "It posts a message.",
    Action.SUGGEST: "It posts a message with a button that pauses.",
    Action.ACT: "It pauses without asking.",
}
SNOOZED = timedelta(days=1)
IDLE = {"off", "snoozed", "waits"}
TONES = {"acts": Tone.GOOD, "suggests": Tone.INFO, "notifies": Tone.INFO, "waits": Tone.WARN}
RULE_COLUMNS = (
    *columns(
        "Name",
        Column(title="Last fired", narrow="fired"),
        Column(title="Nearest to its limit", narrow="nearest"),
    ),
    Column(title="How near", bar=True),
)


async def guard(arguments: Guard, context: CommandContext) -> Result | Question:
    """`guardrails [list|add RULE [as NAME]|test RULE|NAME|remove NAME|snooze NAME [for 24h]|off [NAME]|on [NAME]]`."""
    if arguments.act == "list":
        return await list_rules(context)
    acts = {"add": _add, "test": _test, "remove": _remove, "snooze": _snooze, "off": _off, "on": _on}
    return await acts[arguments.act](arguments, context)


async def list_rules(context: CommandContext) -> Result:
    """Every rule with its state, its last firing and how near it is to fire again."""
    records, workspace = context.need_records().guardrails, context.workspace.name
    rules = await _rules(context)
    spans = spans_of(one.rule for one in rules.values())
    activity = await load_activity(context.need_records(), context, spans)
    now = context.now().timestamp()
    incidents = await records.incidents(workspace, now - HORIZON)
    switches = await records.switches(workspace)
    stands = [
        standing(one.name, one.rule, activity, incidents=incidents, switches=switches, now=now)
        for one in rules.values()
    ]
    all_off = next((one for one in switches if one.rule == ALL and is_on(one, now=now)), None)
    text = (_off_text(all_off, context),) if all_off else ()
    toggle = Button(label="Turn all on", action=Guard(act="on")) if all_off else Button(
        label="Turn all off", action=Guard(act="off"), tone=Tone.BAD
    )  # fmt: skip
    return Result(
        card=Card(
            title=show_number(len(stands), "guardrail"),
            tone=Tone.WARN if all_off else Tone.INFO,
            text=text,
            facts=tuple(_rule_fact(one) for one in stands),
            table=Table(columns=RULE_COLUMNS, rows=tuple(_row(one, context) for one in stands)),
            buttons=(toggle,),
            footer="guardrails test NAME shows what a rule would have done in the last 30 days.",
        ),
        rows=tuple(_data(one, rules[one.name]) for one in stands),
    )


def _rule_fact(one: Standing) -> Fact:
    """The whole sentence, which a table's cell would cut, and what keeps it from doing what it says."""
    state = f" ({': '.join(filter(None, (one.state, one.why)))})" if one.state in IDLE or one.why else ""
    return Fact(label=one.name, value=f"{one.rule}{state}", tone=_tone(one))


def _tone(one: Standing) -> Tone:
    return Tone.BAD if one.closest and one.closest.holds else TONES.get(one.state, Tone.UNKNOWN)


def _row(one: Standing, context: CommandContext) -> Row:
    fired = (
        None
        if one.last_fired is None
        else show_time(moment(one.last_fired), now=context.now(), zone=context.zone)
    )
    closest = one.closest
    near = f"{closest.label}: {show_value(one.rule.condition, closest)}" if closest else None
    cells = (one.name, fired, near, closest.nearness if closest else None)
    return Row(cells=cells, tone=_tone(one))


def _data(one: Standing, named: NamedRule) -> dict[str, object]:
    return {
        "name": one.name,
        "rule": str(one.rule),
        "source": named.source,
        "state": one.state,
        "why": one.why,
        "last_fired": None if one.last_fired is None else moment(one.last_fired).isoformat(),
        "fired_for": one.fired.label if one.fired else None,
        "fired_value": one.fired.note if one.fired else None,
        "present": one.present or None,
        "closest": one.closest.label if one.closest else None,
        "value": one.closest.value if one.closest else None,
        "count": one.closest.count if one.closest else None,
        "sends": one.closest.sends if one.closest else None,
        "limit": one.closest.limit if one.closest else None,
        "nearness": one.closest.nearness if one.closest else None,
    }


async def _rules(context: CommandContext) -> dict[str, NamedRule]:
    workspace = context.workspace.name
    configured: Mapping[str, str] = context.settings.guardrails(workspace) if context.settings else {}
    return catalog(configured, await context.need_records().guardrails.rules(workspace))


async def _add(arguments: Guard, context: CommandContext) -> Result | Question:
    rule, known = parse(arguments.rule), await _rules(context)
    name = arguments.name or free_name(rule, known)
    if (taken := known.get(name)) and taken.source != "shipped":
        where = "outreach.toml" if taken.source == "settings" else "this workspace"
        return refused(
            f"There is already a rule named {name} in {where}",
            f"It says: {taken.rule}",
            "Choose another name: guardrails add RULE as NAME",
            why="the name is taken",
            argument="name",
        )
    if rule.action is not Action.TELL and not context.allows(COMMANDS["pause"]):
        return refused(
            "You don't have permission to pause sequences here",
            "A rule that pauses or suggests pausing needs the same permission.",
            why="role",
        )
    act = AddRule(name=name, sentence=str(rule))
    return await _question(act, rule, context) if rule.action is Action.ACT else await act.carry_out(context)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddRule(Act):
    """Adds a rule to a workspace."""

    name: str
    sentence: str

    @property
    def verb(self) -> str:
        return "guardrails"

    async def carry_out(self, context: CommandContext) -> Result:
        return await _added(self.name, parse(self.sentence), context)


async def _added(name: str, rule: Rule, context: CommandContext) -> Result:
    stored = StoredRule(
        name=name, sentence=str(rule), added_by=context.actor.id, added_name=context.actor.name
    )
    if not await context.need_records().guardrails.add_rule(context.workspace.name, stored):
        return refused(f"There is already a rule named {name}", why="the name is taken", argument="name")
    card = Card(
        title=f"Guardrail {name} is on",
        tone=Tone.GOOD,
        text=(f"Rule: {rule}.", DOES[rule.action], *await missing_sequence(rule, context)),
        buttons=(
            Button(label="Test it", action=Guard(act="test", name=name)),
            Button(label="Remove", action=Guard(act="remove", name=name)),
        ),
    )
    return Result(card=card, audit=f"guardrail {name}: {rule}")


async def _question(act: AddRule, rule: Rule, context: CommandContext) -> Question:
    """The backtest of a rule that acts, before it is turned on."""
    tested = await backtest_rule(act.name, rule, context)
    title = f"Let {act.name} pause without asking?"
    card = replace(tested.card, title=title, tone=Tone.WARN, buttons=())
    return Question(card=card, choices=(Choice(label="Turn on", act=act),))


async def _test(arguments: Guard, context: CommandContext) -> Result:
    name = arguments.name
    if not name:
        rule = parse(arguments.rule)
        return await backtest_rule(free_name(rule, {}), rule, context, is_new=True)
    known = await _rules(context)
    if name not in known:
        return _unknown(name, known)
    return await backtest_rule(name, known[name].rule, context)


def _unknown(name: str, known: Mapping[str, NamedRule]) -> Result:
    return refused(
        f"No rule is named {name}",
        f"Rules: {', '.join(sorted(known)) or 'none'}.",
        why="no such rule",
        argument="name",
    )


async def _remove(arguments: Guard, context: CommandContext) -> Result:
    name = arguments.name
    known = await _rules(context)
    if name not in known:
        return _unknown(name, known)
    if known[name].source != "added":
        where = (
            "It is in outreach.toml. Remove it there, or"
            if known[name].source == "settings"
            else "It is built in. To"
        )
        return refused(
            f"{name} was not removed",
            f"{where} turn it off: `guardrails off {name}`.",
            why="not added",
            argument="name",
        )
    await context.need_records().guardrails.remove_rule(context.workspace.name, name)
    again = Button(label="Add it again", action=Guard(act="add", rule=str(known[name].rule), name=name))
    card = Card(title=f"Guardrail {name} was removed", tone=Tone.GOOD, buttons=(again,))
    return Result(card=card, audit=f"guardrail {name} removed")


async def _snooze(arguments: Guard, context: CommandContext) -> Result:
    name = arguments.name
    if name not in (known := await _rules(context)):
        return _unknown(name, known)
    records, workspace = context.need_records().guardrails, context.workspace.name
    on = Button(label="Turn on", action=Guard(act="on", name=name), tone=Tone.GOOD)
    # What a person turned off stays off: a snooze would turn it on again at its end.
    if any(one.rule == name and one.until is None for one in await records.switches(workspace)):
        return Result(
            card=Card(title=f"Guardrail {name} is off", text=("Nothing was changed.",), buttons=(on,))
        )
    end = context.now() + (arguments.duration or SNOOZED)
    at = context.now().timestamp()
    await records.switch_off(
        workspace, Switch(rule=name, by=context.actor.name, at=at, until=end.timestamp())
    )
    until = show_time(end, now=context.now(), zone=context.zone)
    card = Card(
        title=f"Guardrail {name} is snoozed until {until}",
        tone=Tone.GOOD,
        text=("Then it works again. Sequences that are paused stay paused.",),
        buttons=(replace(on, label="Turn on now"),),
    )
    return Result(card=card, audit=f"guardrail {name} snoozed until {until}")


async def _off(arguments: Guard, context: CommandContext) -> Result | Question:
    name = arguments.name
    if name and name not in (known := await _rules(context)):
        return _unknown(name, known)
    return await _switch_off(name, context) if name else await _ask_all_off(context)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllOff(Act):
    """Turns all rules of all workspaces off."""

    @property
    def verb(self) -> str:
        return "guardrails"

    async def carry_out(self, context: CommandContext) -> Result:
        return await _switch_off("", context)


async def _switch_off(name: str, context: CommandContext) -> Result:
    switch = Switch(rule=name, by=context.actor.name, at=context.now().timestamp())
    await context.need_records().guardrails.switch_off(context.workspace.name, switch)
    what = f"Guardrail {name} is" if name else "All guardrails of all outreach workspaces are"
    text = (
        "It does nothing until someone turns it on."
        if name
        else "No rule posts, suggests or pauses anything until someone turns them on."
    )
    on = Button(label="Turn on", action=Guard(act="on", name=name), tone=Tone.GOOD)
    card = Card(
        title=f"{what} off",
        tone=Tone.WARN,
        text=(text, "Sequences that are paused stay paused."),
        buttons=(on,),
    )
    return Result(card=card, audit=f"{what} off".lower())


async def _ask_all_off(context: CommandContext) -> Question:
    """The question before all rules of all workspaces are turned off."""
    count = show_number(len(await _rules(context)), "guardrail")
    where = "of all outreach workspaces"
    if context.settings is None or len(context.settings.workspaces) < 2:
        where = "of this outreach workspace"
    card = Card(
        title=f"Turn off all guardrails {where}?",
        tone=Tone.WARN,
        text=(
            f"{count} here. No rule posts, suggests or pauses anything until someone turns them on.",
            "Sequences that are paused stay paused.",
        ),
    )
    return Question(card=card, choices=(Choice(label="Turn all off", act=AllOff()),))


async def _on(arguments: Guard, context: CommandContext) -> Result:
    name = arguments.name
    records = context.need_records().guardrails
    if name and name not in (known := await _rules(context)):
        return _unknown(name, known)
    changed = await records.switch_on(context.workspace.name, name)
    what = f"Guardrail {name} is" if name else "All guardrails are"
    left = [one for one in await records.switches(context.workspace.name) if one.rule == ALL]
    text = (_off_text(left[0], context),) if name and left else ()
    title = f"{what} on" if changed else f"{what} already on"
    return Result(card=Card(title=title, tone=Tone.GOOD, text=text), audit=title.lower() if changed else "")


def _off_text(switch: Switch, context: CommandContext) -> str:
    return f"@{switch.by} turned all guardrails off at {show_time(moment(switch.at), now=context.now(), zone=context.zone)}."
