"""The dashboard without a terminal: one snapshot as text, as JSON, or as a picture."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rich.console import Console

from shared.api.models import StatsRow, as_dict
from shared.commands.run import open_client
from shared.domain import evidence
from shared.domain.snapshot import SOURCES, ProblemStart, Snapshot, take_snapshot
from shared.domain.workspace_verdict import PAUSED, Condition, conditions_of, judge_reading
from shared.history.history import History
from shared.records import HistoryUnavailable
from shared.settings import Settings, Workspace
from shared.store import open_records
from shared.text.sanitize import visible, visible_json
from tui.app.dashboard import DashboardApp
from tui.feed.history_access import HistoryAccess
from tui.feed.poller import Tick, intervals
from tui.feed.startup import may_hold_data, read_marks, read_pasts
from tui.feed.workspace_state import WorkspaceState
from tui.model.board import Board, DomainFacts, compose
from tui.model.frame import Frame
from tui.model.happened import Mark
from tui.model.incident import Incident
from tui.screens.incidents import IncidentsPage
from tui.screens.report import report
from tui.system.terminal import speaks_unicode, writable

PAPER = 120
"""Columns without a terminal."""
PICTURE = (160, 50)
LONGEST_WAIT_SECONDS = 7.0
"""A person waits for the snapshot: with the service down it is printed within ten seconds, start included."""


async def print_once(
    settings: Settings,
    *,
    as_json: bool,
    svg: Path | None,
    incident: timedelta | None,
    workspace: str | None,
) -> int:
    """Read everything once and show it on stdout, or in `svg`; 1 when something could not be read.

    With `incident`, the picture shows the domains over so long a time, as the history and the bot's records have it.
    """
    place = settings.workspace(workspace)
    async with open_client(settings, place, total_seconds=LONGEST_WAIT_SECONDS) as client:
        snapshot = await take_snapshot(client, place.name, now=datetime.now(UTC))
    now = datetime.now(UTC)
    # The time is taken again: reading may have lasted for seconds.
    snapshot, facts = await _with_starts(settings, place, snapshot, now=now)
    board = compose(
        snapshot,
        intervals=intervals(settings.poll_seconds),
        thresholds=place.thresholds,
        domain_facts=facts,
    )
    if svg:
        page = None
        if incident and snapshot.inboxes.value is not None:
            page = IncidentsPage(span=incident)
            page.incident = await _lanes(settings, place, snapshot, start=now - incident, end=now)
        picture = await _picture(board, page)
        await asyncio.to_thread(svg.write_text, picture, encoding="utf-8")
    if as_json:
        text = json.dumps(as_data(board), indent=2, ensure_ascii=False, default=datetime.isoformat)
        sys.stdout.write((visible_json(text) if sys.stdout.isatty() else text) + "\n")
    elif not svg:
        _print(board, now=now)
    return _failures(snapshot)


def _failures(snapshot: Snapshot) -> int:
    errors = {name: snapshot.reading(source).error for name, source in SOURCES.items()}
    failures = "".join(f"  {name}: {visible(error)}\n" for name, error in errors.items() if error)
    if failures:
        sys.stderr.write(f"Some data couldn't be read.\n{failures}")
    return 1 if failures else 0


def _print(board: Board, *, now: datetime) -> None:
    console = Console()
    width = console.width if console.is_terminal else PAPER
    encoding = sys.stdout.encoding or "ascii"
    for line in report(Frame(board=board, now=now), width=width):
        # A pipe, and a terminal that lacks our signs, gets plain lines.
        if console.is_terminal and speaks_unicode(encoding):
            console.print(line)
        else:
            sys.stdout.write(f"{writable(line.plain.rstrip(), encoding)}\n")


async def _with_starts(
    settings: Settings,
    place: Workspace,
    snapshot: Snapshot,
    *,
    now: datetime,
) -> tuple[Snapshot, DomainFacts]:
    """The snapshot with since when and why what is wrong is so, as far as earlier runs and the bot remember."""
    starts: dict[str, ProblemStart] = {}
    if may_hold_data(settings.history_file):  # else reading it would create the file
        async with History(settings.history_database, thresholds=place.thresholds) as store:
            with contextlib.suppress(HistoryUnavailable):
                starts = {start.key: start for start in await store.problems(place.name)}
    verdict = judge_reading(snapshot.inboxes, thresholds=place.thresholds)
    troubled = [condition for condition in conditions_of(snapshot, verdict) if condition.is_of_domain]
    facts = DomainFacts()
    if troubled and may_hold_data(settings.database_file):
        async with open_records(settings.database) as records:
            names = [condition.where for condition in troubled]
            facts = DomainFacts(pasts=await read_pasts(records, place.name, names, now=now))
        for condition in troubled:
            if condition.kind == PAUSED and (pause := facts.pauses.get(condition.where)):
                at = pause.at.timestamp()
                new = ProblemStart(key=condition.key, kind=condition.kind, since=at, kind_since=at)
                starts[condition.key] = starts.get(condition.key, new).known_from(at)
    return replace(snapshot, problems=tuple(starts.values())), facts


def as_data(board: Board) -> Mapping[str, Any]:
    """The document's words as keys; null for what is unknown. `readings` tells the age of each part."""
    snapshot = board.snapshot
    readings = {name: snapshot.reading(source) for name, source in SOURCES.items()}
    return {
        "workspace": snapshot.workspace,
        "verdict": board.verdict.as_data(),
        "alarms": [
            {
                "kind": condition.kind,
                "where": condition.where or None,
                "text": condition.text,
                "inboxes": condition.extent or None,
                "since": _seen_to_begin(condition),
            }
            for condition in board.conditions
            if condition.is_alarm
        ],
        **{name: _with_rates(reading.value) for name, reading in readings.items()},
        "budget": snapshot.budget and asdict(snapshot.budget),
        "readings": {
            name: {
                key: getattr(reading, key) for key in ("read_at", "error", "cause", "failed_since", "more")
            }
            for name, reading in readings.items()
        },
    }


