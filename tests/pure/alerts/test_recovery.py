"""A domain that is paused, rests, warms up and is well again: the card, its thread, and what was yesterday."""

from __future__ import annotations

import pytest

from bot import cards
from shared.api.models import Inbox
from shared.domain.health import DEFAULT

ADDRESS = "sam@getacme.example"


def inbox(status: str | None, health: float | None = 90.0) -> Inbox:
    return Inbox(email=ADDRESS, health_score=health, daily_limit=40, status=status)


def stages(*days: tuple[Inbox, ...]) -> list[str]:
    """The stage at each look."""
    before = cards.Standing()
    found = []
    for inboxes in days:
        before = cards.seen(inboxes, before=before, thresholds=DEFAULT)
        found.append(before.stage)
    return found


def test_a_domain_rests_sends_again_and_recovers() -> None:
    rests, warms, well = inbox("resting"), inbox("warming"), inbox("active")
    assert stages((rests,), (rests, warms), (warms,), (warms, well), (well,)) == [
        "", "", "sending", "sending", "recovered",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "seen", [inbox("active", 50.0), inbox("active", None), inbox(None), inbox("warming")]
)
def test_a_domain_is_not_well_again_before_all_of_it_is_known_to_be(seen: Inbox) -> None:
    assert stages((inbox("resting"),), (seen,))[-1] == "sending"


def test_a_late_report_of_resting_inboxes_is_no_recovery() -> None:
    assert stages((inbox("active"),), (inbox("resting"),), (inbox("active"),)) == ["", "", "recovered"]
    assert stages((inbox("active", 62.0),), (inbox("active", 62.0),)) == ["", ""]
    assert stages((), ()) == ["", ""]
