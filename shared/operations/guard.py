"""`guard`: the rules, what they would have done, and their switches."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from shared.api.errors import OutreachError
from shared.commands import COMMANDS, CONFIRMED, Invocation, join
from shared.domain.card import Button, Card, Column, Fact, Row, Table, Tone, columns
from shared.domain.guard_records import ALL, GuardRecords, StoredRule, Switch
from shared.guardrails.backtest import Backtest, backtest, charts
from shared.guardrails.catalog import NamedRule, catalog, free_name
from shared.guardrails.evaluate import Standing, is_on, show_value, standing
from shared.guardrails.evidence import HORIZON, Evidence
from shared.guardrails.rule import Action, Rule, Scope
from shared.guardrails.sentence import parse
from shared.operations.context import CommandContext
from shared.operations.outcome import Outcome, need_records, refused
from shared.text.formats import UNKNOWN, show_number, show_time

LOOK_BACK = timedelta(days=30)
SHOWN = 8
DOES = {
    Action.TELL: "It posts a message.",
    Action.SUGGEST: "It posts a message with a button that pauses.",
    Action.ACT: "It pauses without asking.",
}
TONES = {"acts": Tone.GOOD, "suggests": Tone.INFO, "tells": Tone.INFO, "waits": Tone.WARN}
RULE_COLUMNS = (*columns("Name", "Last fired", "Closest"), Column(title="Near", bar=True))


async def guard(invocation: Invocation, context: CommandContext) -> Outcome:
    """`guard [list|add RULE [as NAME]|test RULE|NAME|remove NAME|off [NAME]|on [NAME]]`."""
    acts = {"add": _add, "test": _test, "remove": _remove, "off": _off, "on": _on}
    act = acts.get(invocation.values["act"])
    return Outcome(card=await list_rules(context)) if act is None else await act(invocation, context)


async def list_rules(context: CommandContext) -> Card:
    """Every rule with its state, its last firing and how near it is to fire again."""
    records, workspace = need_records(context).guardrails, context.workspace.name
    rules, evidence = await asyncio.gather(_rules(context), load_evidence(records, context))
    now = context.now().timestamp()
    incidents = await records.incidents(workspace, now - HORIZON)
    switches = await records.switches(workspace)
    stands = [
        standing(one.name, one.rule, evidence, incidents=incidents, switches=switches, now=now)
        for one in rules.values()
    ]
    all_off = next((one for one in switches if one.rule == ALL and is_on(one, now=now)), None)
    text = (_off_text(all_off, context),) if all_off else ()
    toggle = Button(label="Turn all on", command="guard on") if all_off else Button(
        label="Turn all off", command="guard off", tone=Tone.BAD
    )  # fmt: skip
    return Card(
        title=show_number(len(stands), "guardrail"),
        tone=Tone.WARN if all_off else Tone.INFO,
        text=text,
        facts=tuple(_rule_fact(one) for one in stands),
        table=Table(columns=RULE_COLUMNS, rows=tuple(_row(one, context) for one in stands)),
        buttons=(toggle,) if _sees_all(context) else (),
        footer="guard test NAME shows what a rule would have done in the last 30 days.",
        data=tuple(_data(one, rules[one.name]) for one in stands),
    )


def _rule_fact(one: Standing) -> Fact:
    """The whole sentence, which a table's cell would cut."""
    state = f"{one.state}: {one.why}" if one.why else one.state
    return Fact(label=one.name, value=f"{one.rule} ({state})", tone=_tone(one))


def _tone(one: Standing) -> Tone:
    return Tone.BAD if one.closest and one.closest.holds else TONES.get(one.state, Tone.UNKNOWN)


def _row(one: Standing, context: CommandContext) -> Row:
    fired = (
        UNKNOWN
        if one.last_fired is None
        else show_time(_moment(one.last_fired), now=context.now(), zone=context.zone)
    )
    closest = one.closest
    near = f"{closest.label}: {show_value(one.rule.condition, closest)}" if closest else UNKNOWN
    cells = (one.name, fired, near, closest.nearness if closest else None)
    return Row(cells=cells, tone=_tone(one))


def _data(one: Standing, named: NamedRule) -> dict[str, object]:
    return {
        "name": one.name,
        "rule": str(one.rule),
        "source": named.source,
        "state": one.state,
        "why": one.why,
        "last_fired": None if one.last_fired is None else _moment(one.last_fired).isoformat(),
        "closest": one.closest.label if one.closest else None,
        "value": one.closest.value if one.closest else None,
        "limit": one.closest.limit if one.closest else None,
        "nearness": one.closest.nearness if one.closest else None,
    }


async def _rules(context: CommandContext) -> dict[str, NamedRule]:
    workspace = context.workspace.name
    configured: Mapping[str, str] = context.settings.guardrails(workspace) if context.settings else {}
    return catalog(configured, await need_records(context).guardrails.rules(workspace))


