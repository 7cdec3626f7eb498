"""The changes of a workspace as plain sentences, one a change: for screen readers, logs and tmux. Pure.

What is wrong when the report begins comes first. An inbox that rests or recovers is told by the alarm of its domain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from shared.api.models import GROUPINGS
from shared.domain.snapshot import SOURCES, Snapshot
from shared.domain.workspace_verdict import DOMAIN_KINDS
from shared.text.formats import show_exact_span
from shared.text.sanitize import visible
from tui.model.lists.lines import ChangeLine, Freshness
from tui.model.news.alarms import Alarm, is_of_service
from tui.model.workspace.board import Board
from tui.theme import formatting

RECENT = timedelta(minutes=1)
"""An alarm that began within this time is as old as its line."""


class LineReport:
    """What has been reported of a workspace, so that nothing is reported twice."""

    def __init__(self, workspace: str) -> None:
        self._recalled = Snapshot(workspace=workspace)
        self._has_begun = False
        self._has_verdict = False
        self._alarms: dict[str, Alarm] = {}
        self._worst: dict[str, Alarm] = {}
        self._claims: dict[tuple[str, datetime], str] | None = None
        self._stale: frozenset[str] = frozenset()

    def recall(self, snapshot: Snapshot) -> None:
        """Take what an earlier run has stored: it is of the past, and reported by no line."""
        self._recalled = snapshot

    def take(
        self,
        snapshot: Snapshot,
        board: Board,
        *,
        alarms: Sequence[Alarm],
        changes: Iterable[ChangeLine],
        now: datetime,
    ) -> list[str]:
        """The lines of another look; none before every source was asked for once."""
        is_first = not self._has_begun
        if is_first and not all(self._is_current(snapshot, name) for name in SOURCES):
            return []
        self._has_begun = True
        lines = [*self._verdict(snapshot, board, now=now, is_first=is_first)]
        lines += self._of_alarms(alarms, now=now, is_first=is_first)
        if not is_first:
            lines += [f"{one.subject} {one.text}" for one in changes if not one.becomes]
        lines += self._of_claims(snapshot)
        return [*map(visible, lines), *self.staleness(board, now=now)]

    def staleness(self, board: Board, *, now: datetime) -> list[str]:
        """A line about what has become stale since the last look, or that nothing is stale any more."""
        if not self._has_begun:
            return []
        stamps = {
            name: stamp
            for name, stamp in board.stamps.items()
            if stamp.freshness(now) is Freshness.VERY_LATE and stamp.read_at
        }
        before, self._stale = self._stale, frozenset(stamps)
        if new := [name for name in stamps if name not in before]:
            last = min(at for name in new if (at := stamps[name].read_at))
            return [f"Stale: {', '.join(map(_label, new))}, last read {formatting.moment(last, now=now)}"]
        return ["Nothing is stale any more"] if before and not stamps else []

    def _is_current(self, snapshot: Snapshot, name: str) -> bool:
        """Whether a source was read since the start, or couldn't be."""
        reading = snapshot.reading(SOURCES[name])
        return bool(reading.failed_since) or reading.read_at != self._recalled.reading(SOURCES[name]).read_at

    def _verdict(self, snapshot: Snapshot, board: Board, *, now: datetime, is_first: bool) -> Iterator[str]:
        """Once: as soon as the inboxes were read."""
        inboxes = snapshot.inboxes
        if not self._has_verdict and inboxes.value is not None and not inboxes.failed_since:
            self._has_verdict = True
            yield board.verdict.text
        elif is_first:
            last = f", last read {formatting.moment(inboxes.read_at, now=now)}" if inboxes.read_at else ""
            yield f"Inbox health is unknown{last}"

    def _of_alarms(self, alarms: Sequence[Alarm], *, now: datetime, is_first: bool) -> Iterator[str]:
        for alarm in alarms:
            before = self._alarms.get(alarm.key)
            self._alarms[alarm.key] = alarm
            if alarm.is_on:
                was_on = before is not None and before.is_on
                worst = self._worst.get(alarm.key) if was_on else None
                self._worst[alarm.key] = max(filter(None, (worst, alarm)), key=_severity)
                if before is None or not was_on:
                    is_old = is_first or now - alarm.since > RECENT
                    yield _words(alarm) + (f" since {alarm.since_words(now)}" if is_old else "")
                elif (alarm.kind, alarm.extent) != (before.kind, before.extent):
                    yield f"{alarm.where}: now {alarm.text}" if alarm.where else alarm.text
            elif before is not None and before.is_on:
                yield _recovery(alarm, worst=self._worst.pop(alarm.key))

    def _of_claims(self, snapshot: Snapshot) -> Iterator[str]:
        """Replies that were claimed or released since the last look; what the bot's records held before is not new."""
        claims = {(one.email, one.received_at): one.claimed_by for one in snapshot.replies}
        if not claims:  # also where the records can't be read for a while
            return
        if self._claims is not None:
            for (email, received_at), name in claims.items():
                before = self._claims.get((email, received_at), "")
                if name != before:
                    yield f"{email} claimed by {name}" if name else f"{email} released by {before}"
        self._claims = claims


def _words(alarm: Alarm) -> str:
    return f"{alarm.where} {alarm.text}".strip()


def _severity(alarm: Alarm) -> tuple[int, int]:
    return DOMAIN_KINDS.index(alarm.kind) if alarm.kind in DOMAIN_KINDS else 0, alarm.extent


def _recovery(alarm: Alarm, *, worst: Alarm) -> str:
    """With what it was at its worst, and how long it lasted where that is known."""
    is_known = alarm.recovered_at and not alarm.since_or_earlier
    lasted = (
        f" after {show_exact_span(alarm.recovered_at - alarm.since)}"
        if is_known and alarm.recovered_at
        else ""
    )
    what = "The service can be read again" if is_of_service(alarm.kind) else f"{alarm.where} recovered"
    return f"{what}{lasted}, at its worst: {worst.text}"


def _label(source: str) -> str:
    return f"stats by {source}" if source in GROUPINGS else source
