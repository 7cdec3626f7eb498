"""The dashboard's pictures: its screens over an account in a crisis, and a recording of them, as SVG."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from textual.pilot import Pilot
from textual.worker import WorkerCancelled

from shared.commands import Invocation
from shared.commands.base import Result
from shared.domain.reply_queue import Permission, QueuedReplies, QueuedReply
from shared.domain.snapshot import ProblemStart
from shared.domain.workspace_verdict import PAUSED
from shared.history.history import History
from shared.storage.database import parse_url
from tests.kit.snapshots import FakeFeed
from tools.pictures.crisis import CALM, FIRST, OVER, WORST, Moment, at, play
from tui.app.dashboard import DashboardApp
from tui.feed.history_access import HistoryAccess
from tui.feed.pending_changes import PendingChanges
from tui.feed.poller import Tick, intervals
from tui.feed.workspace_state import WorkspaceState
from tui.model.board import DomainFacts, compose, with_starts
from tui.model.happened import Mark, MarkKind

LARGE, SMALL = (150, 44), (110, 32)
EACH = 3.0
"""The recording shows each frame for so many seconds."""
READS = {"health", "lanes", "read", "replay"}
"""Groups of workers that end; the page of replies reads for as long as it is open."""
MARKS = tuple(
    Mark(at=at(hours), kind=MarkKind.DNS_BROKEN, subject=about, text=text, about=about)
    for hours, about, text in (
        (0.25, "useacme.example", "a second SPF record"),
        (1.25, "getacme.example", "DKIM record is missing"),
        (3.0, "helloacme.example", "DMARC record is missing"),
    )
)
"""The scenario breaks these records at these hours."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The account's moments, and the history that has them."""

    history: History
    moments: Mapping[float, Moment]


@dataclass(frozen=True, slots=True)
class Replies:
    """The queue of replies at the worst hour."""

    replies: Sequence[QueuedReply]

    async def permission(self) -> Permission:
        return Permission(name="ann")

    async def read(self) -> QueuedReplies:
        return QueuedReplies(
            unclaimed=sum(one.is_unclaimed for one in self.replies), replies=list(self.replies)
        )

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Replies]:
        yield self


@dataclass
class StageClock:
    """The clock of the account, put ahead with each read."""

    hours: float = 0

    def __call__(self) -> datetime:
        return at(self.hours)


class Stage:
    """A dashboard that reads the account hour by hour, and whose screen is taken."""

    def __init__(
        self, app: DashboardApp, pilot: Pilot[int], clock: StageClock, moments: Mapping[float, Moment]
    ) -> None:
        self.app, self.pilot, self._clock, self._moments = app, pilot, clock, moments

    async def read(self, *moments: float) -> None:
        """Read the account at each of the moments, as polls would have."""
        for hours in moments:
            self._clock.hours = hours
            moment = self._moments[hours]
            for state in self.app.states:
                facts = moment.facts if state.workspace == "acme" else DomainFacts()
                snapshot = moment.snapshot if state.workspace == "acme" else self._moments[CALM].snapshot
                shown = replace(snapshot, workspace=state.workspace)
                board = compose(shown, intervals=intervals(30), domain_facts=facts)
                # A poll sees a pause late: what the bot recorded says since when, on every page.
                starts = [
                    ProblemStart(
                        key=one.key,
                        kind=one.kind,
                        since=pause.at.timestamp(),
                        kind_since=pause.at.timestamp(),
                    )
                    for one in board.conditions
                    if one.kind == PAUSED and (pause := facts.pauses.get(one.where))
                ]
                board = with_starts(board, starts)
                shown = board.snapshot
                tick = Tick(board=board, beats=7)
                self.app.post_message(self.app.Ticked(tick, state))
            await self.settle()

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.pilot.press(key)
            await self.settle()

    async def settle(self) -> None:
        """Wait for what the screen reads."""
        for _ in range(2):
            await self.pilot.pause()
            if reading := [worker for worker in self.app.workers if worker.group in READS]:
                with contextlib.suppress(WorkerCancelled):  # by a later one of its group
                    await self.app.workers.wait_for_complete(reading)  # of none, it would wait for all
            await self.pilot.pause(0.05)
            self.app.second_passed()
            await self.pilot.pause()

    async def picture(self) -> str:
        await self.pilot.pause(0.3)
        await self.settle()
        return self.app.export_screenshot(title="outreach dashboard")


@asynccontextmanager
async def stage(
    size: tuple[int, int],
    *,
    recorded: Recorded,
    others: Sequence[str] = (),
    theme: str = "night",
    wall: bool = False,
) -> AsyncIterator[Stage]:
    clock = StageClock()

    async def run(_: Invocation) -> Result:
        raise AssertionError("nobody changes anything in a picture")

    def state(name: str) -> WorkspaceState:
        feed = FakeFeed(history=HistoryAccess(recorded.history, workspace=name))
        if name == "acme":
            feed.marks, feed.pasts = MARKS, dict(recorded.moments[WORST].facts.pasts)
        changed = PendingChanges(run, now=clock)
        return WorkspaceState(
            workspace=name,
            feed=feed,
            pending_changes=changed,
            open_replies=Replies(recorded.moments[WORST].replies).open,  # type: ignore[arg-type] # pictures only read
        )

    states = [state(name) for name in ("acme", *others)]
    app = DashboardApp(states, now=clock, theme_name=theme, wall=wall)
    async with app.run_test(size=size) as pilot:
        yield Stage(app, pilot, clock, recorded.moments)


