"""The measurements in a snapshot: numbers and statuses by subject. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from shared.api.models import Inbox, StatsRow
from shared.api.words import COUNTS
from shared.domain.health import Thresholds, by_score
from shared.domain.snapshot import Reading, Snapshot
from shared.domain.totals import totals

SeriesKey = tuple[str, str, str]
"""Kind, key, and the metric or field."""
Fresh = Mapping[str, Reading[Any]]
Inboxes = Sequence[Inbox]


def readings(snapshot: Snapshot) -> Iterator[tuple[str, Reading[Any]]]:
    """The parts of a snapshot that have a history, by name."""
    yield "inboxes", snapshot.inboxes
    yield "sequences", snapshot.sequences
    yield "today", snapshot.today
    yield "stats", snapshot.stats["sequence"]


def measures(fresh: Fresh, *, written: Inboxes = ()) -> dict[SeriesKey, float | None]:
    """Every number but those of inboxes that are among the `written` ones, the same objects."""
    return dict(_measures(fresh, written))


def _measures(fresh: Fresh, written: Inboxes) -> Iterator[tuple[SeriesKey, float | None]]:
    inboxes = _value(fresh, "inboxes")
    changed = _others(inboxes, written)
    for inbox in changed:
        email = storable(inbox.email)
        yield ("inbox", email, "health_score"), inbox.health_score
        yield ("inbox", email, "daily_limit"), inbox.daily_limit
    if inboxes:
        domains = {inbox.domain for inbox in (*changed, *_others(written, inboxes))}
        yield from _lowest(inboxes, domains)
    rows = _value(fresh, "stats")
    namesakes = Counter(row.group for row in rows)
    for row in rows:
        key = row.id if row.id and namesakes[row.group] > 1 else row.group
        yield from _counts("sequence", row, key=key)
    if "stats" in fresh:
        yield from _counts("total", totals(rows, group="total"))
    if "today" in fresh and fresh["today"].value:
        yield from _counts("today", fresh["today"].value)


def _others(inboxes: Inboxes, written: Inboxes) -> list[Inbox]:
    held = set(map(id, written))
    return [inbox for inbox in inboxes if id(inbox) not in held]


def _lowest(inboxes: Inboxes, domains: Collection[str]) -> Iterator[tuple[SeriesKey, float | None]]:
    """The lowest health of these domains, where they have inboxes."""
    scores: dict[str, list[float]] = {}
    for inbox in inboxes:
        if (domain := inbox.domain) in domains:
            known_scores = scores.setdefault(domain, [])
            if inbox.health_score is not None:
                known_scores.append(inbox.health_score)
    for domain, known_scores in scores.items():
        yield ("domain", storable(domain), "health_score"), min(known_scores, default=None)


def words(fresh: Fresh, thresholds: Thresholds, *, written: Inboxes = ()) -> dict[SeriesKey, str]:
    """The status of sequences and inboxes and the word for the inboxes' health, but of the `written` ones."""
    by_subject: dict[SeriesKey, str] = {}
    for sequence in _value(fresh, "sequences"):
        by_subject["sequence", storable(sequence.id), "status"] = storable(sequence.status or "unknown")
    for inbox in _others(_value(fresh, "inboxes"), written):
        email = storable(inbox.email)
        by_subject["inbox", email, "status"] = storable(inbox.status or "unknown")
        by_subject["inbox", email, "health"] = by_score(inbox.health_score, thresholds)[1]
    return by_subject


def labels(fresh: Fresh) -> dict[str, str]:
    return {storable(s.id): storable(s.label) for s in _value(fresh, "sequences")}


def storable(text: str) -> str:
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _value(fresh: Fresh, name: str) -> tuple[Any, ...]:
    return (fresh[name].value or ()) if name in fresh else ()


def _counts(kind: str, row: StatsRow, *, key: str = "") -> Iterator[tuple[SeriesKey, float | None]]:
    for name in COUNTS:
        yield (kind, storable(key or row.group), name), getattr(row, name)
