"""What the demo's verifier does in Slack, and how it reads what both sides show."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cli.demo.setup import Installation
from cli.demo.verification import Result, Verifier
from shared.store.deliveries import Arrival, alert_id

INTERESTED = {"event": "reply.interested", "lead": {"email": "ada@lead.example"}, "sequence": "Clinics"}
PAUSED = {"event": "domain.paused", "domain": "useacme.example", "rate": 0.07}


class _Seen:
    """What the service and Slack would show: deliveries with their bodies, and messages with their alerts."""

    def __init__(self, *bodies: dict[str, Any], posts: list[tuple[dict[str, Any], float]]) -> None:
        self.announcement = {"slack_alert_channel": "C1"}
        self.bot = SimpleNamespace(restarts=0)
        self._bodies = bodies
        self._posts = posts

    async def service(self, path: str, body: object = None) -> dict[str, Any]:
        if path == "/summary":
            kinds = {"lead.bounced": 3, "reply.interested": 1, "domain.paused": 2}
            states = {"delivered": len(self._bodies)}
            deliveries = {"by_state": states, "by_kind": kinds}
            return {"worst_second": {}, "rate_limited": 0, "requests": 9, "deliveries": deliveries}
        kind = path.rpartition("=")[2]
        shown = [
            {"body": json.dumps(one), "state": "delivered", "first_sent": 100.0 + place}
            for place, one in enumerate(self._bodies)
            if one["event"] == kind
        ]
        return {"data": shown}

    async def slack(self, path: str, body: object = None) -> dict[str, Any]:
        messages = []
        for place, (about, edited) in enumerate(self._posts):
            alert = alert_id(Arrival(workspace="default", body=json.dumps(about).encode(), at=0.0).dkey)
            metadata = {"event_payload": {"alert_id": alert}}
            messages.append(
                {"channel": "C1", "ts": f"{place}", "text": "", "posted_at": 110.0, "metadata": metadata}
                | ({"edited": {"ts": str(edited)}} if edited else {})
            )
        return {"messages": messages}


async def _result(seen: _Seen, monkeypatch: pytest.MonkeyPatch) -> Result:
    monkeypatch.setattr("cli.demo.verification.SETTLE_SECONDS", 0.0)
    return await Verifier(cast("Installation", seen)).close()


@pytest.mark.parametrize(
    ("bodies", "cards", "lost", "doubled"), [((INTERESTED, PAUSED), 1, 1, 0), ((INTERESTED,), 2, 0, 1)]
)
async def test_an_alert_without_a_card_is_lost_and_one_with_two_is_doubled(
    bodies: tuple[dict[str, Any], ...], cards: int, lost: int, doubled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = await _result(_Seen(*bodies, posts=[(INTERESTED, 0)] * cards), monkeypatch)
    assert (result.lost, result.doubled, result.passed) == (lost, doubled, False)


async def test_a_second_pause_on_the_domains_own_card_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    again = PAUSED | {"rate": 0.08}
    edited = await _result(_Seen(PAUSED, again, posts=[(PAUSED, 120.0)]), monkeypatch)
    assert edited.passed
    assert "1 on the card of the same domain" in "\n".join(edited.lines)
    # The card was never edited: nobody was told of the second pause.
    left = await _result(_Seen(PAUSED, again, posts=[(PAUSED, 0)]), monkeypatch)
    assert left.lost == 1


async def test_an_event_about_nobody_ends_no_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = INTERESTED | {"lead": None}
    assert (await _result(_Seen(nobody, posts=[(nobody, 0)]), monkeypatch)).passed
