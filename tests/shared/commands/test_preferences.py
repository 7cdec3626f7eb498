"""`preferences` as it is typed."""

from __future__ import annotations

import pytest

from shared.commands import UsageError, parse
from shared.commands.preferences import Preferences


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("", Preferences()),
        ("message", Preferences(notify="message")),
        ("mention quiet 8pm-8am", Preferences(notify="mention", quiet="20:00-08:00")),
        ("quiet off", Preferences(quiet="off")),
        ("digest weekdays at 9", Preferences(digest="weekdays 09:00")),
        (
            "nothing quiet 20:00-08:00 digest mon,thu 08:30 Europe/Berlin",
            Preferences(notify="nothing", quiet="20:00-08:00", digest="mon,thu 08:30 Europe/Berlin"),
        ),
        ("digest off", Preferences(digest="off")),
        ("forget", Preferences(forget=True)),
    ],
)
def test_preferences_are_read_and_written(typed: str, meant: Preferences) -> None:
    found = parse(f"preferences {typed}")
    assert found.arguments == meant
    assert parse(meant.line).arguments == meant


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("shout", "“shout” isn't an option here"),
        ("quiet", "Which quiet hours?"),
        ("quiet nights", "“nights” aren't quiet hours"),
        ("quiet 20:00-20:00", "“20:00-20:00” aren't quiet hours"),
        ("digest", "When should it come?"),
        ("digest sometimes", "“sometimes” isn't a day"),
        ("forget me", "“me” isn't expected here"),
    ],
)
def test_what_is_not_understood_is_named(typed: str, why: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(f"preferences {typed}")
    assert why in refused.value.card.title
