"""Intervals, comparisons and changes, held against scipy and against simulation."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.domain import evidence
from shared.domain.evidence import Rate

counts = st.integers(1, 100_000).flatmap(
    lambda sends: st.builds(Rate, part=st.integers(0, sends), sends=st.just(sends))
)


@given(counts)
def test_the_interval_is_wilsons(rate: Rate) -> None:
    from scipy import stats

    known = stats.binomtest(rate.part, rate.sends).proportion_ci(method="wilson")
    assert rate.bounds == pytest.approx((known.low, known.high), abs=1e-9)
    assert 0 <= rate.bounds[0] <= rate.share + 1e-12
    assert rate.share - 1e-12 <= rate.bounds[1] <= 1


@given(counts, counts)
def test_the_chance_to_be_higher_is_that_of_two_beta_distributions(one: Rate, other: Rate) -> None:
    from scipy import integrate, stats

    a, b = (stats.beta(1 + rate.part, 1 + rate.sends - rate.part) for rate in (one, other))
    narrow, wide = (a, b) if a.var() <= b.var() else (b, a)
    middle, spread = narrow.mean(), narrow.std()
    low, high = max(0.0, middle - 10 * spread), min(1.0, middle + 10 * spread)
    below, _ = integrate.quad(lambda x: narrow.pdf(x) * wide.cdf(x), low, high, limit=200, points=[middle])
    expected = below if narrow is a else 1 - below
    assert evidence.chance_higher(one, other) == pytest.approx(expected, abs=1e-4)


@given(counts, counts)
def test_the_chances_of_both_directions_add_up_to_one(one: Rate, other: Rate) -> None:
    assert evidence.chance_higher(one, other) + evidence.chance_higher(other, one) == pytest.approx(
        1, abs=1e-4
    )


@given(st.floats(0.001, 0.999), st.floats(0.5, 5000), st.floats(0.5, 5000))
def test_the_incomplete_beta_function_is_the_known_one(x: float, a: float, b: float) -> None:
    from scipy import stats

    assert evidence._beta_below(x, a, b) == pytest.approx(float(stats.beta.cdf(x, a, b)), abs=1e-8)


@pytest.mark.parametrize("true", [0.005, 0.02, 0.1, 0.5])
def test_the_interval_holds_the_true_rate_in_95_of_100_cases(true: float) -> None:
    from numpy.random import default_rng

    chance = default_rng(5)
    held = 0
    for sends in chance.choice((60, 300, 1500), 600).tolist():
        low, high = Rate(part=int(chance.binomial(sends, true)), sends=sends).bounds
        held += low <= true <= high
    assert 0.92 <= held / 600 <= 1


def test_equal_rates_are_rarely_called_different() -> None:
    from numpy.random import default_rng

    drawn = [Rate(part=part, sends=400) for part in default_rng(11).binomial(400, 0.03, 300).tolist()]
    pairs = zip(drawn[:150], drawn[150:], strict=True)
    assert sum(evidence.changed(*pair) for pair in pairs) / 150 <= 0.07


def chance_after(one: Rate, other: Rate, more: int) -> float:
    """How likely the better of two is the better one, after so many more sends of each at the same rates."""
    grown = [
        Rate(part=round(rate.share * (rate.sends + more)), sends=rate.sends + more) for rate in (one, other)
    ]
    high, low = sorted(grown, key=lambda rate: -rate.share)
    return evidence.chance_higher(high, low)


@given(counts, counts)
@example(Rate(part=6, sends=115), Rate(part=860, sends=10824))
@example(Rate(part=17, sends=3487), Rate(part=0, sends=92))
def test_the_sends_that_it_takes_suffice(one: Rate, other: Rate) -> None:
    more = evidence.more_sends(one, other)
    if more is not None:
        assert chance_after(one, other, more) >= evidence.SURE


@given(counts, counts)
@example(Rate(part=41, sends=1000), Rate(part=40, sends=1000))
def test_a_third_of_the_sends_that_it_takes_leaves_a_doubt(one: Rate, other: Rate) -> None:
    more = evidence.more_sends(one, other)
    if more is not None and more >= 100:
        assert chance_after(one, other, more // 3) < 0.99


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
    groups = [
        ("A", Rate(part=60, sends=1000)),
        ("B", Rate(part=30, sends=1000)),
        ("C", Rate(part=28, sends=1000)),
    ]
    found = evidence.contest(groups)
    assert str(found) == "A beats all 2 others, next B, with 99% confidence: 6.0% vs 3.0%"
    assert evidence.contest([*groups[:1], ("D", Rate(part=9, sends=10)), ("E", None)]) is None
    close = evidence.contest([("A", Rate(part=41, sends=1000)), ("B", Rate(part=40, sends=1000))])
    assert "too early to compare" in str(close) or "no measurable difference" in str(close)


def test_sends_that_are_missing_are_those_to_be_above_all_others() -> None:
    best, other = Rate(part=46, sends=2000), Rate(part=31, sends=2000)
    assert (found := evidence.contest([("A", best), ("B", other)])) is not None
    assert found.decided
    assert (found := evidence.contest([("A", best), *((str(n), other) for n in range(10))])) is not None
    assert not found.decided
    assert found.more is not None
    assert found.more > 1000


def test_a_change_needs_more_than_chance() -> None:
    before = Rate(part=40, sends=1000)
    assert evidence.show_rate_change(Rate(part=44, sends=1000), before) == "no clear change"
    assert evidence.show_rate_change(Rate(part=80, sends=1000), before) == "▲ 100%"
    assert evidence.show_rate_change(Rate(part=9, sends=10), before) == ""
    assert evidence.show_rate_change(before, None) == ""
    assert evidence.show_rate_change(before, Rate(part=0, sends=1000)) == "▲"
    assert [evidence.show_count_change(now, 100) for now in (110, 160, 40, None)] == [
        "no clear change", "▲ 60%", "▼ 60%", "",
    ]  # fmt: skip


@given(st.integers(0, 40), st.integers(0, 400), st.floats(0.001, 0.5))
def test_the_chance_of_so_few_is_the_binomial_one(part: int, rest: int, rate: float) -> None:
    from scipy import stats

    known = stats.binom.cdf(part, part + rest, rate)
    assert evidence.chance_of_so_few(part, part + rest, rate) == pytest.approx(known, abs=1e-9)


def test_a_rate_with_its_counts_says_when_the_sends_are_too_few() -> None:
    assert Rate(part=12, sends=169).with_counts == "7.1% ± 4.9 (12 of 169 sends)"
    assert Rate(part=3, sends=40).with_counts == "too few sends to tell (3 of 40)"
