"""Every failure is a card: what happened, why, what next, a reference."""

from __future__ import annotations

import pytest

from shared.api import errors
from shared.commands.errors import error_card
from shared.domain.card import Tone
from shared.records import RecordsUnavailable

ALL = [
    errors.Unauthorized(endpoint="GET /sequences", status=401, code="unauthorized"),
    errors.NotFound(endpoint="PATCH /sequences/sq_1", status=404),
    errors.InvalidRequest("email is missing", field="email", status=400),
    errors.RateLimited(retry_after=3.2),
    errors.Unreachable(hint="(no route)"),
    errors.ServiceBroken(status=502),
    errors.Uncertain(endpoint="POST /leads"),
    errors.Unreadable("no id", hint='[fields.inbox] email = "…"'),
    errors.OutreachError("odd"),
    RecordsUnavailable("the database is gone"),
    ValueError("internal detail"),
]


@pytest.mark.parametrize("error", ALL, ids=lambda error: type(error).__name__)
def test_a_failure_says_what_why_and_what_next(error: Exception) -> None:
    card = error_card(error, "ref-1")
    assert card.tone is Tone.BAD
    assert all(card.text)
    assert not any(line.startswith(card.title) for line in card.text)
    assert "ref-1" in card.footer
