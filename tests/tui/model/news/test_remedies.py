"""What to do about an alarm, by what is known."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from shared.domain.card import Tone
from shared.domain.failures import RATE_LIMITED, REJECTED, UNREACHABLE, UNREADABLE
from shared.records.domains import DomainPast
from tests.tui.accounts import NOW, account, board_of
from tui.model.news.alarms import Alarm
from tui.model.news.remedies import Remedy, remedy_of
from tui.model.workspace.board import Board

DOMAIN = "useacme.example"
LONG_AGO = NOW - timedelta(days=60)


def alarm(kind: str = "paused", *, where: str = DOMAIN, recovered_at: datetime | None = None) -> Alarm:
    return Alarm(
        key=f"domain {where}",
        kind=kind,
        where=where,
        text="paused, 7 inboxes not sending",
        extent=7,
        since=NOW - timedelta(hours=3),
        recovered_at=recovered_at,
    )


def the_board() -> Board:
    return board_of(account())


def remedy(past: DomainPast | None, *, of: Alarm | None = None) -> Remedy:
    return remedy_of(of or alarm(), board=the_board(), past=past, now=NOW)


def facts(found: Remedy) -> dict[str, str]:
    return {label: value for label, value, _ in found.facts}


def names_by_status(status: str) -> list[str]:
    return [line.sequence.label for line in the_board().sequences if line.sequence.status == status]


def test_active_sequences_that_used_the_domain_are_paused_by_one_key() -> None:
    active, paused = names_by_status("active"), names_by_status("paused")
    found = remedy(
        DomainPast(known_from=LONG_AGO, sequences=(*(name.upper() for name in active[:2]), *paused, "Gone"))
    )
    assert [one.label for one in found.sequences] == active[:2]
    assert found.steps[0].act == "pause"
    assert found.steps[0].text == f"pause the 2 active sequences that used it: {', '.join(active[:2])}"
    assert (found.steps[1].act, found.steps[1].text) == ("open", f"open {DOMAIN}")


def test_cause_bounce_rate_and_rest_are_named() -> None:
    board = the_board()
    sends = [line.stats.sends or 0 for line in board.inboxes if line.inbox.domain == DOMAIN and line.stats]
    found = facts(remedy(DomainPast(reason="bounce rate", bounced=31, opted_out=2, known_from=LONG_AGO)))
    assert found["Cause"] == "bounce rate, says the service"
    assert f"(31 of {sum(sends):,} sends)" in found["Bounces"]
    assert found["Bounces"].endswith("and 2 opt-outs in 30 days")
    assert found["Rest"].startswith("7 inboxes at rest, since ")
    assert found["Rest"].endswith("(3 h)")
    assert found["Do"].startswith("verify the addresses")


def test_what_no_bot_recorded_is_unknown_and_never_none() -> None:
    found = remedy(None)
    assert facts(found)["Bounces"].startswith("unknown")
    assert "unknown" in facts(found)["Sequences"]
    assert found.sequences == ()
    assert [step.act for step in found.steps] == ["open"]


def test_a_rate_is_only_of_a_time_of_which_every_bounce_is_known() -> None:
    found = facts(remedy(DomainPast(bounced=3, known_from=NOW - timedelta(days=2))))
    assert found["Bounces"].startswith("3 bounces and 0 opt-outs since ")
    assert "%" not in found["Bounces"]
    assert found["Sequences"].startswith("none was seen sending from it since ")


def test_an_alarm_that_recovered_offers_nothing_to_pause() -> None:
    gone = alarm(recovered_at=NOW - timedelta(hours=1))
    found = remedy(DomainPast(known_from=LONG_AGO, sequences=tuple(names_by_status("active"))), of=gone)
    assert found.sequences == ()
    assert facts(found)["Rest"].endswith("after 2 h")


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (REJECTED, "OUTREACH_API_KEY"),
        (RATE_LIMITED, "OUTREACH_RATE"),
        (UNREADABLE, "OUTREACH_BASE_URL"),
        (UNREACHABLE, "outreach doctor"),
        ("The service returned an error (500)", "outreach doctor"),
    ],
)
def test_a_failure_of_the_service_has_its_own_cure(cause: str, words: str) -> None:
    found = remedy(None, of=replace(alarm(cause, where=""), text=cause))
    assert words in facts(found)["Do"]
    assert [step.act for step in found.steps] == ["refresh"]


def test_a_guardrail_of_a_sequence_offers_to_pause_it() -> None:
    (name, *_) = names_by_status("active")
    found = remedy(None, of=alarm("guardrail", where=name))
    assert [one.label for one in found.sequences] == [name]
    assert [step.act for step in found.steps] == ["pause", "guardrails"]
    assert found.facts[0][2] is Tone.INFO


def test_a_guardrail_of_a_domain_offers_to_open_it() -> None:
    assert [step.act for step in remedy(None, of=alarm("guardrail")).steps] == ["open", "guardrails"]