async def load_evidence(records: GuardRecords, context: CommandContext) -> Evidence:
    """Everything that is stored of the workspace and that a rule can look at."""
    since = context.now().timestamp() - HORIZON
    happenings, samples = await asyncio.gather(
        records.happenings(context.workspace.name, since), records.samples(context.workspace.name, since)
    )
    evidence = Evidence()
    await asyncio.to_thread(evidence.add, happenings, samples)
    return evidence


async def _add(invocation: Invocation, context: CommandContext) -> Outcome:
    rule, known = parse(invocation.values["rule"]), await _rules(context)
    name = invocation.values["name"] or free_name(rule, known)
    if (taken := known.get(name)) and taken.source != "shipped":
        where = "outreach.toml" if taken.source == "settings" else "this workspace"
        return refused(
            f"There is already a rule named {name} in {where}",
            f"It says: {taken.rule}",
            "Choose another name: guard add RULE as NAME",
            why="the name is taken",
        )
    if rule.action is not Action.TELL and not context.allows(COMMANDS["pause"]):
        return refused(
            "You don't have permission to pause sequences here",
            "A rule that pauses or suggests pausing needs the same permission.",
            why="role",
        )
    if rule.action is Action.ACT and not (context.confirmed or invocation.confirmed):
        return Outcome(card=await _question(name, rule, context))
    stored = StoredRule(
        name=name, sentence=str(rule), added_by=context.actor.id, added_name=context.actor.name
    )
    if not await need_records(context).guardrails.add_rule(context.workspace.name, stored):
        return refused(f"There is already a rule named {name}", why="the name is taken")
    card = Card(
        title=f"Guardrail {name} is on",
        tone=Tone.GOOD,
        text=(f"Understood: {rule}.", DOES[rule.action], *await _missing(rule, context)),
        buttons=(
            Button(label="Test it", command=join("guard", "test", name)),
            Button(label="Remove", command=join("guard", "remove", name)),
        ),
    )
    return Outcome(card=card, result=f"guardrail {name}: {rule}")


async def _question(name: str, rule: Rule, context: CommandContext) -> Card:
    """The backtest of a rule that acts, and the button that turns it on."""
    tested = await _tested(name, rule, context)
    line = f"{join('guard', 'add', str(rule), 'as', name)} {CONFIRMED}"
    return replace(
        tested,
        title=f"Let {name} pause without asking?",
        tone=Tone.WARN,
        buttons=(Button(label="Turn on", command=line, tone=Tone.BAD),),
    )


async def _test(invocation: Invocation, context: CommandContext) -> Outcome:
    name: str = invocation.values["name"]
    if not name:
        rule = parse(invocation.values["rule"])
        return Outcome(card=await _tested(free_name(rule, {}), rule, context, is_new=True))
    known = await _rules(context)
    if name not in known:
        return _unknown(name, known)
    return Outcome(card=await _tested(name, known[name].rule, context))


def _unknown(name: str, known: Mapping[str, NamedRule]) -> Outcome:
    return refused(
        f"There is no rule named {name}",
        f"There are: {', '.join(sorted(known)) or 'none'}.",
        why="no such rule",
    )


async def _tested(name: str, rule: Rule, context: CommandContext, *, is_new: bool = False) -> Card:
    evidence = await load_evidence(need_records(context).guardrails, context)
    end = context.now().timestamp()
    start = end - LOOK_BACK.total_seconds()
    result = await asyncio.to_thread(backtest, rule, evidence, start=start, end=end)
    firings = result.firings
    times = f"{len(firings):,} times" if len(firings) != 1 else "once"
    have = f"have fired {times} in the last 30 days" if firings else "not have fired in the last 30 days"
    title = f"{name} would {have}"
    on = f"{join('guard', 'add', str(rule))}"
    return Card(
        title=title,
        text=(f"Understood: {rule}.", *await _missing(rule, context), *_summary(rule, result)),
        facts=_facts(rule, result),
        table=_firings(rule, result, context) if firings else None,
        charts=await asyncio.to_thread(charts, rule, evidence, result),
        buttons=(Button(label="Add this rule", command=on),) if is_new else (),
        footer=_reach(evidence, start=start, context=context),
        data=tuple(
            {
                "at": _moment(one.at).isoformat(),
                rule.scope.value: one.label,
                "measured": one.note,
                "held_back": one.held_back,
                "sends_after": one.sends,
                "bounces_after": one.bounces,
            }
            for one in firings
        ),
    )


async def _missing(rule: Rule, context: CommandContext) -> tuple[str, ...]:
    """A warning where a rule names a sequence that doesn't exist."""
    if not rule.only or rule.scope is not Scope.SEQUENCE:
        return ()
    try:
        names = [one.label.casefold() for one in await context.client.list_sequences()]
    except OutreachError:
        return ()
    if rule.only.casefold() in names:
        return ()
    return (f"Warning: no sequence is named “{rule.only}”. The rule does nothing until there is one.",)


