"""A snapshot as JSON and back, for the history and for `--json`; what the service sent besides is left out. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from datetime import date, datetime
from typing import Any, TypeVar

from shared.api.http.rate_limit import BudgetState
from shared.api.models import Inbox, Lead, Sequence, StatsRow
from shared.domain.guard_records import Incident
from shared.domain.records import InterestedReply
from shared.domain.snapshot import SOURCES, DailyCounts, InterestedCount, Reading, Snapshot

T = TypeVar("T")
MODELS: Mapping[str, type] = {"sequences": Sequence, "inboxes": Inbox, "interested": Lead}
"""Every other source keeps rows of counts."""
KEYS: Mapping[type, tuple[str, ...]] = {
    model: tuple(f.name for f in fields(model) if f.name != "raw")
    for model in (Sequence, Inbox, Lead, StatsRow)
}

MODEL_OF: Mapping[tuple[str, ...], type] = {keys: model for model, keys in KEYS.items()}
PIECE = 500
"""Rows."""


def to_json(snapshot: Snapshot, *, since: Snapshot | None = None) -> dict[str, Any]:
    """The snapshot as plain values; `from_json` reads it back, but for `raw`. With `since`, only what was read after it."""
    readings = {name: snapshot.reading(source) for name, source in SOURCES.items()}
    if since:
        readings = {name: one for name, one in readings.items() if one is not since.reading(SOURCES[name])}
    return {
        **_head(snapshot, since=since),
        "readings": {name: _reading(reading) for name, reading in readings.items()},
    }


def _head(snapshot: Snapshot, *, since: Snapshot | None = None) -> dict[str, Any]:
    """What is in no reading; with `since`, only what is another object than then."""
    budget = snapshot.budget
    head: dict[str, Any] = {
        "workspace": snapshot.workspace,
        "budget": budget and {f.name: getattr(budget, f.name) for f in fields(budget)},
    }
    then = since or Snapshot(workspace=snapshot.workspace)
    if snapshot.daily is not then.daily:
        head["daily"] = _daily(snapshot.daily)
    if snapshot.firings is not then.firings:
        head["firings"] = [record_to_json(one) for one in snapshot.firings]
    if snapshot.interested_count is not then.interested_count:
        count = snapshot.interested_count
        head["interested_count"] = count and {"total": count.total, "recorded": _plain(count.recorded)}
    parts = ("replies", "interested", "interested_count")
    if any(getattr(snapshot, part) is not getattr(then, part) for part in parts):
        head["replies"] = [record_to_json(one) for one in _of_listed_leads(snapshot)]
    return head


def record_to_json(of: Any) -> dict[str, Any]:
    """The fields of one of the bot's records."""
    values = {f.name: getattr(of, f.name) for f in fields(of)}
    return {
        name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()
    }


def _daily(daily: DailyCounts) -> dict[str, Any]:
    return {
        "days": [[day.isoformat(), _plain(row)] for day, row in daily.days],
        "compared_at": daily.compared_at and daily.compared_at.isoformat(),
        "compared": _plain(daily.compared),
    }


def _of_listed_leads(snapshot: Snapshot) -> Iterator[InterestedReply]:
    """The replies of leads that are listed: the bot remembers thousands of others."""
    beyond = snapshot.interested_count.recorded if snapshot.interested_count else ()
    leads = (*(snapshot.interested.value or ()), *beyond)
    listed = {lead.email.lower() for lead in leads if lead.email}
    return (reply for reply in snapshot.replies if reply.email.lower() in listed)


def to_text(snapshot: Snapshot) -> Iterator[str]:
    """The same as text, piece by piece: in one, ten thousand inboxes would be ten megabytes on the way."""
    yield f'{_dumped(_head(snapshot))[:-1]},"readings":{{'
    for number, (name, source) in enumerate(SOURCES.items()):
        yield f"{',' if number else ''}{_dumped(name)}:"
        yield from _reading_text(snapshot.reading(source))
    yield "}}"


def _reading_text(reading: Reading[Any]) -> Iterator[str]:
    if not isinstance(reading.value, tuple):
        yield _dumped(_reading(reading))
        return
    yield f'{_dumped(_about(reading))[:-1]},"value":['
    yield from _rows_text(reading.value)
    yield "]}"


def _rows_text(rows: tuple[Any, ...]) -> Iterator[str]:
    for start in range(0, len(rows), PIECE):
        text = _dumped(_plain(rows[start : start + PIECE]))[1:-1]
        yield f",{text}" if start else text


def delta_text(before: Snapshot, after: Snapshot) -> Iterator[str]:
    """What is different after, piece by piece; `with_delta` puts it onto what was before. Rows that are the same object are as before."""
    yield f'{_dumped(_head(after, since=before))[:-1]},"readings":{{'
    comma = ""
    for name, source in SOURCES.items():
        old, new = before.reading(source), after.reading(source)
        if old is not new:
            yield f"{comma}{_dumped(name)}:"
            yield from _changed_rows(old.value, new)
            comma = ","
    yield "}}"


