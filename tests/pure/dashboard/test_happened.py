"""Marks of what happened."""

from __future__ import annotations

from datetime import timedelta

from shared.domain_health.report import CheckReport, Code, DomainChange, Value
from shared.records import Actor, AuditEntry, DomainIncident, PeriodRecords, Transition
from tests.kit.snapshots import NOW, fired
from tui.model.happened import MarkKind, of_dns, of_incidents, of_period, of_transitions, together

MINUTE = timedelta(minutes=1)


def change(
    kind: str, key: str, before: str, after: str, *, field: str = "status", minutes: float = 0
) -> Transition:
    return Transition(
        at=NOW + minutes * MINUTE, kind=kind, key=key, label=key, field=field, before=before, after=after
    )


def period() -> PeriodRecords:
    def entry(effect: str, minutes: int) -> AuditEntry:
        return AuditEntry(
            at=NOW + minutes * MINUTE,
            actor=Actor(name="Ann"),
            workspace="acme",
            command="pause",
            result="",
            effect=effect,  # type: ignore[arg-type] # one of those
            sequences=("sq_1",),
            reason="bounces" if effect == "paused" else "",
        )

    incidents = (
        DomainIncident(at=NOW, text="The service paused useacme.example", domain="useacme.example"),
        DomainIncident(at=NOW, text="12 bounces in an hour"),
    )
    changes = (entry("paused", 0), entry("failed", 1), entry("resumed", 30))
    return PeriodRecords(changes=changes, incidents=incidents, lost=[NOW])


def test_inboxes_of_a_domain_that_stop_together_are_one_mark() -> None:
    found = [
        *of_transitions(
            (
                change("inbox", "ann@useacme.example", "active", "resting"),
                change("inbox", "ben@useacme.example", "warming", "resting"),
                change("inbox", "eve@tryacme.example", "active", "resting"),
                change("inbox", "ann@useacme.example", "healthy", "bad", field="health"),
                change("inbox", "ann@useacme.example", "active", "warming"),
                change("inbox", "ann@useacme.example", "resting", "warming", minutes=9),
                change("sequence", "sq_1", "active", "paused", minutes=-5),
            )
        )
    ]
    assert [(one.kind, one.subject) for one in found] == [
        (MarkKind.SENDING, "ann@useacme.example"),
        (MarkKind.STOPPED, "useacme.example"),
        (MarkKind.STOPPED, "eve@tryacme.example"),
        (MarkKind.PAUSED, "sq_1"),
    ]
    assert found[1].text == "2 inboxes stopped sending"


def test_what_the_bot_recorded_names_its_author_and_is_not_noticed_again() -> None:
    recorded = [*of_period(period(), names={"sq_1": "Fintech ops leaders"})]
    assert [(one.kind, one.subject, one.text) for one in recorded] == [
        (MarkKind.PAUSED, "Fintech ops leaders", "paused by Ann: bounces"),
        (MarkKind.RESUMED, "Fintech ops leaders", "resumed by Ann"),
        (MarkKind.STOPPED, "useacme.example", "The service paused useacme.example"),
        (MarkKind.LOST_REPLY, "A reply", "was found by polling: its webhook never arrived"),
    ]
    # A poll sees an act minutes later: that is the same change, but not one before it, much later or elsewhere.
    noticed = [
        *of_transitions(
            (
                change("sequence", "sq_1", "active", "paused", minutes=4),
                change("sequence", "sq_1", "active", "paused", minutes=-1.5),
                change("sequence", "sq_1", "active", "paused", minutes=20.5),
                change("sequence", "sq_2", "active", "paused", minutes=4),
            )
        )
    ]
    all_marks = together(recorded, noticed)
    assert [one for one in all_marks if one not in recorded] == [noticed[3], noticed[2], noticed[0]]
    assert list(all_marks) == sorted(all_marks, key=lambda one: one.at)


def test_confirmed_breaks_of_dns_are_marks_and_so_is_their_end() -> None:
    def check(value: Value, *, confirmed: bool = True) -> CheckReport:
        code: Code = "missing" if value == "problem" else "fine"
        return CheckReport(check="dmarc", value=value, code=code, confirmed=confirmed)

    def dns(before: CheckReport, after: CheckReport, minutes: int) -> DomainChange:
        at = NOW + minutes * MINUTE
        return DomainChange(domain="useacme.example", check="dmarc", at=at, before=before, after=after)

    good, broken, silent = check("good"), check("problem"), check("unknown")
    found = of_dns(
        (
            dns(good, broken, 1),
            dns(good, check("problem", confirmed=False), 2),
            dns(good, silent, 3),
            dns(silent, good, 4),
            dns(broken, good, 9),
        )
    )
    assert [(one.at, one.kind, one.text) for one in found] == [
        (NOW + MINUTE, MarkKind.DNS_BROKEN, "DMARC: no record"),
        (NOW + 9 * MINUTE, MarkKind.DNS_GOOD, "DMARC: good again"),
    ]


def test_guardrails_that_fired_are_marks() -> None:
    incidents = (fired(label=label, note=note) for label, note in (("Webinar", "12 bounces"), ("", "")))
    found = [(mark.at, mark.kind, mark.subject, mark.text, mark.about) for mark in of_incidents(incidents)]
    assert found == [
        (NOW, MarkKind.GUARDRAIL, "Webinar", "guardrail many: 12 bounces", "sq_1"),
        (NOW, MarkKind.GUARDRAIL, "sq_1", "guardrail many", "sq_1"),
    ]