@asynccontextmanager
async def filled_history() -> AsyncIterator[Recorded]:
    """Play the account's course, and keep it in a history."""
    moments = await play()
    with tempfile.TemporaryDirectory() as folder:
        async with History(parse_url(f"sqlite:///{folder}/history.db")) as history:
            for hours, moment in moments.items():
                await history.add(moment.snapshot, now=at(hours))
            yield Recorded(history, moments)


async def pictures(history: Recorded, names: Iterable[str]) -> dict[str, str]:
    """Draw the pictures of these names."""
    return {f"{name}.svg": small(await DRAWN[name](history)) for name in names}


def board(*moments: float, size: tuple[int, int] = LARGE, theme: str = "night", wall: bool = False,
          others: Sequence[str] = (), keys: Sequence[str] = ()) -> Callable[[Recorded], Awaitable[str]]:  # fmt: skip
    """A picture of the last of the moments, after the keys."""

    async def draw(history: Recorded) -> str:
        async with stage(size, recorded=history, theme=theme, wall=wall, others=others) as shown:
            await shown.read(*moments)
            await shown.press(*keys)
            return await shown.picture()

    return draw


async def recorded(history: Recorded) -> str:
    """The first domain pauses, its page, the wall, the page of the incident."""
    async with stage(SMALL, recorded=history) as shown:
        await shown.read(CALM)
        frames: list[str] = []
        for moments, keys in (
            ((FIRST,), ()),
            ((), ("enter",)),
            ((4.25, WORST), ("w",)),
            ((), ("4",)),
        ):
            await shown.read(*moments)
            await shown.press(*keys)
            frames.append(await shown.picture())
    return recording(frames)


DRAWN: dict[str, Callable[[Recorded], Awaitable[str]]] = {
    "dashboard": board(CALM),
    "dashboard-day": board(CALM, theme="day", size=(120, 36)),
    "dashboard-trouble": board(CALM, FIRST, 4.25, WORST),
    "dashboard-wall": board(CALM, FIRST, 4.25, WORST, wall=True),
    "dashboard-all": board(CALM, FIRST, 4.25, WORST, others=("globex",), size=(120, 24), keys=("5",)),
    "dashboard-replay": board(OVER, size=(120, 36), keys=("@", *"18 Nov 15:00", "enter")),
    "dashboard-incident": board(CALM, FIRST, 4.25, WORST, size=(140, 36), keys=("4",)),
    "dashboard-replies": board(CALM, FIRST, 4.25, WORST, size=(120, 28), keys=("3",)),
    "dashboard-crisis": recorded,
}
"""The functions that draw, by the names of their files."""


def recording(frames: Sequence[str]) -> str:
    """One SVG that shows the frames in turn, forever; each keeps its own style classes.

    Readers who want no motion see the first one.
    """
    whole, share = EACH * len(frames), 100 / len(frames)
    head = re.match(r"<svg[^>]*>", frames[0])
    assert head
    parts = [
        re.sub(r"terminal-\d+-", f"f{number}-", re.sub(r"^<svg[^>]*>|</svg>\s*$", "", frame.strip()))
        for number, frame in enumerate(frames)
    ]
    style = (
        f"@keyframes turn {{ 0%, {share:.3f}% {{ visibility: visible }} {share + 0.001:.3f}%, 100% "
        "{ visibility: hidden } } .frame { visibility: hidden; "
        f"animation: turn {whole}s step-end infinite }} "
        "@media (prefers-reduced-motion: reduce) { .frame { animation: none } "
        ".frame:first-of-type { visibility: visible } }"
    )
    shown = [
        f'<g class="frame" style="animation-delay:{number * EACH - whole if number else 0}s">{part}</g>'
        for number, part in enumerate(parts)
    ]
    return f"{head[0]}<style>{style}</style>{''.join(shown)}</svg>"


def small(picture: str) -> str:
    """The same without fonts from elsewhere, and without what no viewer needs."""
    # GitHub loads no font from elsewhere.
    picture = re.sub(r"@font-face\s*\{[^}]*\}\s*", "", picture)
    # Each line has one, and none cuts anything off.
    picture = re.sub(r'<clipPath id="[^"]*-line-\d+">.*?</clipPath>', "", picture, flags=re.DOTALL)
    picture = re.sub(r' clip-path="url\(#[^"]*-line-\d+\)"', "", picture)
    picture = re.sub(r"terminal-\d+-", "t-", picture)
    picture = picture.replace("Fira Code", "DejaVu Sans Mono, Menlo, Consolas")
    return re.sub(r">\s+<", "><", picture).strip() + "\n"
