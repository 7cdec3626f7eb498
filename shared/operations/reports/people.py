"""Speed to lead by person: claims of interested replies, time to claim, and replies marked done."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from shared.commands.arguments import Open
from shared.commands.periods import Period, Stats
from shared.commands.result import Result
from shared.domain.card import Button, Card, Chart, Fact, Row, Table, columns, number
from shared.domain.records import ClaimTime
from shared.domain.totals import rate
from shared.operations.context import CommandContext
from shared.operations.outcome import need_records
from shared.operations.replies import LATE_SECONDS
from shared.operations.reports.day_range import range_of
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
    """One person's, or everybody's."""

    name: str
    waited: Sequence[float]
    """Seconds from the reply to the claim, ascending."""
    done: int

    @property
    def claims(self) -> int:
        return len(self.waited)

    @property
    def median(self) -> float | None:
        return median(self.waited) if self.waited else None

    @property
    def p90(self) -> float | None:
        """By nearest rank."""
        return self.waited[-(-9 * len(self.waited) // 10) - 1] if self.waited else None

    @property
    def in_time(self) -> float | None:
        return rate(sum(seconds <= LATE_SECONDS for seconds in self.waited), self.claims)


async def stats_by_person(period: Period, context: CommandContext) -> Result:
    """`stats by person [7d|last week|FROM..TO]`, by the days of the reader's zone."""
    asked = range_of(period, today=context.now().astimezone(context.zone).date())
    speeds = await read_speeds(context, *asked.moments(context.zone))
    week = (Button(label="Last 7 days", action=Stats(by="person", period=Period(days=7))),)
    return Result(
        card=Card(
            title=f"Stats by person, {asked.name}",
            text=() if speeds else ("No interested replies were claimed or marked done in this period.",),
            facts=(summary(speeds),) if speeds else (),
            table=speed_table(speeds),
            charts=speed_charts(speeds),
            buttons=(
                *(() if asked.name == "last 7 days" else week),
                Button(label="By sequence", action=Stats()),
                Button(label="Show unclaimed", action=Open()),
            ),
        ),
        rows=tuple(_data(one) for one in speeds),
    )


async def read_speeds(context: CommandContext, start: datetime, end: datetime) -> tuple[Speed, ...]:
    """Everyone who claimed or marked done in the period; the most claims first."""
    records, workspace = need_records(context), context.workspace.name
    claims = await records.claim_times(workspace, start)
    done = await records.done_times(workspace, start)
    finished = Counter(name for name, at in done if start <= at < end)
    return speeds_of([one for one in claims if start <= one.at < end], finished)


def speeds_of(claims: Sequence[ClaimTime], done: Mapping[str, int]) -> tuple[Speed, ...]:
    """By person, who claimed most first."""
    waited: defaultdict[str, list[float]] = defaultdict(list)
    for one in claims:
        waited[one.name].append(one.waited.total_seconds())
    names = sorted({*waited, *done}, key=lambda name: (-len(waited[name]), -done.get(name, 0), name))
    return tuple(Speed(name=name, waited=sorted(waited[name]), done=done.get(name, 0)) for name in names)


def everybody(speeds: Sequence[Speed]) -> Speed:
    waited = sorted(seconds for one in speeds for seconds in one.waited)
    return Speed(name=ALL, waited=waited, done=sum(one.done for one in speeds))


def summary(speeds: Sequence[Speed]) -> Fact:
    """`12 claims, median 3 min, 80 % within 5 min`."""
    whole = everybody(speeds)
    parts = (
        show_number(whole.claims, "claim"),
        f"median {_show(whole.median)}",
        f"{show_rate(whole.in_time)} within {LATE_SECONDS // 60} min",
        f"{whole.done} done",
    )
    return Fact(label="Speed to lead", value=", ".join(parts))


def speed_table(speeds: Sequence[Speed]) -> Table | None:
    """A row for each person and, of several, one for all."""
    if not speeds:
        return None
    shown = (*speeds, everybody(speeds)) if len(speeds) > 1 else speeds
    return Table(columns=COLUMNS, rows=tuple(Row(cells=_cells(one)) for one in shown))


def _cells(one: Speed) -> tuple[str | float | None, ...]:
    name = one.name if one.name == ALL else f"@{one.name}"
    return name, one.claims, _show(one.median), _show(one.p90), show_rate(one.in_time), one.done


def _show(seconds: float | None) -> str:
    return "–" if seconds is None else show_span(timedelta(seconds=seconds))


def speed_charts(speeds: Sequence[Speed]) -> tuple[Chart, ...]:
    """The median and the slow end by person, in minutes."""
    shown = [one for one in speeds if one.claims][:MOST_CHARTED]
    if not shown:
        return ()
    series = (
        ("Median", tuple(_minutes(one.median) for one in shown)),
        ("P90", tuple(_minutes(one.p90) for one in shown)),
    )
    labels = tuple(one.name for one in shown)
    return (Chart(title="Minutes to claim, by person", labels=labels, series=series, bars=True),)


def _minutes(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds / 60, 1)


def _data(one: Speed) -> dict[str, object]:
    return {
        "person": one.name,
        "claims": one.claims,
        "median_seconds": one.median,
        "p90_seconds": one.p90,
        "within_5_minutes": one.in_time,
        "done": one.done,
    }
