"""Time to claim by person: claims of interested replies, and replies marked done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from shared.commands.base import Result
from shared.commands.periods import Period
from shared.commands.replies import Replies
from shared.commands.run import CommandContext
from shared.commands.running.day_range import range_of
from shared.commands.running.reply_lists import LATE_SECONDS
from shared.commands.stats import Stats
from shared.domain.card import Button, Card, Chart, Fact, Row, Table, columns, number
from shared.domain.totals import rate
from shared.records.replies import Waits
from shared.text.formats import show_number, show_rate, show_span

COLUMNS = columns(
    "Person",
    number("Claims"),
    number("Median"),
    number("P90"),
    number(f"Within {LATE_SECONDS // 60} min"),
    number("Done"),
)
MOST_CHARTED = 10
ALL = "All"


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """One person's, or everybody's: from the reply to the claim."""

    waits: Waits
    done: int

    @property
    def name(self) -> str:
        return self.waits.name

    @property
    def claims(self) -> int:
        return self.waits.count

    @property
    def in_time(self) -> float | None:
        return rate(self.waits.in_time, self.claims)


@dataclass(frozen=True, slots=True, kw_only=True)
class Speeds:
    """How fast everyone is; nobody where nothing was claimed or done."""

    people: Sequence[Speed] = ()
    """Who claimed most first."""
    everybody: Speed = Speed(waits=Waits(name=ALL), done=0)


async def stats_by_person(period: Period, context: CommandContext) -> Result:
    """`stats by person [7d|last week|FROM..TO]`, by the days of the reader's zone."""
    asked = range_of(period, today=context.now().astimezone(context.zone).date())
    speeds = await read_speeds(context, *asked.moments(context.zone))
    known = bool(speeds.people)
    week = (Button(label="Last 7 days", action=Stats(by="person", period=Period(days=7))),)
    return Result(
        card=Card(
            title=f"Stats by person, {asked.name}",
            text=() if known else ("No interested replies were claimed or marked done in this period.",),
            facts=(summary(speeds),) if known else (),
            table=speed_table(speeds),
            charts=speed_charts(speeds),
            buttons=(
                *(() if asked.name == "last 7 days" else week),
                Button(label="By sequence", action=Stats()),
                Button(label="Show unclaimed", action=Replies()),
            ),
        ),
        rows=tuple(_data(one) for one in speeds.people),
    )


async def read_speeds(context: CommandContext, start: datetime, end: datetime) -> Speeds:
    """Everyone who claimed or marked done in the period; the most claims first."""
    records, workspace = context.need_records(), context.workspace.name
    claims = await records.claim_times(workspace, start, end, by="person", late=LATE_SECONDS)
    everybody = await records.claim_times(workspace, start, end, late=LATE_SECONDS)
    return speeds_of(claims, everybody, await records.done_counts(workspace, start, end))


def speeds_of(claims: Sequence[Waits], everybody: Sequence[Waits], done: Mapping[str, int]) -> Speeds:
    """By person, who claimed most first; `everybody` has one entry, or none where nobody claimed."""
    by_name = {name: Waits(name=name) for name in done} | {one.name: one for one in claims}
    people = [Speed(waits=waits, done=done.get(name, 0)) for name, waits in by_name.items()]
    whole = next(iter(everybody), Waits())
    return Speeds(
        people=sorted(people, key=lambda one: (-one.claims, -one.done, one.name)),
        everybody=Speed(waits=replace(whole, name=ALL), done=sum(done.values())),
    )


def summary(speeds: Speeds) -> Fact:
    """`12 claims, median 3 min, 80 % within 5 min`."""
    whole = speeds.everybody
    parts = (
        show_number(whole.claims, "claim"),
        f"median {_show(whole.waits.median)}",
        f"{show_rate(whole.in_time)} within {LATE_SECONDS // 60} min",
        f"{whole.done} done",
    )
    return Fact(label="Time to claim", value=", ".join(parts))


def speed_table(speeds: Speeds) -> Table | None:
    """A row for each person and, of several, one for all."""
    if not speeds.people:
        return None
    shown = (*speeds.people, speeds.everybody) if len(speeds.people) > 1 else speeds.people
    return Table(columns=COLUMNS, rows=tuple(Row(cells=_cells(one)) for one in shown))


def _cells(one: Speed) -> tuple[str | float | None, ...]:
    name = one.name if one.name == ALL else f"@{one.name}"
    return name, one.claims, _show(one.waits.median), _show(one.waits.p90), show_rate(one.in_time), one.done


def _show(seconds: float | None) -> str:
    return "–" if seconds is None else show_span(timedelta(seconds=seconds))


def speed_charts(speeds: Speeds) -> tuple[Chart, ...]:
    """The median and the slow end by person, in minutes."""
    shown = [one for one in speeds.people if one.claims][:MOST_CHARTED]
    if not shown:
        return ()
    series = (
        ("Median", tuple(_minutes(one.waits.median) for one in shown)),
        ("P90", tuple(_minutes(one.waits.p90) for one in shown)),
    )
    labels = tuple(one.name for one in shown)
    return (Chart(title="Minutes to claim, by person", labels=labels, series=series, bars=True),)


def _minutes(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds / 60, 1)


def _data(one: Speed) -> dict[str, object]:
    return {
        "person": one.name,
        "claims": one.claims,
        "median_seconds": one.waits.median,
        "p90_seconds": one.waits.p90,
        "within_5_minutes": one.in_time,
        "done": one.done,
    }
