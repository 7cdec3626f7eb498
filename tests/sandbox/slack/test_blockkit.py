"""Block Kit's limits hold to the character, for every block and element."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sandbox.slack.blockkit import problems


def test_a_modal_takes_twice_as_many_blocks() -> None:
    assert problems([{"type": "divider"}] * 100, surface="modal") == []
    assert problems([{"type": "divider"}] * 101, surface="modal")


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
