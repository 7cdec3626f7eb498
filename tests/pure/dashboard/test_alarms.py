"""The life of an alarm, from the moment something is wrong until it was acknowledged and has recovered."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.api.errors import (
    NoResponse,
    OutreachError,
    RateLimited,
    ServiceBroken,
    Unauthorized,
    Unreachable,
    Unreadable,
)
from shared.domain.snapshot import RATE_LIMITED, REJECTED, SLOW, UNREACHABLE, UNREADABLE, cause_of
from shared.domain.workspace_verdict import GUARDRAIL, Condition
from shared.records import DomainPause
from tests.kit.snapshots import NOW
from tui.model.alarms import (
    Alarm,
    Update,
    acknowledged,
    since_words,
    start_of,
    update,
)
from tui.model.happened import Mark, MarkKind

PAUSED = Condition(kind="paused", where="a.example", text="paused, 7 inboxes not sending", extent=7)
BAD = Condition(kind="bad", where="a.example", text="1 bad, lowest 42", extent=1)
MINUTE = timedelta(minutes=1)


def look(*conditions: Condition, after: Update | None = None, minutes: float = 0) -> Update:
    return update(after.alarms if after else (), conditions, now=NOW + minutes * MINUTE)


def only(found: Update) -> Alarm:
    (alarm,) = found.alarms
    return alarm


def test_the_life_of_an_alarm() -> None:
    now, bad, paused = Update((), ()), "a.example 1 bad, lowest 42", "a.example paused, 7 inboxes not sending"
    for minutes, condition, raised, told in (
        (0, BAD, 1, f"{bad} since 14:32"),
        (5, BAD, 0, f"{bad} since 14:32"),
        (10, PAUSED, 0, f"{paused} since 14:42"),
        (15, None, 0, f"{paused} since 14:42, gone since 14:47"),
        (15.4, PAUSED, 0, f"{paused} since 14:42"),
        (30, BAD, 0, f"{bad} since 15:02"),
        (40, None, 0, f"{bad} since 15:02, gone since 15:12"),
        (40.5, None, 0, ""),
        (60, BAD, 1, f"{bad} since 15:32"),
    ):
        now = look(*filter(None, [condition]), after=now, minutes=minutes)
        assert len(now.raised) == raised
        assert "".join(alarm.told(NOW) for alarm in now.alarms) == told


def test_problems_at_the_start_are_shown_without_the_bell() -> None:
    rested = Mark(
        at=NOW - 90 * MINUTE, kind=MarkKind.STOPPED, subject="ann@a.example", text="", about="a.example"
    )
    marks = [rested, replace(rested, at=NOW, about="c.example")]
    found = update((), (PAUSED, replace(BAD, where="b.example")), now=NOW, first_look=True, changes=marks)
    # Who starts the dashboard sees what is wrong; a bell for each would call for nothing new.
    assert found.raised == ()
    assert {one.where: since_words(one.condition, now=NOW) for one in found.alarms} == {
        "a.example": "13:02",
        "b.example": "before 14:32",
    }


@pytest.mark.parametrize(
    "worse",
    [
        PAUSED,
        replace(BAD, kind="resting", text="1 resting"),
        replace(BAD, text="2 bad, lowest 42", extent=2),
    ],
)
def test_an_acknowledged_alarm_comes_back_when_it_is_worse(worse: Condition) -> None:
    seen = look(BAD)
    seen = seen._replace(alarms=acknowledged(seen.alarms, {only(seen).key}, at=NOW))
    assert not only(look(BAD, after=seen, minutes=1)).is_new
    again = look(worse, after=seen, minutes=2)
    assert only(again).is_new
    assert again.raised == again.alarms


def test_what_comes_back_within_half_a_minute_was_never_gone() -> None:
    seen = look(PAUSED)
    seen = seen._replace(alarms=acknowledged(seen.alarms, {only(seen).key}, at=NOW))
    gone = look(after=seen, minutes=10)
    raised = [len(look(PAUSED, after=gone, minutes=10 + n / 60).raised) for n in (29, 30, 31)]
    assert raised == [0, 1, 1]


def test_a_guardrail_that_fired_minutes_ago_raises_nothing() -> None:
    fired = Condition(kind=GUARDRAIL, where="bounces-5", text="fired")
    raised = [len(look(replace(fired, began=NOW - minutes * MINUTE)).raised) for minutes in (0, 5, 5.1)]
    assert raised == [1, 1, 0]
    assert len(look(replace(PAUSED, began=NOW - 60 * MINUTE)).raised) == 1


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (Unauthorized(status=401), REJECTED),
        (RateLimited(retry_after=3, status=429), RATE_LIMITED),
        # A proxy's page with 200: an answer, though none of the service.
        (ServiceBroken(status=200), UNREADABLE),
        (Unreadable(), UNREADABLE),
        (ServiceBroken(status=503), "The service returned an error (503)"),
        (Unreachable(), UNREACHABLE),
        (NoResponse(), SLOW),
    ],
)
def test_only_a_missing_answer_is_called_unreachable(error: OutreachError, cause: str) -> None:
    assert cause_of(error) == cause


def test_a_recorded_pause_began_when_the_service_said_so() -> None:
    for minutes in (9, -9):
        recorded = {"a.example": DomainPause(at=NOW - minutes * MINUTE)}
        found = start_of(PAUSED, now=NOW, first_look=True, changes=(), recorded=recorded)
        assert (found.since, found.is_older) == ((NOW - max(minutes, 0) * MINUTE).timestamp(), False)
        assert start_of(BAD, now=NOW, first_look=True, changes=(), recorded=recorded).is_older