def _seen_to_begin(condition: Condition) -> str | None:
    """The start of a trouble; null where it held already when someone looked for the first time."""
    if condition.since is None or condition.is_start_unseen:
        return None
    return condition.since.isoformat()


def _with_rates(value: Any) -> Any:
    """The fields of what was read; those of stats with their rates and the bounds of each."""
    if isinstance(value, tuple):
        return [_with_rates(row) for row in value]
    fields = value and as_dict(value)
    if isinstance(value, StatsRow):
        counts = {"sends": value.sends, "replies": value.replies, "positive": value.positive_replies}
        fields |= evidence.rates_data(**counts)
    return fields


async def _lanes(
    settings: Settings,
    place: Workspace,
    snapshot: Snapshot,
    *,
    start: datetime,
    end: datetime,
) -> Incident:
    """The time up to this reading, which is kept: what changed since the last one is part of it."""
    inboxes = snapshot.inboxes.value or ()
    recorded: Sequence[Mark] = ()
    if may_hold_data(settings.database_file):
        async with open_records(settings.database) as records:
            recorded = await read_marks(records, snapshot, start=start, end=end)
    async with History(settings.history_database, thresholds=place.thresholds) as store:
        history = HistoryAccess(store, workspace=place.name)
        await history.keep(snapshot, now=end)
        return await history.incident(
            inboxes, recorded, start=start, end=end, fresh=True, thresholds=place.thresholds
        )


async def _picture(board: Board, page: IncidentsPage | None) -> str:
    """The board as it would be in a terminal of 160 by 50, or the page of incidents."""
    workspace = board.snapshot.workspace
    # Without a feed it reads nothing: the picture is of what was read.
    app = DashboardApp([WorkspaceState(workspace=workspace)])
    async with app.run_test(size=PICTURE) as pilot:
        app.post_message(app.Ticked(Tick(board=board, beats=1)))
        await pilot.pause()
        if page:
            await app.push_screen(page)
        await pilot.pause()
        return app.export_screenshot(title=f"Outreach: {workspace}")
