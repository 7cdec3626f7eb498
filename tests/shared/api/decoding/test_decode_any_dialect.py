"""Meaning survives every shape in which a service might say it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shared.api import Unreadable
from shared.api.decoding import decode
from tests.shared.api.decoding import dialects
from tests.shared.api.decoding.dialects import Dialect, Meaning

IDS = st.integers(min_value=0, max_value=36**6).map("sq_{:06x}".format)
EMAILS = st.integers(min_value=0, max_value=9999).map("ada.{}@mail.example".format)
WORDS = st.sampled_from(
    ["active", "paused", "resting", "warming", "replied", "snoozed", "on_hold", "interested"]
)
COUNTS = st.integers(min_value=0, max_value=2_000_000)

LEADS = st.fixed_dictionaries(
    {"id": IDS},
    optional={
        "email": EMAILS,
        "status": WORDS,
        "first_name": dialects.TEXTS,
        "last_name": dialects.TEXTS,
        "company": dialects.TEXTS,
    },
)
SEQUENCES = st.fixed_dictionaries(
    {"id": IDS}, optional={"name": dialects.TEXTS, "status": WORDS, "steps": COUNTS}
)
INBOXES = st.fixed_dictionaries(
    {"email": EMAILS},
    optional={
        "id": IDS,
        "health_score": st.integers(min_value=0, max_value=100) | st.sampled_from([0.5, 91.5, 99.25]),
        "daily_limit": COUNTS,
        "status": WORDS,
    },
)
ROWS = st.fixed_dictionaries(
    {"group": dialects.TEXTS},
    optional={"sends": COUNTS, "replies": COUNTS, "positive_replies": COUNTS, "meetings": COUNTS},
)


def encoded(
    data: st.DataObject, meanings: Sequence[Meaning], vocabulary: Mapping[str, Sequence[str]], own: str
) -> Any:
    """All of them in one dialect and envelope, as it comes over the wire."""
    dialect: Dialect = data.draw(dialects.dialects(vocabulary))
    items = [dialect.say(meaning, data.draw(dialects.NOISE)) for meaning in meanings]
    body = dialects.enclose(items, data.draw(st.sampled_from(dialects.ENVELOPES)), own)
    return json.loads(json.dumps(body))


def meaning_of(model: Any, names: Mapping[str, Any]) -> Meaning:
    """What a model tells, without what is unknown."""
    found = {name: getattr(model, name) for name in names}
    return {name: value for name, value in found.items() if value is not None}


@given(st.data(), st.lists(LEADS, max_size=4))
def test_leads_survive_any_dialect(data: st.DataObject, meanings: list[Meaning]) -> None:
    page = decode.leads(encoded(data, meanings, dialects.LEAD, "leads"))
    assert [meaning_of(lead, dialects.LEAD) for lead in page.items] == meanings


@given(st.data(), st.lists(SEQUENCES, max_size=4))
def test_sequences_survive_any_dialect(data: st.DataObject, meanings: list[Meaning]) -> None:
    models = decode.sequences(encoded(data, meanings, dialects.SEQUENCE, "sequences"))
    assert [meaning_of(model, dialects.SEQUENCE) for model in models] == meanings


@given(st.data(), st.lists(INBOXES, max_size=4))
def test_inboxes_survive_any_dialect(data: st.DataObject, meanings: list[Meaning]) -> None:
    models = decode.inboxes(encoded(data, meanings, dialects.INBOX, "inboxes"))
    assert [meaning_of(model, dialects.INBOX) for model in models] == meanings


@given(st.data(), st.lists(ROWS, max_size=4))
def test_stats_survive_any_dialect(data: st.DataObject, meanings: list[Meaning]) -> None:
    rows = decode.stats(encoded(data, meanings, dialects.STATS, "stats"), group_by="sequence")
    assert [meaning_of(row, dialects.STATS) for row in rows] == meanings


@given(st.data(), st.lists(SEQUENCES, min_size=1, max_size=4, unique_by=lambda meaning: meaning["id"]))
def test_objects_keyed_by_their_id_survive(data: st.DataObject, meanings: list[Meaning]) -> None:
    meanings = [{**meaning, "name": "Spring"} for meaning in meanings]
    dialect = data.draw(dialects.dialects(dialects.SEQUENCE))
    keyed = {m["id"]: dialect.say({k: v for k, v in m.items() if k != "id"}, {}) for m in meanings}
    body = dialects.enclose_keyed(keyed, data.draw(st.sampled_from(["bare", "own", "data"])), "sequences")
    assert [meaning_of(model, dialects.SEQUENCE) for model in decode.sequences(body)] == meanings


@given(st.data(), st.lists(ROWS, min_size=1, max_size=4, unique_by=lambda meaning: meaning["group"]))
def test_stats_keyed_by_their_group_survive(data: st.DataObject, meanings: list[Meaning]) -> None:
    meanings = [{**meaning, "sends": 3} for meaning in meanings]
    dialect = data.draw(dialects.dialects(dialects.STATS))
    keyed = {m["group"]: dialect.say({k: v for k, v in m.items() if k != "group"}, {}) for m in meanings}
    body = dialects.enclose_keyed(keyed, data.draw(st.sampled_from(["bare", "own", "data"])), "stats")
    assert [meaning_of(row, dialects.STATS) for row in decode.stats(body)] == meanings


PATHS = st.lists(st.text(alphabet="abcdefgh", min_size=1, max_size=6), min_size=1, max_size=4)


@given(PATHS, st.integers(min_value=0, max_value=100))
def test_a_fields_line_finds_a_value_wherever_it_is(path: list[str], score: int) -> None:
    item: Any = score
    for name in reversed(path):
        item = {name: item}
    dotted = ".".join(["odd", *path])
    body = [{"email": "a@b.io", "odd": item, "health": 1}]
    assert decode.inboxes(body, fields={"health_score": dotted})[0].health_score == score


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


@given(JSON)
def test_no_json_at_all_brings_the_decoder_down(body: Any) -> None:
    for read in (decode.leads, decode.sequences, decode.inboxes, decode.stats):
        with contextlib.suppress(Unreadable):
            assert read(body) is not None
    assert decode.added(body).repeated is False
