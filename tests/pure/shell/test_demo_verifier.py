"""How the demo compares what both sides show."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from cli import demo
from cli.demo import Installation, Result, verify
from shared.store.deliveries import Arrival, alert_id

INTERESTED = {"event": "reply.interested", "lead": {"email": "ada@lead.example"}, "sequence": "Clinics"}
PAUSED = {"event": "domain.paused", "domain": "useacme.example", "rate": 0.07}
COUNTED = {"worst_second": {}, "rate_limited": 0, "requests": 9, "deliveries": {"by_state": {"delivered": 1}}}


class _Seen:
    """What the service and Slack would show: deliveries with their bodies, and messages with their alerts."""

    restarts, timed_from = 0, 0.0

    def __init__(self, bodies: tuple[dict[str, Any], ...], posts: list[tuple[dict[str, Any], float]]) -> None:
        self._bodies, self._posts = bodies, posts

    async def service(self, path: str, body: object = None) -> dict[str, Any]:
        kind = path.rpartition("=")[2]
        shown = [
            {"body": json.dumps(body), "state": "delivered", "first_sent": 100.0 + place}
            for place, body in enumerate(self._bodies)
            if body["event"] == kind
        ]
        return COUNTED if path == "/summary" else {"data": shown}

    async def alerts(self) -> list[dict[str, Any]]:
        messages = []
        for place, (about, edited) in enumerate(self._posts):
            alert = alert_id(Arrival(workspace="default", body=json.dumps(about).encode(), at=0.0).dkey)
            about_it = {"ts": str(place), "text": "", "posted_at": 110.0, "edited": {"ts": str(edited)}}
            messages.append({**about_it, "metadata": {"event_payload": {"alert_id": alert}}})
        return messages


async def verified(
    patch: pytest.MonkeyPatch, *bodies: dict[str, Any], posts: list[tuple[dict[str, Any], float]]
) -> Result:
    patch.setattr(demo, "SETTLE_SECONDS", 0.0)
    return await verify(cast("Installation", _Seen(bodies, posts)))


NOBODY = INTERESTED | {"lead": None}
AGAIN = PAUSED | {"rate": 0.08}


@pytest.mark.parametrize(
    ("bodies", "posts", "lost", "doubled"),
    [
        ((INTERESTED, PAUSED), [(INTERESTED, 0)], 1, 0),
        ((INTERESTED,), [(INTERESTED, 0), (INTERESTED, 0)], 0, 1),
        # A second pause is told by an edit of the domain's card, and by nothing where the card was never edited.
        ((PAUSED, AGAIN), [(PAUSED, 120.0)], 0, 0),
        ((PAUSED, AGAIN), [(PAUSED, 0)], 1, 0),
        # An event that somebody typed is about nobody.
        ((NOBODY,), [(NOBODY, 0)], 0, 0),
    ],
)
async def test_an_alert_without_a_card_is_lost_and_one_with_two_is_doubled(
    monkeypatch: pytest.MonkeyPatch,
    bodies: tuple[dict[str, Any], ...],
    posts: list[tuple[dict[str, Any], float]],
    lost: int,
    doubled: int,
) -> None:
    result = await verified(monkeypatch, *bodies, posts=posts)
    assert (result.lost, result.doubled) == (lost, doubled)
