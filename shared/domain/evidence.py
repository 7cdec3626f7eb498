"""Statistics of counts: sums, intervals of rates, comparisons of rates, and changes. Pure; None is unknown and stays unknown.

The method and its assumptions are in docs/measurements.md. Uses only the standard library; tests compare it with values of scipy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from shared.api.words import COUNTS
from shared.frozen import frozen
from shared.text.formats import UNKNOWN, show_change, show_rate

if TYPE_CHECKING:
    from shared.api.models import StatsRow

LEAST_SENDS = 50
"""Sends from which a rate is called one: below, even no reply at all leaves a rate of 7% possible."""
SURE = 0.95
"""The probability from which a difference is called one."""
Z = 1.959963984540054
"""Standard errors of a 95% interval: 2.5% of a normal distribution lies above."""
NARROW = 0.005, 0.25
"""A margin below half a percentage point and below a quarter of the rate is not shown: it changes no decision."""
TOO_FEW = "too few"


def share(part: float | None, whole: float | None) -> float | None:
    """`part` of `whole` as a fraction; None if either is unknown or `whole` is 0."""
    if part is None or not whole:
        return None
    return part / whole


def totals(rows: Iterable[StatsRow], *, group: str = "total") -> StatsRow:
    """The sum of the rows; a count that one row does not know is unknown in all."""
    from shared.api.models import StatsRow  # late: `outreach --help` does without

    known = list(rows)
    counts: dict[str, Any] = {name: total([getattr(row, name) for row in known]) for name in COUNTS}
    return StatsRow(group=group, **counts)


def total(values: Sequence[int | None]) -> int | None:
    """The sum; None if one of them is unknown."""
    # A sum with a hole would be too low, and shown as a number that it isn't.
    numbers = [value for value in values if value is not None]
    return sum(numbers) if len(numbers) == len(values) else None


@frozen
class Rate:
    """A share of sends, with the range that holds the true one in 95 of 100 cases (Wilson)."""

    part: int
    sends: int

    @property
    def share(self) -> float:
        return self.part / self.sends

    @property
    def bounds(self) -> tuple[float, float]:
        return wilson(self.part, self.sends)

    @property
    def margin(self) -> float:
        """The largest distance of the bounds from the share."""
        low, high = self.bounds
        return max(self.share - low, high - self.share)

    @property
    def enough(self) -> bool:
        return self.sends >= LEAST_SENDS

    def __str__(self) -> str:
        """`7.1% ± 2.4`, `7.1%` where the margin is narrow, or `too few`."""
        if not self.enough:
            return TOO_FEW
        margin = self.margin_points
        return show_rate(self.share) + (f" ± {margin}" if margin else "")

    @property
    def margin_points(self) -> str:
        """`2.4`, in percentage points; empty where the margin is narrow."""
        narrow = self.margin < NARROW[0] and not self.is_rough
        return "" if narrow else f"{max(self.margin * 100, 0.1):.1f}"

    @property
    def is_rough(self) -> bool:
        """True if its margin is a quarter of it, or more."""
        return self.margin >= NARROW[1] * self.share

    @property
    def with_counts(self) -> str:
        """`7.1% ± 3.9 (12 of 169 sends)`, or `too few sends to tell (3 of 40)`."""
        if not self.enough:
            return f"{TOO_FEW} sends to tell ({self.part:,} of {self.sends:,})"
        return f"{self} ({self.part:,} of {self.sends:,} sends)"


def rate_of(part: int | None, sends: int | None) -> Rate | None:
    """None if a count is unknown, nothing was sent, or the part exceeds the whole: today's replies may answer old sends."""
    if part is None or not sends or not 0 <= part <= sends:
        return None
    return Rate(part=part, sends=sends)


def show(part: int | None, sends: int | None) -> str:
    """A rate with its margin, for a column that is read at a glance; a dash where it is unknown."""
    if found := rate_of(part, sends):
        return str(found)
    if part is None or not sends:
        return UNKNOWN
    return show_rate(part / sends) if sends >= LEAST_SENDS else TOO_FEW


