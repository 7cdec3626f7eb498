"""Charts as Slack draws them: within the limits of the block, and unknown values are never zeros."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.blockkit import charts
from sandbox.slack import blockkit
from shared.domain.card import Chart
from tests.bot.blockkit.test_card_blocks import any_chart


@settings(max_examples=40, deadline=None)
@given(st.lists(any_chart(), max_size=3))
def test_any_charts_are_drawn_within_slacks_limits_or_not_at_all(several: list[Chart]) -> None:
    assert blockkit.problems(charts.draw(several)) == []


def test_a_day_without_a_value_is_left_out_and_not_drawn_as_zero() -> None:
    chart = Chart(title="3 days", labels=("a", "b", "c"), series=(("Sends", (1, None, 3)),))
    (block,) = charts.draw([chart])
    assert block["chart"]["axis_config"]["categories"] == ["a", "c"]
    assert [point["value"] for point in block["chart"]["series"][0]["data"]] == [1, 3]


def test_series_of_another_scale_have_a_chart_of_their_own() -> None:
    chart = Chart(title="2 days", labels=("a", "b"), series=(("Sends", (900, 1200)), ("Replies", (9, 12))))
    assert [block["title"] for block in charts.draw([chart])] == ["Sends: 2 days", "Replies: 2 days"]


def test_names_that_are_alike_within_twenty_characters_stay_apart() -> None:
    labels = ("Founders in the Nordics A", "Founders in the Nordics B", "")
    chart = Chart(title="Rates", labels=labels, series=(("Replies", (1, 2, 3)),), bars=True)
    (block,) = charts.draw([chart])
    categories = block["chart"]["axis_config"]["categories"]
    assert len(set(categories)) == 3
    assert all(1 <= len(name) <= 20 for name in categories)
