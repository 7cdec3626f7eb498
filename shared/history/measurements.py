"""The measurements in a snapshot: numbers and statuses by subject. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from shared.api.models import COUNTS, StatsRow
from shared.domain.health import Thresholds, by_score, roll_up
from shared.domain.snapshot import Reading, Snapshot
from shared.domain.totals import totals

SeriesKey = tuple[str, str, str]
"""Kind, key, and the metric or field."""
Fresh = Mapping[str, Reading[Any]]


def readings(snapshot: Snapshot) -> Iterator[tuple[str, Reading[Any]]]:
    """The parts of a snapshot that have a history, by name."""
    yield "inboxes", snapshot.inboxes
    yield "sequences", snapshot.sequences
    yield "today", snapshot.today
    yield "stats", snapshot.stats["sequence"]


def measures(fresh: Fresh) -> dict[SeriesKey, float | None]:
    return dict(_measures(fresh))


def _measures(fresh: Fresh) -> Iterator[tuple[SeriesKey, float | None]]:
    for inbox in _value(fresh, "inboxes"):
        email = storable(inbox.email)
        yield ("inbox", email, "health_score"), inbox.health_score
        yield ("inbox", email, "daily_limit"), inbox.daily_limit
    for domain in roll_up(_value(fresh, "inboxes")):
        yield ("domain", storable(domain.domain), "health_score"), domain.lowest
    for row in _value(fresh, "stats"):
        yield from _counts("sequence", row)
    if "stats" in fresh:
        yield from _counts("total", totals(_value(fresh, "stats"), group="total"))
    if "today" in fresh and fresh["today"].value:
        yield from _counts("today", fresh["today"].value)


def words(fresh: Fresh, thresholds: Thresholds) -> dict[SeriesKey, str]:
    """The status of every sequence and inbox, and the word for every inbox's health."""
    found: dict[SeriesKey, str] = {}
    for sequence in _value(fresh, "sequences"):
        found["sequence", storable(sequence.id), "status"] = storable(sequence.status or "unknown")
    for inbox in _value(fresh, "inboxes"):
        email = storable(inbox.email)
        found["inbox", email, "status"] = storable(inbox.status or "unknown")
        found["inbox", email, "health"] = by_score(inbox.health_score, thresholds)[1]
    return found


def labels(fresh: Fresh) -> dict[str, str]:
    return {storable(s.id): storable(s.label) for s in _value(fresh, "sequences")}


def storable(text: str) -> str:
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _value(fresh: Fresh, name: str) -> tuple[Any, ...]:
    return (fresh[name].value or ()) if name in fresh else ()


def _counts(kind: str, row: StatsRow) -> Iterator[tuple[SeriesKey, float | None]]:
    for name in COUNTS:
        yield (kind, storable(row.group), name), getattr(row, name)
