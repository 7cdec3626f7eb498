"""Deliveries: the signature, and what they say."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.events import Event, Unknown, read_event, sign, signature_matches
from shared.api.words import EVENT_KINDS


@pytest.mark.parametrize(
    ("payload", "field", "value"),
    [
        ({"event": "reply.ooo", "return_date": "2026-03-02"}, "return_date", "2026-03-02"),
        (
            {"event": "reply.ooo", "reply": {"text": "Away", "return_date": "2026-03-02"}},
            "return_date",
            "2026-03-02",
        ),
        ({"event": "reply.ooo", "reply": {"text": "Away", "return_date": "2026-03-02"}}, "reply", "Away"),
        ({"event": "lead.bounced", "bounce_type": "Hard", "reason": "550"}, "bounce_type", "hard"),
        ({"event": "lead.bounced", "bounce": {"type": "soft", "reason": "full"}}, "reason", "full"),
        ({"event": "domain.paused", "domain": "mail.example", "reason": "bounces"}, "domain", "mail.example"),
        ({"event": "domain.paused", "domain": {"name": "mail.example"}}, "domain", "mail.example"),
        ({"type": "lead.replied", "data": {"sequence": {"id": "sq_1", "name": "Q4"}}}, "sequence", "Q4"),
        ({"event": "lead.replied", "step": {"number": "3"}}, "step", 3),
        ({"event": "lead.replied", "inbox": {"email": "a@b.c", "id": "ib_1"}}, "inbox", "a@b.c"),
    ],
)
def test_what_the_document_does_not_show_is_found_where_it_is_likely(
    payload: dict[str, Any], field: str, value: object
) -> None:
    event = read_event(json.dumps(payload).encode())
    assert getattr(event, field) == value


@pytest.mark.parametrize("kind", [*EVENT_KINDS, "lead.sneezed"])
def test_every_kind_is_an_event_known_or_not_with_nothing_beside(kind: str) -> None:
    event = read_event(json.dumps({"event": kind}).encode())
    assert isinstance(event, Event)
    assert event.kind == kind
    assert (event.lead.name, event.sequence, event.reply) == ("", None, None)


@given(st.binary(max_size=64) | st.text(max_size=64).map(str.encode))
def test_no_body_at_all_brings_the_reader_down(body: bytes) -> None:
    assert isinstance(read_event(body), (Event, Unknown))


def test_text_that_no_database_takes_is_mended() -> None:
    # PostgreSQL takes no U+0000 in a text, and UTF-8 has no half of a pair.
    event = read_event(b'{"event": "lead.replied", "reply": "a\\u0000b\\ud800c \\ud83d\\ude00"}')
    assert isinstance(event, Event)
    assert event.reply == "ab\ufffdc 😀"
    event.reply.encode()


@given(st.binary(max_size=200), st.text(min_size=1, max_size=20))
def test_the_signature_is_the_one_of_the_document(body: bytes, secret: str) -> None:
    try:
        key = secret.encode()
    except UnicodeEncodeError:
        return
    expected = hmac.new(key, body, hashlib.sha256).hexdigest()
    assert sign(body, secret) == expected
    assert signature_matches(body, expected, [secret])
    # While a secret is exchanged both are valid, and hex has no case.
    assert signature_matches(body, f" {expected.upper()} ", ["old", secret])
    assert not signature_matches(body + b" ", expected, [secret])


def test_two_headers_no_secret_or_an_empty_one_match_nothing() -> None:
    good = sign(b"body", "secret")
    # A header that came twice is joined by a comma.
    assert not signature_matches(b"body", f"{good}, {good}", ["secret"])
    assert not signature_matches(b"body", good, [])
    # With an empty secret anybody could sign.
    assert not signature_matches(b"body", sign(b"body", ""), [""])
