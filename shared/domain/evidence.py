"""Statistics of counts: intervals of rates, comparisons of rates, and changes. Pure.

The method and its assumptions are in docs/evidence.md. Uses only the standard library; tests compare it with scipy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from shared.text.formats import UNKNOWN, show_change, show_rate

LEAST_SENDS = 50
"""Sends from which a rate is called one: below, even no reply at all leaves a rate of 7% possible."""
SURE = 0.95
"""How likely a difference must be to be called one."""
Z = 1.959963984540054
"""Standard errors of a 95% interval: 2.5% of a normal distribution lies above."""
NARROW = 0.005, 0.25
"""A margin below half a percentage point and below a quarter of the rate is not shown: it changes no decision."""
TOO_FEW = "too few"
NO_CHANGE = "no clear change"
MOST_MORE = 100_000
"""Sends beyond which two rates are as good as equal."""
_STEPS = 160
"""Intervals of the integration; even. Enough for 1e-6; what lies beyond its ends is at most 5e-5."""


@dataclass(frozen=True, slots=True, kw_only=True)
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
        """How far the bounds are from the share, at most."""
        low, high = self.bounds
        return max(self.share - low, high - self.share)

    @property
    def enough(self) -> bool:
        return self.sends >= LEAST_SENDS

    def __str__(self) -> str:
        """`7.1% ± 2.4`, `7.1%` where the margin is narrow, or `too few`."""
        return self.with_margin if self.enough else TOO_FEW

    @property
    def with_margin(self) -> str:
        """The same, however few the sends are."""
        margin = self.margin_points
        return show_rate(self.share) + (f" ± {margin}" if margin else "")

    @property
    def margin_points(self) -> str:
        """`2.4`, in percentage points; empty where the margin is narrow."""
        narrow = self.margin < NARROW[0] and not self.is_rough
        return "" if narrow else f"{max(self.margin * 100, 0.1):.1f}"

    @property
    def is_rough(self) -> bool:
        """Whether its margin is a quarter of it, or more."""
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
    found = rate_of(part, sends)
    if found is None and part is not None and sends and sends >= LEAST_SENDS:
        return show_rate(part / sends)
    return UNKNOWN if found is None and not (part is not None and sends) else str(found or TOO_FEW)


def rates_data(*, sends: int | None, replies: int | None, positive: int | None) -> dict[str, float | None]:
    """Rates and their bounds as fields of JSON: `reply_rate`, `reply_rate_low`, `reply_rate_high`, and of positive replies."""
    data: dict[str, float | None] = {}
    for name, part in (("reply_rate", replies), ("positive_rate", positive)):
        found = rate_of(part, sends)
        low, high = found.bounds if found else (None, None)
        data |= {name: found.share if found else None, f"{name}_low": low, f"{name}_high": high}
    return data


def wilson(part: float, whole: float, z: float = Z) -> tuple[float, float]:
    """The Wilson score interval of a share (Wilson 1927), within 0 and 1."""
    share, square = part / whole, z * z
    centre = (share + square / (2 * whole)) / (1 + square / whole)
    half = z / (1 + square / whole) * math.sqrt(share * (1 - share) / whole + square / (4 * whole * whole))
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

    Each true rate has the distribution Beta(1 + part, 1 + rest): every rate was as likely as any other beforehand.
    """
    narrow, wide = sorted((one, other), key=_variance)
    a, b = 1 + narrow.part, 1 + narrow.sends - narrow.part
    middle, spread = a / (a + b), math.sqrt(_variance(narrow))
    low, high = max(0.0, middle - 9 * spread), min(1.0, middle + 9 * spread)
    total = below = 0.0
    for step in range(_STEPS + 1):  # Simpson's rule over the narrower of the two
        x = low + (high - low) * step / _STEPS
        weight = (1 if step in {0, _STEPS} else 4 if step % 2 else 2) * _density(x, a, b)
        total += weight
        below += weight * _beta_below(x, 1 + wide.part, 1 + wide.sends - wide.part)
    found = min(1.0, max(0.0, below / total))
    return found if narrow is one else 1 - found


def _variance(rate: Rate) -> float:
    a, b = 1 + rate.part, 1 + rate.sends - rate.part
    return a * b / ((a + b) ** 2 * (a + b + 1))


def _density(x: float, a: float, b: float) -> float:
    if x <= 0.0:
        return b if a == 1 else 0.0
    if x >= 1.0:
        return a if b == 1 else 0.0
    return math.exp(_log_front(x, a, b) - math.log(x) - math.log1p(-x))


def _log_front(x: float, a: float, b: float) -> float:
    return math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)


