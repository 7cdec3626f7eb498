"""A time of the past as people type it, and what is different since. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from shared.domain.card import Card, Column, Row, Table, Tone
from shared.domain.recurrence import parse_time
from tui.model.lines import ChangeLine
from tui.theme import formatting

UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
MOST = 30


def moment(text: str, *, now: datetime) -> datetime | None:
    """`14:02` (the last one), `yesterday 9:00`, `21 Nov 14:02`, `3h`; None for what is no time, or not past yet."""
    said = text.strip().lower().removesuffix(" ago").removeprefix("-").strip()
    if span := re.fullmatch(r"(\d{1,4}) ?([mhd])[a-z]*", said):
        return now - int(span[1]) * UNITS[span[2]]
    local = now.astimezone()
    *day, clock = said.split() or [""]
    at = parse_time(clock) if ":" in clock or "." in clock else None
    if at is None:
        return None
    found = _day(" ".join(day), local)
    if found is None:
        return None
    wanted = found.replace(hour=at.hour, minute=at.minute, second=0, microsecond=0)
    if not day and wanted > local:
        wanted -= timedelta(days=1)
    return wanted if wanted <= local else None


def _day(said: str, local: datetime) -> datetime | None:
    if said in {"", "today"}:
        return local
    if said == "yesterday":
        return local - timedelta(days=1)
    for form in ("%d %b %Y", "%b %d %Y", "%Y-%m-%d"):
        try:
            day = datetime.strptime(  # noqa: DTZ007 # only its date is used, where the reader is
                said if form[0:2] == "%Y" else f"{said} {local.year}", form
            )
        except ValueError:
            continue
        return local.replace(year=day.year, month=day.month, day=day.day)
    return None


def difference(lines: Sequence[ChangeLine], *, since: datetime, now: datetime) -> Card:
    """What became different from then to now, as a card."""
    title = f"From {formatting.moment(since, now=now)} to now"
    if not lines:
        return Card(title=title, tone=Tone.INFO, text=("Nothing of note is different.",))
    columns = (Column(title="What"), Column(title="Became"))
    rows = tuple(Row(cells=(line.subject, line.text), tone=line.tone) for line in lines[:MOST])
    return Card(title=title, tone=Tone.INFO, table=Table(columns=columns, rows=rows, total=len(lines)))
