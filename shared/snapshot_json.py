"""A snapshot as JSON and back, for the history and for `--json`; what the service sent besides is left out. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from shared.api.models import Inbox, Lead, Sequence, StatsRow
from shared.api.pacing import BudgetState
from shared.snapshot import SOURCES, Reading, Snapshot

MODELS: Mapping[str, type] = {"sequences": Sequence, "inboxes": Inbox, "interested": Lead}
"""Every other source keeps rows of counts."""
KEYS: Mapping[type, tuple[str, ...]] = {
    model: tuple(f.name for f in fields(model) if f.name != "raw")
    for model in (Sequence, Inbox, Lead, StatsRow)
}


def to_json(snapshot: Snapshot, *, since: Snapshot | None = None) -> dict[str, Any]:
    """The snapshot as plain values; `from_json` reads it back, but for `raw`. With `since`, only what was read after it."""
    budget = snapshot.budget
    readings = {name: snapshot.reading(source) for name, source in SOURCES.items()}
    if since:
        readings = {name: one for name, one in readings.items() if one is not since.reading(SOURCES[name])}
    return {
        "workspace": snapshot.workspace,
        "readings": {name: _reading(reading) for name, reading in readings.items()},
        "budget": budget and {f.name: getattr(budget, f.name) for f in fields(budget)},
    }


def from_json(document: Mapping[str, Any], *, onto: Snapshot | None = None) -> Snapshot:
    """The snapshot that `to_json` wrote; what an older or newer version wrote otherwise is left out.

    `onto` is the snapshot since which it was written.
    """
    before = onto or Snapshot(workspace=document["workspace"])
    snapshot = replace(before, budget=_budget(document.get("budget")))
    for name, source in SOURCES.items():
        kept = document["readings"].get(name)
        if kept is not None:
            snapshot = snapshot.having(source, _read(kept, model=MODELS.get(name, StatsRow)))
    return snapshot


def _reading(reading: Reading[Any]) -> dict[str, Any]:
    return {
        "value": _plain(reading.value),
        "read_at": reading.read_at and reading.read_at.isoformat(),
        "error": reading.error,
        "failed_since": reading.failed_since and reading.failed_since.isoformat(),
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
    )


def _model(kept: Mapping[str, Any], model: type) -> Any:
    return model(**{key: kept[key] for key in KEYS[model] if key in kept})


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _budget(kept: Mapping[str, Any] | None) -> BudgetState | None:
    known = {f.name for f in fields(BudgetState)}
    return BudgetState(**{key: value for key, value in kept.items() if key in known}) if kept else None
