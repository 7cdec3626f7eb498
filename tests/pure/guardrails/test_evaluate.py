"""Where a rule holds: windows, thresholds, exceptions, doubts; what is shown of its distance."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

from shared.domain.wall_clock import DAY
from shared.guardrails.activity import Activity
from shared.guardrails.evaluate import doubt, evaluate, holding
from shared.guardrails.rule import parse
from shared.records import CountSample, Happening

NOW = datetime(2026, 3, 10, 14, 30, tzinfo=UTC).timestamp()
TODAY = int(NOW // DAY)
BOUNCES = parse("pause sequence when bounces > 5% of at least 50 sends in 24h")


def bounces(
    count: int, *, sequence: str = "Q3", inbox: str = "a@acme.com", hours: float = 1
) -> list[Happening]:
    return [
        Happening(at=NOW - hours * 3600 + n, kind="lead.bounced", sequence=sequence, inbox=inbox)
        for n in range(count)
    ]


def sent(count: int, *, key: str = "Q3", scope: str = "sequence", **more: Any) -> list[CountSample]:
    """So many sends today before noon, and readings every five minutes since yesterday."""
    return [CountSample(scope=scope, key=key, day=TODAY, at=NOW - 7200, sends=count, **more)]


def polls(*, until: float = NOW, hours: float = 48, every: float = 300) -> list[CountSample]:
    count = int(hours * 3600 / every)
    return [
        CountSample(scope="poll", key="", day=int((until - n * every) // DAY), at=until - n * every)
        for n in range(count)
    ][::-1]


def activity(happenings: Iterable[Happening] = (), samples: Iterable[CountSample] = ()) -> Activity:
    found = Activity()
    found.add(happenings, samples)
    return found


@pytest.mark.parametrize(
    ("count", "sends", "holds"), [(6, 100, True), (3, 50, True), (5, 100, False), (5, 49, False)]
)
def test_a_rate_holds_above_its_share_of_enough_sends(count: int, sends: int, *, holds: bool) -> None:
    assert bool(holding(BOUNCES, activity(bounces(count), sent(sends)), now=NOW)) is holds


def test_sparse_readings_count_more_sends_rather_than_too_few() -> None:
    """Yesterday is known as a whole day only: all of it counts, so that no rate is shown higher than it was."""
    yesterday = CountSample(scope="sequence", key="Q3", day=TODAY - 1, at=TODAY * DAY, sends=900)
    assert holding(BOUNCES, activity(bounces(8), [yesterday, *sent(100)]), now=NOW) == []
    (one,) = holding(BOUNCES, activity(bounces(51), [yesterday, *sent(100)]), now=NOW)
    assert one.note.startswith("51 bounces in 1,000 sends")


def test_a_domain_sums_its_inboxes_and_a_workspace_its_sequences() -> None:
    inboxes = [*sent(60, key="a@acme.com", scope="inbox"), *sent(60, key="b@ACME.com", scope="inbox")]
    known = activity(bounces(4) + bounces(4, inbox="b@acme.com"), [*inboxes, *sent(120)])
    for subject, rule in (("acme.com", "domain"), ("workspace", "workspace")):
        (one,) = holding(
            parse(f"pause {rule} when bounces > 5% of at least 100 sends in 24h"), known, now=NOW
        )
        assert (one.subject, one.note[:24]) == (subject, "8 bounces in 120 sends (")


def test_exceptions_are_left_out() -> None:
    known = activity(bounces(9) + bounces(9, sequence="VIP"), [*sent(100), *sent(100, key="VIP")])
    rule = parse(f'{BOUNCES}, except "vip"')
    assert [one.label for one in holding(rule, known, now=NOW)] == ["Q3"]
    only = parse('pause sequence "VIP" when bounces > 5% of at least 50 sends in 24h')
    assert [one.label for one in holding(only, known, now=NOW)] == ["VIP"]
    assert holding(parse(f"{BOUNCES}, except 14:00-15:00 UTC"), known, now=NOW) == []


def test_silence_needs_enough_sends_and_not_one_reply() -> None:
    rule = parse("tell when no replies after 200 sends in 7d")
    assert evaluate(rule, activity((), sent(200)), now=NOW)
    assert not evaluate(rule, activity((), sent(199)), now=NOW)
    assert not evaluate(rule, activity((), sent(500, replies=1)), now=NOW)


SILENCE = parse("notify about sequence when no replies after 50 sends in 24h")


def test_replies_that_the_service_left_out_are_not_missing() -> None:
    assert holding(SILENCE, activity(samples=sent(100)), now=NOW)
    # What the service leaves out is unknown and no zero.
    assert evaluate(SILENCE, activity(samples=sent(100, replies=None)), now=NOW) == []
    rate = parse("notify about sequence when replies < 1% of at least 50 sends in 24h")
    assert evaluate(rate, activity(samples=sent(100, replies=None)), now=NOW) == []


def test_a_domain_is_unknown_where_one_of_its_inboxes_is() -> None:
    whole = parse("pause domain when bounces > 5% of at least 50 sends in 24h")
    inboxes = sent(60, key="a@acme.com", scope="inbox")
    assert holding(whole, activity(bounces(8), inboxes), now=NOW)
    left_out = CountSample(scope="inbox", key="b@acme.com", day=TODAY, at=NOW - 7200, sends=None)
    assert evaluate(whole, activity(bounces(8), [*inboxes, left_out]), now=NOW) == []


def test_a_rate_is_below_its_baseline_only_where_chance_is_unlikely() -> None:
    rule = parse("tell when positive replies < 50% of baseline over at least 200 sends in 7d")

    def known(now_positive: int, sends: int) -> Activity:
        past = [
            CountSample(
                scope="sequence", key="Q3", day=TODAY - n, at=(TODAY - n + 1) * DAY, sends=100, positive=4
            )
            for n in range(9, 30)
        ]
        return activity((), [*past, *sent(sends, positive=now_positive)])

    assert evaluate(rule, known(1, 250), now=NOW)
    assert not evaluate(rule, known(4, 250), now=NOW), "chance could do that"
    assert not evaluate(rule, known(12, 250), now=NOW)


def test_health_below_a_score_and_falling() -> None:
    def health(days: float, score: float, inbox: str = "a@acme.com") -> CountSample:
        at = NOW - days * DAY
        return CountSample(scope="health", key=inbox, day=int(at // DAY), at=at, health=score)

    known = activity((), [health(5, 90), health(2, 80), health(1, 70), health(5, 95, "b@acme.com")])
    low = evaluate(parse("notify about inbox when health < 75"), known, now=NOW)
    assert [(one.label, one.note) for one in low] == [("a@acme.com", "health 70. Limit: 75")]
    (fall,) = evaluate(parse("notify about domain when health falls 20 in 3d"), known, now=NOW)
    assert (fall.subject, fall.note) == ("acme.com", "health fell by 20 in 3 days. Limit: 20")


def test_a_rule_doubts_what_is_stale_or_has_a_gap() -> None:
    assert doubt(BOUNCES, activity(), now=NOW) == "the bot has not read the service yet"
    assert doubt(BOUNCES, activity((), polls()), now=NOW) == ""
    assert doubt(BOUNCES, activity((), polls(until=NOW - 1000)), now=NOW).startswith(
        "the bot last read the service on"
    )
    gap = activity((), [*polls(until=NOW - 5 * 3600, hours=20), *polls(hours=2)])
    assert doubt(BOUNCES, gap, now=NOW) == "the bot has no data from 10 Mar 09:30 UTC to 10 Mar 12:35 UTC"
    hour = parse("pause sequence when bounces > 5% of at least 50 sends in 1h")
    assert doubt(hour, gap, now=NOW) == ""  # the gap is before its window


def test_a_rate_is_of_events_and_sends_since_the_first_delivery() -> None:
    day = [
        CountSample(scope="sequence", key="Q3", day=TODAY, at=NOW - hours * 3600, sends=sends)
        for hours, sends in ((6, 900), (2, 900), (1, 960), (0, 1000))
    ]
    known = activity(bounces(6), [*day, *polls()])
    known.heard_since = NOW - 2 * 3600
    (one,) = evaluate(BOUNCES, known, now=NOW)
    assert one.note == "6 bounces in 100 sends (6.0%) in the 2 h since the first delivery. Limit: 5%"


def test_a_rate_that_holds_whatever_is_unknown_of_the_first_day_holds() -> None:
    """The day began with 1,200 sends; the bounces came at once with the first delivery, an hour ago."""
    day = [
        CountSample(scope="sequence", key="Q3", day=TODAY, at=NOW - hours * 3600, sends=1200)
        for hours in (1, 0.5, 0)
    ]
    known = activity(bounces(91), [*day, *polls()])
    known.heard_since = NOW - 3600
    (one,) = evaluate(BOUNCES, known, now=NOW)
    assert one.note == "91 bounces in 1,200 sends (7.6%) in 24 h. Limit: 5%"
    few = activity(bounces(50), [*day, *polls()])
    few.heard_since = NOW - 3600
    assert not evaluate(BOUNCES, few, now=NOW), "50 of 1,200 are 4.2%"


def test_no_rate_of_events_is_known_before_the_first_delivery() -> None:
    known = activity((), sent(100))
    # Bounces are known by deliveries alone: before the first one, none counted is not none.
    known.heard_since = float("inf")
    assert evaluate(BOUNCES, known, now=NOW) == []
