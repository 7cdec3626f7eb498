"""What changed between two polls, in as few lines as tell it."""

from __future__ import annotations

from dataclasses import replace

from shared.domain.snapshot import Snapshot
from tests.tui.accounts import NOW, account
from tui.model.changes import MOST, between, stops_sending


def recovering(before: Snapshot) -> Snapshot:
    boxes = tuple(
        replace(box, status="warming") if box.status == "resting" else box
        for box in before.inboxes.value or ()
    )
    return replace(before, inboxes=replace(before.inboxes, value=boxes))


def test_inboxes_of_a_domain_that_rest_together_are_one_change() -> None:
    before = account()
    awake = tuple(replace(box, status="active") for box in before.inboxes.value or ())
    before = replace(before, inboxes=replace(before.inboxes, value=awake))
    resting = tuple(
        replace(box, status="resting") if box.domain == "useacme.example" else box for box in awake
    )
    one = tuple(replace(box, status="resting") if box is awake[1] else box for box in awake)
    after = replace(before, inboxes=replace(before.inboxes, value=resting))
    assert [(line.subject, line.text) for line in between(before, after, at=NOW)] == [
        ("useacme.example", "paused (6 inboxes)")
    ]
    assert [line.text for line in between(after, recovering(after), at=NOW)] == ["recovers (6 inboxes)"]
    some = tuple(replace(box, status="resting") if n in {0, 4} else box for n, box in enumerate(awake))
    after = replace(before, inboxes=replace(before.inboxes, value=some))
    texts = {line.subject: line.text for line in between(before, after, at=NOW)}
    assert texts["useacme.example"] == "2 inboxes → resting"
    after = replace(before, inboxes=replace(before.inboxes, value=one))
    assert [line.subject for line in between(before, after, at=NOW)] == [awake[1].email]


def test_a_paused_domain_comes_before_any_number_of_changes_of_health() -> None:
    before = account(inboxes=240)
    inboxes = tuple(
        replace(box, status="resting") if box.domain == "acmehq.example" else replace(box, health_score=10.0)
        for box in before.inboxes.value or ()
    )
    found = between(before, replace(before, inboxes=replace(before.inboxes, value=inboxes)), at=NOW)
    assert len(found) == MOST
    assert found[0].subject == "acmehq.example"
    assert stops_sending(found[0])