def _changed_rows(before: Any, reading: Reading[Any]) -> Iterator[str]:
    after = reading.value
    if not (isinstance(before, tuple) and isinstance(after, tuple) and len(before) == len(after)):
        yield from _reading_text(reading)
        return
    places = [
        at for at, (old, new) in enumerate(zip(before, after, strict=True)) if old is not new and old != new
    ]
    yield f'{_dumped(_about(reading))[:-1]},"places":{_dumped(places)},"rows":['
    yield from _rows_text(tuple(after[at] for at in places))
    yield "]}"


def with_delta(before: Snapshot, text: bytes) -> Snapshot:
    """The snapshot that `delta_text` was made of."""
    document = json.loads(text, object_hook=_thawed)
    for name, kept in document["readings"].items():
        if "places" in kept and name in SOURCES:
            rows = list(before.reading(SOURCES[name]).value or ())
            for at, row in zip(kept["places"], kept["rows"], strict=True):
                rows[at] = row
            kept["value"] = rows
    return from_json(document, onto=before)


def _dumped(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def from_json(document: Mapping[str, Any], *, onto: Snapshot | None = None) -> Snapshot:
    """The snapshot that `to_json` wrote; what an older or newer version wrote otherwise is left out.

    `onto` is the snapshot since which it was written.
    """
    before = onto or Snapshot(workspace=document["workspace"])
    snapshot = replace(before, budget=_budget(document.get("budget")), **_beside(document))
    for name, source in SOURCES.items():
        kept = document["readings"].get(name)
        if kept is not None:
            snapshot = snapshot.with_reading(source, _read(kept, model=MODELS.get(name, StatsRow)))
    return snapshot


def _beside(document: Mapping[str, Any]) -> dict[str, Any]:
    """What the head tells besides the budget."""
    found: dict[str, Any] = {}
    if "daily" in document:
        kept = document["daily"]
        found["daily"] = DailyCounts(
            days=tuple((date.fromisoformat(day), _model(row, StatsRow)) for day, row in kept["days"]),
            compared_at=_time(kept["compared_at"]),
            compared=kept["compared"] and _model(kept["compared"], StatsRow),
        )
    if "firings" in document:
        found["firings"] = tuple(record_from_json(one, Incident) for one in document["firings"])
    if "replies" in document:
        found["replies"] = tuple(record_from_json(one, InterestedReply) for one in document["replies"])
    if "interested_count" in document:
        kept = document["interested_count"]
        found["interested_count"] = kept and InterestedCount(
            total=kept["total"], recorded=tuple(_model(one, Lead) for one in kept["recorded"])
        )
    return found


def record_from_json(kept: Mapping[str, Any], kind: type[T]) -> T:
    names = {f.name for f in fields(kind)}  # type: ignore[arg-type] # a dataclass
    found: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in kept.items()
        if name in names
    }
    if "received_at" in found:
        found["received_at"] = _time(found["received_at"])
    return kind(**found)


def from_text(text: bytes) -> Snapshot:
    """What `to_text` wrote; rows become models as they are read, so that their objects are never all there at once."""
    return from_json(json.loads(text, object_hook=_thawed))


def _thawed(found: dict[str, Any]) -> Any:
    model = MODEL_OF.get(tuple(found))
    return model(**found) if model else found


def _reading(reading: Reading[Any]) -> dict[str, Any]:
    return {"value": _plain(reading.value), **_about(reading)}


def _about(reading: Reading[Any]) -> dict[str, Any]:
    return {
        "read_at": reading.read_at and reading.read_at.isoformat(),
        "error": reading.error,
        "failed_since": reading.failed_since and reading.failed_since.isoformat(),
        "failed_at": reading.failed_at and reading.failed_at.isoformat(),
        "cause": reading.cause,
        "more": reading.more,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value and {key: getattr(value, key) for key in KEYS[type(value)]}


def _read(kept: Mapping[str, Any], *, model: type) -> Reading[Any]:
    value = kept["value"]
    return Reading(
        value=tuple(_model(one, model) for one in value)
        if isinstance(value, list)
        else value and _model(value, model),
        read_at=_time(kept["read_at"]),
        error=kept["error"],
        failed_since=_time(kept["failed_since"]),
        failed_at=_time(kept.get("failed_at")),
        cause=str(kept.get("cause", "")),
        more=kept.get("more") is True,
    )


def _model(kept: Any, model: type) -> Any:
    if isinstance(kept, model):
        return kept
    return model(**{key: kept[key] for key in KEYS[model] if key in kept})


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _budget(kept: Mapping[str, Any] | None) -> BudgetState | None:
    known = {f.name for f in fields(BudgetState)}
    return BudgetState(**{key: value for key, value in kept.items() if key in known}) if kept else None
