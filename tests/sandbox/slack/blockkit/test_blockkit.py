"""Block Kit's limits hold to the character, for every block and element."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.slack.blockkit import MAX_CHARACTERS, problems, total_size
from sandbox.slack.content import checked_blocks
from sandbox.slack.errors import SlackError
from tests.sandbox.slack.driver import Json, actions, asked, button, mrkdwn, option, plain, section

CONFIRM = {"title": plain("t"), "text": plain("x"), "confirm": plain("y"), "deny": plain("n")}


def _in(element: Json) -> list[Json]:
    return [actions(element)]


def _select(**more: Any) -> Json:
    return {"type": "static_select", "action_id": "a", "options": [option("x", "y")], **more}


LIMITS: dict[str, tuple[int, Any]] = {
    "section text": (3000, lambda n: [section("x" * n)]),
    "header": (150, lambda n: [{"type": "header", "text": plain("x" * n)}]),
    "field": (2000, lambda n: [{"type": "section", "fields": [mrkdwn("x" * n)]}]),
    "fields": (10, lambda n: [{"type": "section", "fields": [mrkdwn("x")] * n}]),
    "context elements": (10, lambda n: [{"type": "context", "elements": [mrkdwn("x")] * n}]),
    "actions": (25, lambda n: [actions(*(button(f"a{i}", "x") for i in range(n)))]),
    "block_id": (255, lambda n: [section("x", block_id="b" * n)]),
    "action_id": (255, lambda n: _in(button("a" * n, "x"))),
    "button text": (75, lambda n: _in(button("a", "x" * n))),
    "button value": (2000, lambda n: _in(button("a", "x", value="v" * n))),
    "button url": (3000, lambda n: _in(button("a", "x", url="https://x.example/".ljust(n, "u")))),
    "options": (100, lambda n: _in(_select(options=[option("x", str(i)) for i in range(n)]))),
    "option text": (75, lambda n: _in(_select(options=[option("x" * n, "y")]))),
    "option value": (150, lambda n: _in(_select(options=[option("x", "y" * n)]))),
    "overflow": (
        5,
        lambda n: _in(
            {"type": "overflow", "action_id": "a", "options": [option("x", str(i)) for i in range(n)]}
        ),
    ),
    "placeholder": (150, lambda n: _in(_select(placeholder=plain("x" * n)))),
    "confirm title": (100, lambda n: _in(button("a", "x", confirm={**CONFIRM, "title": plain("x" * n)}))),
    "confirm text": (300, lambda n: _in(button("a", "x", confirm={**CONFIRM, "text": plain("x" * n)}))),
    "confirm button": (30, lambda n: _in(button("a", "x", confirm={**CONFIRM, "confirm": plain("x" * n)}))),
    "deny button": (30, lambda n: _in(button("a", "x", confirm={**CONFIRM, "deny": plain("x" * n)}))),
    "blocks": (50, lambda n: [{"type": "divider"}] * n),
    "markdown": (12_000, lambda n: [{"type": "markdown", "text": "x" * n}]),
    "table rows": (100, lambda n: [{"type": "table", "rows": [[{"type": "raw_text", "text": "x"}]] * n}]),
    "table columns": (20, lambda n: [{"type": "table", "rows": [[{"type": "raw_text", "text": "x"}] * n]}]),
    "checkboxes": (
        10,
        lambda n: _in(
            {"type": "checkboxes", "action_id": "a", "options": [option("x", str(i)) for i in range(n)]}
        ),
    ),
    "label": (2000, lambda n: [asked("b", _select()) | {"label": plain("x" * n)}]),
}


@pytest.mark.parametrize("what", LIMITS)
def test_a_limit_holds_to_the_last_one(what: str) -> None:
    most, build = LIMITS[what]
    assert problems(build(most)) == []
    beyond = problems(build(most + 1))
    assert len(beyond) == 1, beyond
    assert "[json-pointer:/blocks" in beyond[0]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "nonsense"},
        {"type": "section"},
        {"type": "section", "text": "bare"},
        {"type": "section", "text": {"type": "html", "text": "x"}},
        {"type": "header", "text": mrkdwn("headers are plain")},
        {"type": "divider", "text": plain("x")},
        {"type": "actions", "elements": []},
        {"type": "actions", "elements": [{"type": "plain_text_input", "action_id": "a"}]},
        {"type": "context", "elements": [button("a", "x")]},
        {"type": "image", "image_url": "https://x.example/a.png"},
        {"type": "image", "alt_text": "x", "image_url": "not a url"},
        {"type": "input", "label": plain("x"), "element": button("a", "x")},
        actions(button("a", "x", style="warning")),
        actions(button("a", "x", url="no url")),
        actions({**button("a", "x"), "text": mrkdwn("x")}),
        actions({"type": "static_select", "action_id": "a"}),
        "text",
        None,
        [],
        3,
    ],
)
def test_invalid_blocks_are_refused(block: Any) -> None:
    assert problems([block])


def test_block_ids_are_unique() -> None:
    assert problems([section("x", block_id="b"), section("y", block_id="b")])


def test_tables_stay_in_messages_and_alone() -> None:
    table = {"type": "table", "rows": [[{"type": "raw_text", "text": "x"}]]}
    assert problems([table]) == []
    assert problems([table, table])
    assert problems([table], surface="home")


def test_a_modal_takes_twice_as_many_blocks() -> None:
    assert problems([{"type": "divider"}] * 100, surface="modal") == []
    assert problems([{"type": "divider"}] * 101, surface="modal")


@given(st.integers(min_value=1, max_value=4), st.integers(min_value=-60, max_value=60))
def test_the_total_decides_at_thirteen_thousand_two_hundred(parts: int, off: int) -> None:
    blocks = [section("x" * 2900) for _ in range(parts)]
    left = MAX_CHARACTERS + off - total_size(blocks)
    while left > 3000:
        blocks.append(section("y" * min(2900, left - 400)))
        left = MAX_CHARACTERS + off - total_size(blocks)
    frame = total_size([*blocks, section("z")]) - total_size(blocks) - 1
    blocks.append(section("z" * max(1, left - frame)))
    too_long = total_size(blocks) > MAX_CHARACTERS
    if too_long:
        with pytest.raises(SlackError) as caught:
            checked_blocks(blocks, problems)
        assert caught.value.error == "msg_blocks_too_long"
    else:
        assert checked_blocks(blocks, problems) == blocks


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["type", "text", "elements", "accessory", "options", "x"]), inner, max_size=4
            )
        ),
        max_leaves=12,
    )
)
def test_no_json_breaks_the_check(anything: Any) -> None:
    assert all("[json-pointer:" in line for line in problems(anything))
    assert isinstance(problems([{"type": "section", "accessory": anything}]), list)


@given(st.text(min_size=1, max_size=3000))
def test_any_text_within_the_limit_is_taken(text: str) -> None:
    assert problems([section(text)]) == []


def cell(value: Any) -> Json:
    if isinstance(value, str):
        return {"type": "raw_text", "text": value}
    return {"type": "raw_number", "value": value, "text": str(value)}


def data_table(rows: int = 1, columns: int = 1, **more: Any) -> Json:
    grid = [[cell("x")] * columns] * (rows + 1)
    return {"type": "data_table", "caption": "Inboxes", "rows": grid, **more}


def chart(kind: str = "line", *, series: int = 1, categories: int = 1, **more: Any) -> Json:
    names = [f"c{n}" for n in range(categories)]
    data = [{"label": name, "value": n} for n, name in enumerate(names)]
    plotted = [{"name": f"s{n}", "data": data} for n in range(series)]
    drawn = {"type": kind, "series": plotted, "axis_config": {"categories": names}}
    return {"type": "data_visualization", "title": "Replies", "chart": drawn, **more}


def pie(segments: int = 1, *, label: str = "x", value: Any = 1) -> Json:
    parts = [{"label": label, "value": value}] * segments
    return {"type": "data_visualization", "title": "t", "chart": {"type": "pie", "segments": parts}}


DATA_LIMITS: dict[str, tuple[int, Any]] = {
    "data_table rows": (100, lambda n: [data_table(rows=n)]),
    "data_table columns": (20, lambda n: [data_table(columns=n)]),
    "page_size": (100, lambda n: [data_table(page_size=n)]),
    "cells of a message": (
        10_000,
        lambda n: [data_table(), {**data_table(), "rows": [[cell("x")], [cell("x" * (n - 3))]]}],
    ),
    "chart title": (50, lambda n: [chart() | {"title": "x" * n}]),
    "series": (6, lambda n: [chart("area", series=n)]),
    "categories": (20, lambda n: [chart("bar", categories=n, series=1)]),
    "segments": (6, lambda n: [pie(n)]),
    "segment label": (20, lambda n: [pie(label="x" * n)]),
    "charts of a message": (2, lambda n: [chart()] * n),
}


@pytest.mark.parametrize("what", DATA_LIMITS)
def test_a_limit_of_tables_and_charts_holds_to_the_last_one(what: str) -> None:
    most, build = DATA_LIMITS[what]
    assert problems(build(most)) == []
    assert problems(build(most + 1))


@pytest.mark.parametrize(
    "block",
    [
        pytest.param({"type": "data_table", "rows": data_table()["rows"]}, id="no caption"),
        pytest.param(
            data_table() | {"rows": [[cell("a"), cell("b")], [cell("a")]]}, id="rows of unlike length"
        ),
        pytest.param(data_table(rows=0), id="only a header"),
        pytest.param(
            data_table() | {"rows": [[{"type": "rich_text", "elements": []}], [cell(1)]]},
            id="rich text in the header",
        ),
        pytest.param(
            data_table() | {"rows": [[cell("a")], [{"type": "raw_number", "value": 1}]]}, id="no text"
        ),
        pytest.param(data_table() | {"rows": [[cell("a")], [cell("")]]}, id="an empty cell"),
        pytest.param(pie(value=0), id="an empty segment"),
        pytest.param(pie(label=""), id="no label"),
        pytest.param(chart("scatter"), id="an unknown chart"),
        pytest.param(chart() | {"chart": {"type": "line", "series": []}}, id="no axis"),
    ],
)
def test_a_table_or_chart_that_slack_cannot_draw_is_refused(block: Json) -> None:
    assert problems([block])


def test_every_category_needs_a_value_and_every_series_its_own_name() -> None:
    short = chart(categories=2)
    short["chart"]["series"][0]["data"] = short["chart"]["series"][0]["data"][:1]
    assert "labels must match" in problems([short])[0]
    twins = chart(series=2)
    twins["chart"]["series"][1]["name"] = "s0"
    assert "not unique" in problems([twins])[0]


def test_a_block_that_the_workspace_does_not_know_is_named_with_its_place() -> None:
    found = problems([section("x"), chart()], refused={"data_visualization"})
    assert found == ["unsupported type: data_visualization [json-pointer:/blocks/1/type]"]


@pytest.mark.parametrize(
    "leaf",
    [
        {"type": "text", "text": ""},
        {"type": "text", "text": "x", "style": {"loud": True}},
        {"type": "link"},
        {"type": "broadcast", "range": "all"},
        {"type": "date", "timestamp": 1, "format": ""},
        {"type": "mrkdwn", "text": "x"},
        "x",
    ],
)
def test_the_insides_of_rich_text_are_checked(leaf: Any) -> None:
    for part in ("rich_text_section", "rich_text_quote", "rich_text_preformatted"):
        assert problems([{"type": "rich_text", "elements": [{"type": part, "elements": [leaf]}]}])
