"""Comparisons of rates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shared.api.models import StatsRow
from shared.domain import evidence
from shared.domain.evidence import Rate
from shared.domain.snapshot import Reading
from tests.tui.accounts import NOW, account, board_of
from tui.model.plots.comparison import EQUAL, TOO_FEW, compare, draw, named_rates
from tui.theme.palette import ASCII, UNICODE, Glyphs


def verdicts(**rates: tuple[int, int] | None) -> dict[str, str]:
    """Name and verdict, in the order of the rows."""
    groups = [
        (name, name, counts[1] if counts else None, evidence.rate_of(*counts) if counts else None)
        for name, counts in rates.items()
    ]
    return {row.name: row.verdict for row in compare(groups)}


def test_each_row_is_real_or_says_how_many_more_sends_it_takes() -> None:
    found = verdicts(
        low=(20, 1_000), new=(2, 30), best=(100, 1_000), near=(90, 1_000), none=None, same=(1_000, 10_000)
    )
    assert list(found) == ["best", "same", "near", "low", "new", "none"]
    assert found["low"] == "real: lower than the highest"
    best, near = Rate(part=100, sends=1_000), Rate(part=90, sends=1_000)
    assert found["near"] == f"too early: about {evidence.more_sends(best, near):,} more sends"
    assert found["same"] == EQUAL
    assert found["new"] == TOO_FEW
    assert found["none"] == "unknown"
    assert found["best"] == EQUAL


def test_the_highest_is_real_only_if_it_is_above_all_others_at_once() -> None:
    assert verdicts(a=(100, 1_000), b=(20, 1_000))["a"] == "highest, real"
    assert verdicts(a=(100, 1_000), b=(20, 1_000), c=(95, 1_000))["a"].startswith("too early")
    assert verdicts(a=(100, 1_000))["a"] == "nothing to compare with"
    assert verdicts(a=(3, 40), b=(0, 49)) == {"a": TOO_FEW, "b": TOO_FEW}
    assert verdicts() == {}


@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 5_000)), max_size=12),
    st.integers(30, 250),
    st.integers(3, 40),
    st.sampled_from([UNICODE, ASCII]),
)
def test_rows_fill_their_place_exactly(
    counts: list[tuple[int, int]], width: int, height: int, glyphs: Glyphs
) -> None:
    groups = [
        (str(n), f"group {n}", sends, evidence.rate_of(part, sends)) for n, (part, sends) in enumerate(counts)
    ]
    drawn = draw(compare(groups), width=width, height=height, glyphs=glyphs, selected=len(groups) - 1)
    assert [sum(len(text) for text, _ in line) for line in drawn] == [width] * height


def test_a_dot_stands_in_its_interval_on_a_common_axis() -> None:
    rates = (
        ("a", Rate(part=100, sends=1_000)),
        ("b", Rate(part=20, sends=1_000)),
        ("c", Rate(part=1, sends=20)),
    )
    rows = compare([(name, name, rate.sends, rate) for name, rate in rates])
    lines = ["".join(text for text, _ in line) for line in draw(rows, width=160, height=9, glyphs=UNICODE)]
    first, second, third = (line for line in lines[1:] if line.split()[:1] in (["▌a"], ["b"], ["c"]))
    assert first.index("├") < first.index("●") < first.index("┤")
    assert second.index("┤") < first.index("├"), "intervals apart"
    assert "●" not in third, "of too few sends, nothing is said"
    assert "highest, real" in first
    assert "too few" in third
    assert lines[7].split()[0] == "0%"


def test_counts_belong_to_sequences_by_id_and_unknown_ones_stay_unknown() -> None:
    rows = (StatsRow(group="sq_0", sends=100, replies=None), StatsRow(group="sq_1", sends=200, replies=8))
    stats: dict[str, Any] = {**account().stats, "sequence": Reading(value=rows, read_at=NOW)}
    found = named_rates(board_of(replace(account(), stats=stats)), grouping="sequence", count="replies")
    assert [(key, sends, rate) for key, _, sends, rate in found] == [
        ("sq_0", 100, None),
        ("sq_1", 200, Rate(part=8, sends=200)),
        ("sq_2", None, None),
        ("sq_3", None, None),
    ]
