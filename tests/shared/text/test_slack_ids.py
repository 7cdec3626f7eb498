from __future__ import annotations

import pytest

from shared.text.slack_ids import bare, in_team, split_id
from shared.text.tokenize import parse_channel


def test_ids_have_their_team_in_front_only_with_several_teams() -> None:
    assert in_team("", "C1") == "C1"
    assert in_team("T1", "C1") == "T1/C1"
    assert in_team("T1", "") == ""
    assert in_team("T2", "T1/C1") == "T1/C1"
    assert split_id("T1/C1") == ("T1", "C1")
    assert split_id("C1") == ("", "C1")
    assert bare("T1/C1") == bare("C1") == "C1"


@pytest.mark.parametrize(
    ("text", "channel"),
    [
        ("<#T0123/C0123456|sales>", "T0123/C0123456"),
        ("T0123/C0123456", "T0123/C0123456"),
        ("<#C0123456>", "C0123456"),
        ("<#X0123/C0123456>", None),
        ("T0123/X0123456", None),
        ("T0123//C0123456", None),
    ],
)
def test_a_channel_may_name_its_team(text: str, channel: str | None) -> None:
    assert parse_channel(text) == channel
