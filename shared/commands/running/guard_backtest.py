"""The card of a backtest: when a rule would have fired in the stored history, and what it would have prevented."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import timedelta

from shared.api.errors import OutreachError
from shared.commands.base import Result
from shared.commands.guardrails import Guard
from shared.commands.run import CommandContext
from shared.domain.card import Button, Card, Column, Fact, Row, Table, Tone, columns
from shared.domain.wall_clock import DAY, moment
from shared.guardrails.activity import HORIZON, Activity, days, portions
from shared.guardrails.backtest import Backtest, backtest
from shared.guardrails.rule import EVENT_OF, Action, Metric, Rule, Scope, subject_key
from shared.records.records import Records
from shared.text.formats import show_count, show_exact_span, show_number, show_time

LOOK_BACK = timedelta(days=30)
SHOWN = 8
ENOUGH = 7 * DAY
"""Seconds from which a time without a firing says something about a rule."""


async def load_activity(
    records: Records, context: CommandContext, spans: Iterable[float] | None = None
) -> Activity:
    """What is stored of the workspace and matters to windows that begin so many seconds ago; None: to all windows.

    It is read in portions: of a large account it is millions of rows.
    """
    name, now, guard = context.workspace.name, context.now().timestamp(), records.guardrails
    heard, broken = await asyncio.gather(guard.heard_since(name), records.domains.broken(name))
    changed = await records.domains.broken_since(name, moment(now - HORIZON))
    activity = Activity()
    activity.heard_since = float("inf") if heard is None else heard
    for at, domains in (*changed, (now, broken)):
        activity.saw_broken(at, domains)
    for start, end in days(now):
        happenings = await guard.happenings(name, start, end)
        await asyncio.to_thread(activity.add, happenings)
    times = (
        portions(now, (HORIZON,), serves=HORIZON)
        if spans is None
        else portions(now, spans, begins=(activity.heard_since,))
    )
    for start, end, is_edge in times:
        samples = await guard.samples(name, start, end, last_only=not is_edge)
        await asyncio.to_thread(activity.add, (), samples)
    return activity


async def backtest_rule(name: str, rule: Rule, context: CommandContext, *, is_new: bool = False) -> Result:
    """What a rule would have done in the last 30 days; a new one can be added from there."""
    activity = await load_activity(context.need_records(), context)
    end = context.now().timestamp()
    start = end - LOOK_BACK.total_seconds()
    result = await asyncio.to_thread(backtest, rule, activity, start=start, end=end)
    firings = result.firings
    times = f"{len(firings):,} times" if len(firings) != 1 else "once"
    fired = f"have fired {times}" if firings else "not have fired"
    title = f"{name} would {fired} in {_span(result, start=start)}"
    if result.start > end:
        title = f"{name} can't be tested yet"
    return Result(
        card=Card(
            title=title,
            text=(f"Rule: {rule}.", *await missing_sequence(rule, context), *_summary(rule, result)),
            facts=_facts(rule, result),
            table=_firings(rule, result, context) if firings else None,
            buttons=(Button(label="Add this rule", action=Guard(act="add", rule=str(rule))),)
            if is_new
            else (),
            footer=_reach(rule, result, start=start, context=context),
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
    if result.start > result.end:
        return (f"Nothing is known of {rule.condition.metric} yet: {_from_when(rule)}.",)
    if not result.firings and result.end - result.start < ENOUGH:
        return ("Its condition was never met, but that is too short a time to judge the rule by.",)
    if not result.firings:
        return ("Its condition was never met in this time.",)
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
        Fact(label="Sends", value=show_count(result.sends)),
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


def _span(result: Backtest, *, start: float) -> str:
    if result.start <= start or result.start > result.end:
        return f"the last {LOOK_BACK.days} days"
    return f"the {show_exact_span(timedelta(seconds=result.end - result.start))} that are known"


def _from_when(rule: Rule) -> str:
    if rule.condition.metric is Metric.DNS:
        return "it is known from the first change of a domain's DNS on"
    if rule.condition.metric in EVENT_OF:
        return "events are known from the first delivery on"
    return "it is known from the bot's first reading of the service on"


def _reach(rule: Rule, result: Backtest, *, start: float, context: CommandContext) -> str:
    """Since when the metric is known, where that is less than was asked."""
    if result.start > result.end:
        return ""
    if result.start > start:
        since = show_time(moment(result.start), now=context.now(), zone=context.zone)
        return f"{str(rule.condition.metric).capitalize()} before {since} are unknown: {_from_when(rule)}."
    return f"Checked hour by hour over the last {LOOK_BACK.days} days."
