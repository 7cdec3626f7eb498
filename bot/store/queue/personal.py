"""What people chose for themselves, applied to messages: who is mentioned, who gets a direct message, who is left alone."""

from __future__ import annotations

from collections.abc import Sequence
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
    persons = {row["mention"] for row in rows if is_user(row["mention"])}
    if not persons:
        return [*rows]
    known = {row.person: row for row in tx.execute(_OF, {"persons": sorted(persons)})}
    planned: list[dict[str, Any]] = []
    for row in rows:
        chosen = known.get(row["mention"])
        if chosen is None:
            planned.append(row)
            continue
        settings = read_settings(chosen)
        end = quiet_until(settings, tx.now)
        is_for_them = kind_of(row["kind"]).settled_by == "finish"
        planned.append(_held(row, end) if is_for_them else row)
        if settings.notify == "message" and row["channel"] != chosen.channel:
            planned.append(_held(_directly(row, chosen.channel), end))
    return planned


def _directly(row: dict[str, Any], channel: str) -> dict[str, Any]:
    """The same, to the person alone; of a card it is a copy that asks for nothing once somebody has claimed the reply."""
    kind = DIRECT if row["kind"] == ALERT else row["kind"]
    dedupe = f"{row['dedupe']}:{channel}"
    return {**row, "dedupe": dedupe, "channel": channel, "kind": kind, "condensed": False, "thread_ts": ""}


def _held(row: dict[str, Any], until: float | None) -> dict[str, Any]:
    if until is None or (row["held_until"] or 0.0) >= until:
        return row
    return {**row, "state": "held", "held_until": until}
