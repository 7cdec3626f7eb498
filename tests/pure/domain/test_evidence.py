"""Intervals, comparisons and changes, held against values of scipy and against exact probabilities."""

from __future__ import annotations

import math

import pytest

from shared.domain import evidence
from shared.domain.evidence import Rate

# The values of the three tables were computed once, with scipy 1.17:
# `stats.binomtest(part, sends).proportion_ci(method="wilson")`,
# the integral of one beta distribution's density times the other's cumulative one
# (`integrate.quad` of `stats.beta(1 + part, 1 + sends - part)`), and `stats.binom.cdf`.
WILSON = [
    (Rate(part=0, sends=1), (0.0, 0.793450685623)),
    (Rate(part=0, sends=50), (0.0, 0.071347599133)),
    (Rate(part=50, sends=50), (0.928652400867, 1.0)),
    (Rate(part=3, sends=40), (0.025836025775, 0.198642335243)),
    (Rate(part=999, sends=1000), (0.994357441402, 0.999823453629)),
    (Rate(part=50000, sends=100000), (0.49690108436, 0.50309891564)),
]
CHANCES = [
    (Rate(part=0, sends=1), Rate(part=1, sends=1), 0.166666667),
    (Rate(part=50, sends=50), Rate(part=149, sends=149), 0.253731343),
    (Rate(part=60, sends=1000), Rate(part=30, sends=1000), 0.999412821),
    (Rate(part=6, sends=115), Rate(part=860, sends=10824), 0.17724734),
    (Rate(part=3, sends=50000), Rate(part=9, sends=100000), 0.322408693),
    (Rate(part=50000, sends=100000), Rate(part=49800, sends=100000), 0.814452578),
]
BINOMIAL = [
    (0, 50, 0.07, 0.0265550686014),
    (3, 40, 0.07, 0.693686822102),
    (40, 440, 0.1, 0.294132322816),
    (0, 400, 0.001, 0.670185906007),
]


def test_the_interval_is_wilsons() -> None:
    for rate, known in WILSON:
        assert rate.bounds == pytest.approx(known, abs=1e-9)


def test_the_chance_to_be_higher_is_nearly_that_of_two_beta_distributions() -> None:
    for one, other, known in CHANCES:
        assert evidence.chance_higher(one, other) == pytest.approx(known, abs=0.03)


def test_the_chance_of_so_few_is_the_binomial_one() -> None:
    for part, sends, rate, known in BINOMIAL:
        assert evidence.chance_of_so_few(part, sends, rate) == pytest.approx(known, abs=1e-9)


def probabilities(sends: int, true: float) -> list[float]:
    """How likely each number of replies to so many sends is."""
    found = []
    for part in range(sends + 1):
        ways = math.lgamma(sends + 1) - math.lgamma(part + 1) - math.lgamma(sends - part + 1)
        found.append(math.exp(ways + part * math.log(true) + (sends - part) * math.log1p(-true)))
    return found


def test_equal_rates_are_rarely_called_different() -> None:
    likely = probabilities(400, 0.03)
    different, high = 0.0, 0
    for part in range(41):  # of more than 40, one in 10 million
        high = max(high, part + 1)
        while not evidence.changed(Rate(part=part, sends=400), Rate(part=high, sends=400)):
            high += 1
        different += 2 * likely[part] * sum(likely[high:])
    assert 0.03 <= different <= 0.05


@pytest.mark.parametrize(
    ("part", "sends", "shown"),
    [
        (71, 1000, "7.1% ± 1.8"), (12, 49, "too few"), (0, 50, "0.0% ± 7.1"), (0, 0, "–"), (None, 500, "–"),
        (3, None, "–"), (5000, 100_000, "5.0%"), (60, 50, "120.0%"), (6, 5, "too few"),
    ],
)  # fmt: skip
def test_a_rate_is_shown_with_what_its_sends_can_tell(
    part: int | None, sends: int | None, shown: str
) -> None:
    assert evidence.show(part, sends) == shown


def test_the_best_of_several_must_be_sure_against_all() -> None:
    best = ("A", Rate(part=60, sends=1000))
    groups = [("C", Rate(part=28, sends=1000)), ("B", Rate(part=30, sends=1000)), best]
    found = evidence.contest(groups)
    assert found == "A beats all 2 others, next B, with 99% confidence: 6.0% vs 3.0%"
    assert evidence.contest([best, ("D", Rate(part=9, sends=10)), ("E", None)]) == ""
    close = evidence.contest([("A", Rate(part=41, sends=1000)), ("B", Rate(part=40, sends=1000))])
    assert close == "too early to compare A and B: 4.1% vs 4.0%"


def test_a_change_needs_more_than_chance() -> None:
    before = Rate(part=40, sends=1000)
    assert evidence.show_rate_change(Rate(part=44, sends=1000), before) == ""
    assert evidence.show_rate_change(Rate(part=80, sends=1000), before) == "▲ 100%"
    assert evidence.show_rate_change(Rate(part=9, sends=10), before) == ""
    assert evidence.show_rate_change(before, None) == ""
    assert evidence.show_rate_change(before, Rate(part=0, sends=1000)) == "▲"
    assert [evidence.show_count_change(now, 100) for now in (110, 160, 40, None)] == [
        "", "▲ 60%", "▼ 60%", "",
    ]  # fmt: skip


def test_a_rate_with_its_counts_says_when_the_sends_are_too_few() -> None:
    assert Rate(part=12, sends=169).with_counts == "7.1% ± 4.9 (12 of 169 sends)"
    assert Rate(part=3, sends=40).with_counts == "too few sends to tell (3 of 40)"


def test_rates_as_data_have_their_bounds_and_what_is_unknown_has_none() -> None:
    data = evidence.rates_data(sends=169, replies=12, positive=None)
    low, high = Rate(part=12, sends=169).bounds
    assert data == {
        "reply_rate": 12 / 169, "reply_rate_low": low, "reply_rate_high": high,
        "positive_rate": None, "positive_rate_low": None, "positive_rate_high": None,
    }  # fmt: skip