def _beta_below(x: float, a: float, b: float) -> float:
    """The regularized incomplete beta function, by its continued fraction (Lentz; DLMF 8.17.22)."""
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _beta_below(1.0 - x, b, a)
    tiny = 1e-300
    c, d = 1.0, 1.0 / _nonzero(1.0 - (a + b) * x / (a + 1.0), tiny)
    fraction = d
    for m in range(1, 1000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / _nonzero(1.0 + term * d, tiny)
            c = _nonzero(1.0 + term / c, tiny)
            fraction *= c * d
        if abs(c * d - 1.0) < 1e-10:
            break
    return math.exp(_log_front(x, a, b)) * fraction / a


def _nonzero(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """The group with the highest rate, the next, and how sure it is that the first is above all others."""

    best: str
    best_rate: Rate
    next: str
    next_rate: Rate
    others: int
    sure: float
    more: int | None
    """Sends of each that it would take to tell; None: more than anybody sends."""

    @property
    def decided(self) -> bool:
        return self.sure >= SURE

    def __str__(self) -> str:
        """`B beats A, with 97% confidence: 4.1% vs 2.8%`, or how many more sends it takes to tell."""
        rates = f"{show_rate(self.best_rate.share)} vs {show_rate(self.next_rate.share)}"
        if self.decided:
            loser = self.next if self.others == 1 else f"all {self.others} others, next {self.next}"
            return (
                f"{self.best} beats {loser}, with {min(math.floor(self.sure * 100), 99)}% confidence: {rates}"
            )
        if self.more is None:
            return f"no measurable difference between {self.best} and {self.next}: {rates}"
        return f"too early to compare {self.best} and {self.next} ({rates}): about {self.more:,} more sends each are needed"


def contest(groups: Iterable[tuple[str, Rate | None]]) -> Contest | None:
    """The best group against the others; None where fewer than two have sent enough."""
    known = [(name, rate) for name, rate in groups if rate is not None and rate.enough]
    known.sort(key=lambda pair: -pair[1].share)
    if len(known) < 2:
        return None
    (best, rate), *others = known
    doubt = sum(1 - chance_higher(rate, other) for _, other in others)  # of any of them; Boole's bound
    sure = max(0.0, 1 - doubt)
    return Contest(
        best=best, best_rate=rate, next=others[0][0], next_rate=others[0][1], others=len(others), sure=sure,
        more=0 if sure >= SURE else more_sends(rate, *(other for _, other in others)),
    )  # fmt: skip


def more_sends(one: Rate, *others: Rate) -> int | None:
    """How many more sends of each would tell `one` from all the others if their rates stay, in round numbers.

    None: more than anybody sends.
    """

    def roughly_tells(more: int) -> bool:
        return sum(_rough_doubt(one, other, more) for other in others) < 1 - SURE

    def tells(more: int) -> bool:
        best = _grown(one, more)
        return sum(1 - chance_higher(best, _grown(other, more)) for other in others) <= 1 - SURE

    if not roughly_tells(MOST_MORE):
        return None
    low, high = 0, MOST_MORE
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if roughly_tells(middle) else (middle + 1, high)
    # The approximation promises too few where replies are few.
    more = _round_up(max(low, 1))
    while more <= MOST_MORE and not tells(more):
        more = _round_up(more + 1 + more // 20)
    return more if more <= MOST_MORE else None


def _rough_doubt(one: Rate, other: Rate, more: int) -> float:
    """The probability that `one` isn't the higher rate after so many more sends of each; by the normal approximation."""
    spread = sum(rate.share * (1 - rate.share) / (rate.sends + more) for rate in (one, other))
    gap = abs(one.share - other.share)
    return 0.5 * math.erfc(gap / math.sqrt(2 * spread)) if spread else 0.5 * (gap == 0)


def _grown(rate: Rate, more: int) -> Rate:
    sends = rate.sends + more
    return Rate(part=round(rate.share * sends), sends=sends)


def _round_up(number: int) -> int:
    """Two digits, or tens: 130 of 123, 1,300 of 1,234."""
    step = int(10 ** max(len(str(number)) - 2, 1))
    return -(-number // step) * step


def changed(now: Rate | None, before: Rate | None) -> bool:
    """Whether chance is an unlikely reason for the difference of two rates (under 5%, both directions)."""
    if now is None or before is None or not (now.enough and before.enough):
        return False
    higher = chance_higher(now, before)
    return not (1 - SURE) / 2 <= higher <= 1 - (1 - SURE) / 2


def show_rate_change(now: Rate | None, before: Rate | None) -> str:
    """`▲ 12%` where it is a change, `no clear change`, or nothing where there is nothing to compare with."""
    if now is None or before is None or not (now.enough and before.enough):
        return ""
    if not changed(now, before):
        return NO_CHANGE
    return show_change((now.share - before.share) / before.share) if before.part else "▲"


def show_count_change(now: int | None, before: int | None) -> str:
    """The same of counts that come by themselves (a Poisson process): events, or sends."""
    if now is None or not before:
        return ""
    if abs(now - before) <= Z * math.sqrt(now + before):
        return NO_CHANGE
    return show_change((now - before) / before)