def rates_data(*, sends: int | None, replies: int | None, positive: int | None) -> dict[str, float | None]:
    """Rates and their bounds as fields of JSON: `reply_rate`, `reply_rate_low`, `reply_rate_high`, and of positive replies."""
    data: dict[str, float | None] = {}
    for name, part in (("reply_rate", replies), ("positive_rate", positive)):
        found = rate_of(part, sends)
        low, high = found.bounds if found else (None, None)
        data |= {name: found.share if found else None, f"{name}_low": low, f"{name}_high": high}
    return data


def wilson(part: float, whole: float) -> tuple[float, float]:
    """The Wilson score interval of a share (Wilson 1927), within 0 and 1."""
    share, square = part / whole, Z * Z
    centre = (share + square / (2 * whole)) / (1 + square / whole)
    half = Z / (1 + square / whole) * math.sqrt(share * (1 - share) / whole + square / (4 * whole * whole))
    return max(0.0, centre - half), min(1.0, centre + half)


def chance_of_so_few(part: int, sends: int, rate: float) -> float:
    """The probability of at most `part` of so many sends where the true rate is `rate`; by the binomial distribution."""
    if not 0 < rate < 1:
        return 1.0
    log_rate, log_rest = math.log(rate), math.log1p(-rate)
    return sum(
        math.exp(
            math.lgamma(sends + 1)
            - math.lgamma(n + 1)
            - math.lgamma(sends - n + 1)
            + n * log_rate
            + (sends - n) * log_rest
        )
        for n in range(part + 1)
    )


def chance_higher(one: Rate, other: Rate) -> float:
    """The probability that the true rate of `one` is above that of `other`.

    Each true rate has the distribution Beta(1 + part, 1 + rest): every rate was as likely as any other beforehand. The
    difference of two of them is nearly normal from the fewest sends on that are compared.
    """
    means = [(1 + rate.part) / (2 + rate.sends) for rate in (one, other)]
    variances = [mean * (1 - mean) / (3 + rate.sends) for mean, rate in zip(means, (one, other), strict=True)]
    return (1 + math.erf((means[0] - means[1]) / math.sqrt(2 * sum(variances)))) / 2


def contest(groups: Iterable[tuple[str, Rate | None]]) -> str:
    """`B beats A, with 97% confidence: 4.1% vs 2.8%`, or too early to tell; empty where fewer than two have sent enough."""
    # Groups with too few sends take no part: a lucky handful would win.
    known = [(rate, name) for name, rate in groups if rate is not None and rate.enough]
    if len(known) < 2:
        return ""
    (rate, best), (second, after), *more = sorted(known, key=lambda pair: -pair[0].share)
    rates = f"{show_rate(rate.share)} vs {show_rate(second.share)}"
    # The probability that any of the others is above, at most (Boole's bound).
    sure = 1 - sum(1 - chance_higher(rate, other) for other, _ in [(second, after), *more])
    if sure < SURE:
        return f"too early to compare {best} and {after}: {rates}"
    loser = f"all {len(more) + 1} others, next {after}" if more else after
    return f"{best} beats {loser}, with {min(math.floor(sure * 100), 99)}% confidence: {rates}"


def changed(now: Rate, before: Rate) -> bool:
    """True if chance is an unlikely reason for the difference of two rates (under 5%, both directions)."""
    lean = abs(chance_higher(now, before) - 1 / 2)
    return now.enough and before.enough and lean > SURE / 2


def show_rate_change(now: Rate | None, before: Rate | None) -> str:
    """`▲ 12%`; empty where chance may be the reason, or there is nothing to compare with."""
    if now is None or before is None or not changed(now, before):
        return ""
    return show_change(now.share / before.share - 1) if before.part else "▲"


def show_count_change(now: int | None, before: int | None) -> str:
    """Show the change of counts that come by themselves (a Poisson process): events, or sends."""
    if now is None or not before or not (clearly_more(now, before) or clearly_more(before, now)):
        return ""
    return show_change(now / before - 1)


def clearly_more(one: int, other: int) -> bool:
    """True if chance is an unlikely reason for one count to be above another (two Poisson processes)."""
    return one - other > Z * math.sqrt(one + other)


def clear_change(now: StatsRow, before: StatsRow, name: str) -> str:
    """The change of one count, empty where chance may be the reason: of the sends by their number, of others by their rate."""
    if name == "sends":
        return show_count_change(now.sends, before.sends)
    rates = (rate_of(getattr(row, name), row.sends) for row in (now, before))
    return show_rate_change(*rates)