def _summary(rule: Rule, result: Backtest) -> tuple[str, ...]:
    if not result.firings:
        return ("Nothing in the stored history meets its condition.",)
    if rule.action is Action.TELL:
        return ()
    length = "" if rule.duration else " for 24 h"
    pausing = "Pausing each time" if rule.action is Action.ACT else "Following each suggestion"
    held = sum(one.held_back for one in result.firings)
    limit = (f"Its own limits would have stopped it {show_number(held, 'time')}.",) if held else ()
    return (*limit, f"{pausing}{length} would have prevented:")


def _facts(rule: Rule, result: Backtest) -> tuple[Fact, ...]:
    if not result.firings or rule.action is Action.TELL:
        return ()
    return (
        Fact(label="Sends", value=f"{result.sends:,}"),
        Fact(label="Bounces", value=f"{result.bounces:,}"),
    )


def _firings(rule: Rule, result: Backtest, context: CommandContext) -> Table:
    now = context.now()
    rows = tuple(
        Row(
            cells=(
                show_time(_moment(one.at), now=now, zone=context.zone),
                one.label,
                one.note + (" (limit reached)" if one.held_back else ""),
                one.sends if rule.action is not Action.TELL else None,
                one.bounces if rule.action is not Action.TELL else None,
            ),
            tone=Tone.WARN,
        )
        for one in result.firings[-SHOWN:][::-1]
    )
    titles = (
        *columns("When", rule.scope.capitalize(), "Measured"),
        Column(title="Sends prevented", numeric=True),
        Column(title="Bounces prevented", numeric=True),
    )
    return Table(columns=titles, rows=rows, total=len(result.firings))


def _reach(evidence: Evidence, *, start: float, context: CommandContext) -> str:
    """Since when something is known, where that is less than was asked."""
    first = evidence.begins_at()
    if first is None:
        return "There is no history of this workspace yet."
    if first > start + 86_400:
        return f"The history starts at {show_time(_moment(first), now=context.now(), zone=context.zone)}."
    return "Checked hour by hour over the last 30 days."


async def _remove(invocation: Invocation, context: CommandContext) -> Outcome:
    name, known = invocation.values["name"], await _rules(context)
    if name not in known:
        return _unknown(name, known)
    if known[name].source != "added":
        where = (
            "It is in outreach.toml: remove it there, or"
            if known[name].source == "settings"
            else "It is built in:"
        )
        return refused(
            f"{name} was not removed", f"{where} turn it off with guard off {name}.", why="not added"
        )
    await need_records(context).guardrails.remove_rule(context.workspace.name, name)
    again = Button(label="Add it again", command=join("guard", "add", str(known[name].rule), "as", name))
    card = Card(title=f"Guardrail {name} is removed", tone=Tone.GOOD, buttons=(again,))
    return Outcome(card=card, result=f"guardrail {name} removed")


async def _off(invocation: Invocation, context: CommandContext) -> Outcome:
    name = invocation.values["name"]
    if name and name not in (known := await _rules(context)):
        return _unknown(name, known)
    if not (name or _sees_all(context)):
        return _not_for_all()
    switch = Switch(rule=name, by=context.actor.name, at=context.now().timestamp())
    await need_records(context).guardrails.switch_off(context.workspace.name, switch)
    what = f"Guardrail {name} is" if name else "All guardrails of all workspaces are"
    text = (
        "It does nothing until someone turns it on."
        if name
        else "No rule posts, suggests or pauses anything until someone turns them on."
    )
    on = Button(label="Turn on", command=join("guard", "on", *filter(None, [name])), tone=Tone.GOOD)
    card = Card(
        title=f"{what} off",
        tone=Tone.WARN,
        text=(text, "Sequences that are paused stay paused."),
        buttons=(on,),
    )
    return Outcome(card=card, result=f"{what} off".lower())


async def _on(invocation: Invocation, context: CommandContext) -> Outcome:
    name, records = invocation.values["name"], need_records(context).guardrails
    if name and name not in (known := await _rules(context)):
        return _unknown(name, known)
    if not (name or _sees_all(context)):
        return _not_for_all()
    changed = await records.switch_on(context.workspace.name, name)
    what = f"Guardrail {name} is" if name else "All guardrails are"
    left = [one for one in await records.switches(context.workspace.name) if one.rule == ALL]
    text = (_off_text(left[0], context),) if name and left else ()
    title = f"{what} on" if changed else f"{what} on already"
    return Outcome(card=Card(title=title, tone=Tone.GOOD, text=text), result=title.lower() if changed else "")


def _sees_all(context: CommandContext) -> bool:
    """Whether every workspace may be seen here; a Slack workspace that installed the bot may see only some."""
    settings = context.settings
    return settings is None or settings.declared_workspaces == frozenset(settings.workspaces)


def _not_for_all() -> Outcome:
    return refused(
        "You can't switch the guardrails of all workspaces here",
        "This Slack workspace doesn't have access to all of them.",
        "guard off NAME turns off one rule of this workspace.",
        why="not all workspaces",
    )


def _off_text(switch: Switch, context: CommandContext) -> str:
    return f"All guardrails are off since {show_time(_moment(switch.at), now=context.now(), zone=context.zone)}, by @{switch.by}."


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
