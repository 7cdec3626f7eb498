"""Carries out `guardrails`: lists, adds, tests, removes and switches rules. Imported with the first one: it takes a while."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from shared.commands.base import Act, Choice, CommandContext, Done, Question, Result, ask, refused
from shared.commands.guardrails import Guard
from shared.domain.card import Button, Card, Fact, Row, Table, Tone, columns
from shared.domain.wall_clock import moment
from shared.guardrails.activity import HORIZON, Activity
from shared.guardrails.evaluate import Firing, backtest, doubt, evaluate, is_on, spans_of
from shared.guardrails.rule import Action, NamedRule, Rule, catalog, free_name, parse
from shared.records import ALL, ALL_RULES, StoredRule, Switch
from shared.store import Store
from shared.text.formats import show_count, show_number, show_span

LOOK_BACK = timedelta(days=30)
FIRINGS_SHOWN = 8
STATES = {Action.TELL: "notifies", Action.SUGGEST: "suggests", Action.ACT: "acts"}
TONES = {"acts": Tone.GOOD, "suggests": Tone.INFO, "notifies": Tone.INFO, "waits": Tone.WARN}
STAY = "Sequences that are paused stay paused."
ALL_SILENT = "No rule posts, suggests or pauses anything until someone turns them on."


async def run(arguments: Guard, context: CommandContext) -> Done:  # noqa: PLR0911 # an act each
    """Do what was asked, or ask first."""
    workspace, name, act = context.workspace.name, arguments.name, arguments.act
    rules = catalog(context.settings.guardrails(workspace), await context.records.guardrails.rules(workspace))
    if act == "add":
        return await _add(name, parse(arguments.rule), rules, context)
    # Before anything else: a misspelled name must switch nothing.
    if name and name not in rules:
        text = f"Rules: {', '.join(sorted(rules)) or 'none'}."
        return refused(f"No rule is named {name}", text, why="no such rule")
    if act == "off" and not name:
        text = f"{show_number(len(rules), 'guardrail')} here. {ALL_SILENT}"
        title = "Turn off all guardrails of all outreach workspaces?"
        return ask(title, text, STAY, label="Turn all off", act=TurnOff())
    if act == "off":
        until = context.now() + arguments.duration if arguments.duration else None
        return TurnOff(name=name, until=until)
    if act == "on":
        return await _turn_on(name, context)
    if act == "remove":
        return await _remove(rules[name], context)
    if act == "test":
        return await _test(name, rules[name].rule if name else parse(arguments.rule), context)
    return await _list(rules, context)


# -- the list


async def _list(rules: Mapping[str, NamedRule], context: CommandContext) -> Result:
    """A line a rule: its state, the sentence, and when it fired last."""
    records, workspace, now = context.records.guardrails, context.workspace.name, context.now().timestamp()
    spans = spans_of(rule.rule for rule in rules.values())
    activity = await load_activity(context.records, workspace, now, spans)
    incidents = await records.incidents(workspace, now - HORIZON)
    switches = {one.rule: one for one in await records.switches(workspace) if is_on(one, now=now)}
    facts, rows = [], []
    for name, named in rules.items():
        fired = next((one for one in incidents if one.rule == name), None)
        state, why = _state(named, activity, switches, context)
        # Without the usual limits, which say little.
        sentence = str(replace(named.rule, per_day=0, at_once=0))
        told = f"fired {context.show(moment(fired.began_at))}" if fired else ""
        parts = (f"{state}: {why}" if why else state, sentence, told)
        holds = evaluate(named.rule, activity, now=now)
        tone = Tone.BAD if holds else TONES.get(state, Tone.UNKNOWN)
        facts.append(Fact(name, " · ".join(filter(None, parts)), tone=tone))
        rows.append(
            {"name": name, "rule": str(named.rule), "source": named.source, "state": state, "why": why}
        )
    all_off = switches.get(ALL)
    off, on = Button("Turn all off", Guard(act="off"), tone=Tone.BAD), Button("Turn all on", Guard(act="on"))
    card = Card(
        show_number(len(facts), "guardrail"),
        tone=Tone.WARN if all_off else Tone.INFO,
        text=(_off_text(all_off, context),) if all_off else (),
        facts=facts,
        buttons=(on if all_off else off,),
        footer="guardrails test NAME shows what a rule would have done in the last 30 days.",
    )
    return Result(card, rows=rows)


def _state(
    named: NamedRule, activity: Activity, switches: Mapping[str, Switch], context: CommandContext
) -> tuple[str, str]:
    """acts, suggests, notifies, waits, off or snoozed; and why it is off or waits."""
    if switch := switches.get(ALL) or switches.get(named.name):
        who = f"by @{switch.by}" if switch.by else ""
        if switch.until is None:
            return "off", who
        return "snoozed", f"until {context.show(moment(switch.until))} {who}".strip()
    now, action = context.now().timestamp(), named.rule.action
    # A notice may be wrong; a pause must not be.
    if action is Action.ACT:
        why = doubt(named.rule, activity, now=now, show=lambda at: context.show(moment(at)))
        if why:
            return "waits", why
    return STATES[action], ""


def _off_text(switch: Switch, context: CommandContext) -> str:
    return f"@{switch.by} turned all guardrails off at {context.show(moment(switch.at))}."


# -- changes


async def _add(name: str, rule: Rule, rules: Mapping[str, NamedRule], context: CommandContext) -> Done:
    """A rule that pauses without asking is asked about first, with its backtest."""
    name = name or free_name(rule, rules)
    if (taken := rules.get(name)) and taken.source != "shipped":
        return _is_taken(name, f"It says: {taken.rule}")
    # A rule acts in the name of who added it, and so can do no more than that person.
    if rule.action is not Action.TELL and not context.allows("pause"):
        text = "A rule that pauses or suggests pausing needs the same permission."
        return refused("You don't have permission to pause sequences here", text, why="role")
    act = AddRule(name=name, sentence=str(rule))
    if rule.action is not Action.ACT:
        return act
    tested = await _test(name, rule, context)
    card = replace(tested.card, title=f"Let {name} pause without asking?", tone=Tone.WARN, buttons=())
    return Question(card=card, choices=(Choice("Turn on", act),))


def _is_taken(name: str, *text: str) -> Result:
    title, hint = f"There is already a rule named {name}", "Choose another name: guardrails add RULE as NAME"
    return refused(title, *text, hint, why="the name is taken")


class AddRule(Act):
    """Adds a rule to a workspace."""

    verb = "guardrails"
    name: str
    sentence: str

    async def run(self, context: CommandContext) -> Result:
        name, rule, who = self.name, parse(self.sentence), context.actor
        stored = StoredRule(name=name, sentence=self.sentence, added_by=who.id, added_name=who.name)
        # The name was free when it was asked about; someone may have taken it since.
        if not await context.records.guardrails.add_rule(context.workspace.name, stored):
            return _is_taken(name)
        does = {
            Action.TELL: "It posts a message.",
            Action.SUGGEST: "It posts a message with a button that pauses.",
            Action.ACT: "It pauses without asking.",
        }[rule.action]
        card = Card(
            f"Guardrail {name} is on",
            tone=Tone.GOOD,
            text=(f"Rule: {rule}.", does),
            buttons=(
                Button("Test it", Guard(act="test", name=name)),
                Button("Remove", Guard(act="remove", name=name)),
            ),
        )
        return Result(card, audit=f"guardrail {name}: {rule}", setting=_setting(name))


async def _remove(rule: NamedRule, context: CommandContext) -> Result:
    name = rule.name
    if rule.source != "added":
        where = "in outreach.toml" if rule.source == "settings" else "built in"
        text = f"It is {where}. To turn it off: `guardrails off {name}`."
        return refused(f"{name} was not removed", text, why="not added")
    await context.records.guardrails.remove_rule(context.workspace.name, name)
    again = Button("Add it again", Guard(act="add", rule=str(rule.rule), name=name))
    card = Card(f"Guardrail {name} was removed", tone=Tone.GOOD, buttons=(again,))
    return Result(card, audit=f"guardrail {name} removed", setting=_setting(name))


class TurnOff(Act):
    """Turns a rule off, until a moment where one is given; without a name, all rules of all workspaces."""

    verb = "guardrails"
    name: str = ""
    until: datetime | None = None

    async def run(self, context: CommandContext) -> Result:
        name, until, workspace = self.name, self.until, context.workspace.name
        at, end = context.now().timestamp(), until.timestamp() if until else None
        off = Switch(rule=name, by=context.actor.name, at=at, until=end)
        await context.records.guardrails.switch_off(workspace, off)
        state, does = "off", "It does nothing until someone turns it on." if name else ALL_SILENT
        if until:
            state, does = f"snoozed until {context.show(until)}", "Then it works again."
        what, tone = _named(name), Tone.GOOD if until else Tone.WARN
        buttons = (Button("Turn on", Guard(act="on", name=name), tone=Tone.GOOD),)
        card = Card(f"{what} {state}", tone=tone, text=(does, STAY), buttons=buttons)
        return Result(card, audit=f"{what[:1].lower()}{what[1:]} {state}", setting=_setting(name))


async def _turn_on(name: str, context: CommandContext) -> Result:
    records, workspace = context.records.guardrails, context.workspace.name
    changed = await records.switch_on(workspace, name)
    left = [one for one in await records.switches(workspace) if name and one.rule == ALL]
    title = f"{_named(name)} {'on' if changed else 'already on'}"
    card = Card(title, tone=Tone.GOOD, text=[_off_text(one, context) for one in left[:1]])
    return Result(card, audit=title.lower() if changed else "", setting=_setting(name))


def _named(name: str) -> str:
    return f"Guardrail {name} is" if name else "All guardrails of all outreach workspaces are"


def _setting(name: str) -> str:
    return f"guardrail {name}" if name else ALL_RULES


# -- the backtest: when a rule would have fired in the stored history, and what it would have prevented


async def load_activity(
    records: Store, workspace: str, now: float, spans: Iterable[float] | None = None
) -> Activity:
    """The stored past, as far as it matters to windows that are so many seconds long; None: to all windows."""
    heard = await records.guardrails.heard_since(workspace)
    activity = Activity(heard_since=float("inf") if heard is None else heard)
    for at, broken in await records.domains.broken_since(workspace, moment(now - HORIZON)):
        activity.saw_broken(at, broken)
    activity.saw_broken(now, await records.domains.broken(workspace))
    async for happenings, samples in records.guardrails.past(workspace, now, spans):
        # In a thread: it takes a while for a large account.
        await asyncio.to_thread(activity.add, happenings, samples)
    return activity


async def _test(name: str, rule: Rule, context: CommandContext) -> Result:
    """Replay a rule over the last 30 days; one without a name is new, and can be added from there."""
    end = context.now().timestamp()
    activity = await load_activity(context.records, context.workspace.name, end)
    metric, start = rule.condition.metric, end - LOOK_BACK.total_seconds()
    known = max(start, activity.known_since(metric))
    # In a thread: thirty days of a large account take seconds. Where nothing is known, nothing is replayed.
    firings = await asyncio.to_thread(backtest, rule, activity, start=known, end=end)
    shown, text, footer, span = name or free_name(rule, {}), "", "", f"the last {LOOK_BACK.days} days"
    if start < known <= end:
        span = f"the {show_span(timedelta(seconds=end - known))} that are known"
        footer = f"Nothing is known of {metric} before {context.show(moment(known))}."
    times = "once" if len(firings) == 1 else f"{len(firings):,} times"
    title = f"{shown} would {f'have fired {times}' if firings else 'not have fired'} in {span}"
    if known > end:
        title, text = f"{shown} can't be tested yet", f"Nothing is known of {metric} yet."
    elif firings and rule.action is not Action.TELL:
        text = _prevented(rule, firings)
    rows = [
        {
            "at": moment(firing.at).isoformat(),
            rule.scope.value: firing.label,
            "measured": firing.note,
            "sends_after": firing.sends,
            "bounces_after": firing.bounces,
        }
        for firing in firings
    ]
    lines = [
        Row((context.show(moment(firing.at)), firing.label, firing.note), tone=Tone.WARN)
        for firing in firings[-FIRINGS_SHOWN:][::-1]
    ]
    card = Card(
        title,
        text=(f"Rule: {rule}.", text),
        table=Table(columns("When", rule.scope.capitalize(), "Measured"), lines, total=len(firings)),
        buttons=() if name else (Button("Add this rule", Guard(act="add", rule=str(rule))),),
        footer=footer,
    )
    return Result(card, rows=rows)


def _prevented(rule: Rule, firings: Iterable[Firing]) -> str:
    sends = [firing.sends for firing in firings]
    known = [count for count in sends if count is not None]
    total = show_count(sum(known) if len(known) == len(sends) else None)
    bounces = show_number(sum(firing.bounces for firing in firings), "bounce")
    pausing = "Pausing each time" if rule.action is Action.ACT else "Following each suggestion"
    length = "" if rule.duration else " for 24 h"
    return f"{pausing}{length} would have prevented {total} sends with {bounces}."
