"""The card of a backtest: when a rule would have fired in the stored history, and what it would have prevented."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from shared.api.errors import OutreachError
from shared.commands.guard_arguments import Guard
from shared.commands.result import Result
from shared.domain.card import Button, Card, Column, Fact, Row, Table, Tone, columns
from shared.domain.records import GuardRecords
from shared.domain.wall_clock import moment
from shared.guardrails.activity import HORIZON, Activity
from shared.guardrails.backtest import Backtest, backtest, charts
from shared.guardrails.rule import Action, Rule, Scope, subject_key
from shared.operations.context import CommandContext
from shared.operations.outcome import need_records
from shared.text.formats import show_number, show_time

LOOK_BACK = timedelta(days=30)
SHOWN = 8


async def load_activity(records: GuardRecords, context: CommandContext) -> Activity:
    """Everything that is stored of the workspace and that a rule can look at."""
    since = context.now().timestamp() - HORIZON
    happenings, samples = await asyncio.gather(
        records.happenings(context.workspace.name, since), records.samples(context.workspace.name, since)
    )
    activity = Activity()
    await asyncio.to_thread(activity.add, happenings, samples)
    return activity


async def backtest_rule(name: str, rule: Rule, context: CommandContext, *, is_new: bool = False) -> Result:
    """What a rule would have done in the last 30 days; a new one can be added from there."""
    activity = await load_activity(need_records(context).guardrails, context)
    end = context.now().timestamp()
    start = end - LOOK_BACK.total_seconds()
    result = await asyncio.to_thread(backtest, rule, activity, start=start, end=end)
    firings = result.firings
    times = f"{len(firings):,} times" if len(firings) != 1 else "once"
    have = f"have fired {times} in the last 30 days" if firings else "not have fired in the last 30 days"
    title = f"{name} would {have}"
    return Result(
        card=Card(
            title=title,
            text=(f"Understood: {rule}.", *await missing_sequence(rule, context), *_summary(rule, result)),
            facts=_facts(rule, result),
            table=_firings(rule, result, context) if firings else None,
            charts=await asyncio.to_thread(charts, rule, activity, result),
            buttons=(Button(label="Add this rule", action=Guard(act="add", rule=str(rule))),)
            if is_new
            else (),
            footer=_reach(activity, start=start, context=context),
        ),
        rows=tuple(
            {
                "at": moment(one.at).isoformat(),
                rule.scope.value: one.label,
                "measured": one.note,
                "held_back": one.held_back,
                "sends_after": one.sends,
                "bounces_after": one.bounces,
            }
            for one in firings
        ),
    )


async def missing_sequence(rule: Rule, context: CommandContext) -> tuple[str, ...]:
    """A warning where a rule names a sequence that doesn't exist."""
    if not rule.only or rule.scope is not Scope.SEQUENCE:
        return ()
    try:
        names = [subject_key(one.label) for one in await context.client.list_sequences()]
    except OutreachError:
        return ()
    if subject_key(rule.only) in names:
        return ()
    return (f"Warning: no sequence is named “{rule.only}”. The rule does nothing until there is one.",)


def _summary(rule: Rule, result: Backtest) -> tuple[str, ...]:
    if not result.firings:
        return ("Its condition was never met in the stored history.",)
    if rule.action is Action.TELL:
        return ()
    length = "" if rule.duration else " for 24 h"
    pausing = "Pausing each time" if rule.action is Action.ACT else "Following each suggestion"
    held = sum(one.held_back for one in result.firings)
    limit = (f"Its own limits would have blocked it {show_number(held, 'time')}.",) if held else ()
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
                show_time(moment(one.at), now=now, zone=context.zone),
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


def _reach(activity: Activity, *, start: float, context: CommandContext) -> str:
    """Since when something is known, where that is less than was asked."""
    first = activity.begins_at()
    if first is None:
        return "This workspace has no history yet."
    if first > start + 86_400:
        return f"The history starts at {show_time(moment(first), now=context.now(), zone=context.zone)}."
    return "Checked hour by hour over the last 30 days."
