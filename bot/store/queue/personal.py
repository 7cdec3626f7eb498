"""What people chose for themselves, applied to messages: who is mentioned, who gets a direct message, who is left alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import sqlalchemy as sa

from bot.store.db.engine import Transaction
from bot.store.db.schema import people
from bot.store.queue.post_kinds import ALERT, DIRECT, kind_of
from shared.domain.personal import WAYS, Notify, PersonalSettings
from shared.domain.wall_clock import moment
from shared.text.slack_ids import is_user

_OF = sa.select(people).where(people.c.person.in_(sa.bindparam("persons", expanding=True)))


def read_settings(row: Any) -> PersonalSettings:
    """Of a row of the table, or of a message of which the person is mentioned."""
    notify = row.notify if row.notify in WAYS else "mention"  # of a newer version
    return PersonalSettings(notify=cast("Notify", notify), quiet=row.quiet, zone=row.zone, digest=row.digest)


def quiet_until(settings: PersonalSettings, now: float) -> float | None:
    end = settings.quiet_until(moment(now))
    return None if end is None else end.timestamp()


def personal_rows(tx: Transaction, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages to plan, with those that people get directly; what reminds a person waits for their quiet hours.

    Whether a message mentions them is decided when it is drawn: it may be sent much later.
    """
    known = _chosen(tx, [row["mention"] for row in rows])
    if not known:
        return [*rows]
    planned: list[dict[str, Any]] = []
    for row in rows:
        named = [known[one] for one in row["mention"].split() if one in known]
        is_for_them = kind_of(row["kind"]).settled_by == "finish"
        ends = [quiet_until(read_settings(one), tx.now) for one in named]
        planned.append(_held(row, max(filter(None, ends), default=None)) if is_for_them else row)
        planned += [
            _held(_directly(row, one), end)
            for one, end in zip(named, ends, strict=True)
            if one.notify == "message" and row["channel"] != one.channel
        ]
    return planned


def hushed_people(tx: Transaction, mentions: Iterable[str]) -> frozenset[str]:
    """Who of those that messages mention doesn't want that now."""
    known = _chosen(tx, mentions)
    return frozenset(who for who, one in known.items() if not read_settings(one).mentioned(moment(tx.now)))


def _chosen(tx: Transaction, mentions: Iterable[str]) -> Mapping[str, sa.Row[Any]]:
    """What the people chose whom messages mention, one or several each."""
    persons = {one for mention in mentions for one in mention.split() if is_user(one)}
    if not persons:
        return {}
    return {row.person: row for row in tx.execute(_OF, {"persons": sorted(persons)})}


def _directly(row: dict[str, Any], to: sa.Row[Any]) -> dict[str, Any]:
    """The same, to the person alone; of a card it is a copy that asks for nothing once somebody has claimed the reply."""
    kind = DIRECT if row["kind"] == ALERT else row["kind"]
    own = {"dedupe": f"{row['dedupe']}:{to.channel}", "channel": to.channel, "mention": to.person}
    return {**row, **own, "kind": kind, "condensed": False, "thread_ts": ""}


def _held(row: dict[str, Any], until: float | None) -> dict[str, Any]:
    if until is None or (row["held_until"] or 0.0) >= until:
        return row
    return {**row, "state": "held", "held_until": until}
