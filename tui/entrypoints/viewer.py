"""A dashboard that follows the shared poller and sends no requests to the service; only operators change something."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Any

from shared.api.models import Grouping, StatsRow
from shared.commands import Invocation
from shared.commands.result import Problem, Result
from shared.domain.card import Card, Fact, Tone
from shared.domain.health import Thresholds
from shared.domain.snapshot import Snapshot, from_json, record_from_json
from shared.history import History
from shared.records.domains import DomainPast
from shared.records.replies import LeadReply
from shared.storage.database import parse_url
from tui.app.dashboard import DashboardApp, utc_now
from tui.entrypoints.relay import read_frame, write_frame
from tui.feed.history_access import HistoryAccess
from tui.feed.pending_changes import PendingChanges
from tui.feed.plain_results import from_plain
from tui.feed.poller import BoardComposer, Tick
from tui.feed.workspace_state import WorkspaceState
from tui.system.process import tuned_gc
from tui.theme.marks import Mark, MarkKind
from tui.theme.palette import ASCII, UNICODE

TIMEOUT = 15.0
"""Seconds for an answer of the one poller."""
COMMAND_TIMEOUT = 120.0


class RelayFeed:
    """The feed of one workspace: snapshots come in by `take`, boards go out."""

    def __init__(
        self,
        *,
        workspace: str,
        intervals: Mapping[str, float],
        history: HistoryAccess,
        thresholds: Thresholds,
        shares_replies: bool = False,
        ask: Callable[[Mapping[str, Any]], Awaitable[None]],
    ) -> None:
        self._snapshot = Snapshot(workspace=workspace)
        self._beats = 0
        self._intervals = intervals
        self.history = history
        self.thresholds = thresholds
        self.shares_replies = shares_replies
        self._ask = ask
        self._questions = itertools.count()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def take(self, document: Mapping[str, Any], *, beats: int) -> None:
        self._snapshot = from_json(document, onto=self._snapshot)
        self._beats = beats
        self._changed.set()

    def start(self, deliver: Callable[[Tick], object], fail: Callable[[Exception], object]) -> None:
        self._task = asyncio.create_task(self._run(deliver), name="dashboard-following")

    def read_now(self, *names: str) -> None:
        """The shared poller has its own schedule, independent of viewers."""

    async def inbox_sends(self) -> Mapping[str, Sequence[int | None]]:
        """Requested from the shared poller, which sends at most one request a minute for all viewers."""
        return await self._answer() or {}

    async def last_reply(self, email: str) -> LeadReply | None:
        found = await self._answer(reply_of=email)
        return record_from_json(found, LeadReply) if found else None

    async def recent_counts(
        self, grouping: Grouping, keys: Sequence[str], *, days: int
    ) -> Mapping[date, StatsRow]:
        found = await self._answer(counts_by=grouping, keys=list(keys), days=days) or {}
        return {date.fromisoformat(day): record_from_json(row, StatsRow) for day, row in found.items()}

    async def recorded_marks(self, *, start: datetime, end: datetime) -> Sequence[Mark]:
        found = await self._answer(marks_from=start.isoformat(), until=end.isoformat()) or ()
        return [
            Mark(**{**one, "at": datetime.fromisoformat(one["at"]), "kind": MarkKind(one["kind"])})
            for one in found
        ]

    async def domain_dns(self, domain: str) -> tuple[tuple[Fact, ...], tuple[str, ...]]:
        return (), ()  # the bot's records are with the dashboard that is followed

    async def domain_past(self, domain: str) -> DomainPast | None:  # viewers change nothing there
        return None

    async def run(self, operator: str, asked: Invocation) -> Result:
        """Have the process of the one poller carry out a command, in the name of the operator."""
        found = await self._answer(COMMAND_TIMEOUT, run=asked.line, operator=operator)
        return from_plain(found) if found else UNANSWERED

    async def _answer(self, timeout: float = TIMEOUT, **about: object) -> Any:  # noqa: ASYNC109 # of a question
        """What the one poller says; None where it says nothing in time."""
        question = next(self._questions)
        answered = self._waiting[question] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(timeout):
                await self._ask({"name": self._snapshot.workspace, "question": question, **about})
                return await answered
        except (TimeoutError, OSError):
            return None
        finally:
            del self._waiting[question]

    def learn(self, question: int, answer: Any) -> None:
        waiting = self._waiting.get(question)
        if waiting and not waiting.done():
            waiting.set_result(answer)

    async def aclose(self) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self, deliver: Callable[[Tick], object]) -> None:
        past = await self.history.recall(now=utc_now())
        shown = Snapshot(workspace=self._snapshot.workspace)
        composer = BoardComposer(shown, past=past, thresholds=self.thresholds, now=utc_now)
        with contextlib.closing(composer):
            while True:
                await self._changed.wait()
                self._changed.clear()
                deliver(await composer.tick(self._snapshot, intervals=self._intervals, beats=self._beats))
                await composer.refresh_trends(self.history)


UNANSWERED = Result(
    card=Card(
        title="The command got no answer in time",
        tone=Tone.WARN,
        text=("It may have been carried out. Look at the list before you try again.",),
    ),
    problem=Problem(text="no answer"),
)


async def _only_shown(_: Invocation) -> Result:
    text = "Run commands in the dashboard in a terminal, a shell or Slack. Navigation keys work here."
    card = Card(title="This view is read-only", tone=Tone.WARN, text=(text,))
    return Result(card=card, problem=Problem(text="read-only"))


async def view(socket: Path, *, rotate: int = 0, operator: str = "") -> int:
    """Show what arrives over the socket until it closes or the viewer quits; returns the exit code.

    With `rotate`, walls are shown, and their views change every that many seconds. What an `operator` changes has that
    name in the audit; everyone else only looks.
    """
    reader, writer = await asyncio.open_unix_connection(socket)
    greeting = await read_frame(reader)
    if greeting is None:
        return 1
    async with AsyncExitStack() as stack:
        feeds = {}
        for place in greeting["workspaces"]:
            thresholds = Thresholds(healthy=place["healthy"], bad=place["bad"])
            history = History(parse_url(greeting["history"]), thresholds=thresholds)
            feeds[place["name"]] = RelayFeed(
                workspace=place["name"],
                intervals=greeting["intervals"],
                history=HistoryAccess(await stack.enter_async_context(history), workspace=place["name"]),
                thresholds=thresholds,
                shares_replies=place["shares_replies"],
                ask=partial(write_frame, writer),
            )
        is_operator = bool(operator) and not greeting["read_only"]
        states = [
            WorkspaceState(
                workspace=name,
                feed=feed,
                pending_changes=PendingChanges(
                    partial(feed.run, operator) if is_operator else _only_shown,
                    now=utc_now,
                    read_only=not is_operator,
                ),
            )
            for name, feed in feeds.items()
        ]
        app = DashboardApp(
            states,
            glyphs=ASCII if greeting["ascii"] else UNICODE,
            theme_name=greeting["theme"],
            keys=greeting["keys"],
            wall=greeting["wall"],
            rotate=rotate,
        )
        following = asyncio.create_task(_follow(reader, feeds, app), name="viewer-following")
        try:
            with tuned_gc():
                await app.run_async()
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            writer.close()
    return app.return_code or 0


async def _follow(reader: asyncio.StreamReader, feeds: Mapping[str, RelayFeed], app: DashboardApp) -> None:
    """Hand out what comes; when nothing more can come, the viewer ends, instead of showing the past as the present."""
    while (frame := await read_frame(reader)) is not None:
        feed = feeds[frame["name"]]
        if "question" in frame:
            feed.learn(frame["question"], frame["answer"])
        else:
            feed.take(frame["snapshot"], beats=frame["beats"])
    app.exit(return_code=0)
