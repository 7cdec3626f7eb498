"""The dashboard's pictures: its screens over an account in a crisis, and a recording of them, as SVG."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from textual.pilot import Pilot
from textual.worker import WorkerCancelled

from shared.commands.base import Result
from shared.domain.reply_queue import Permission, QueuedReplies, QueuedReply
from shared.history import History
from shared.storage.database import parse_url
from tests.tui.accounts import FakeFeed
from tools.pictures.crisis_account import (
    CALM,
    COURSES,
    FIRST,
    LEADS,
    OVER,
    SEQUENCES,
    WORST,
    account,
    at,
)
from tui.app.dashboard import DashboardApp
from tui.feed.history_access import HistoryAccess
from tui.feed.pending_changes import Asked, PendingChanges
from tui.feed.poller import Tick, intervals
from tui.feed.workspace_state import WorkspaceState
from tui.model.board import compose
from tui.model.happened import Mark, MarkKind

LARGE, SMALL = (150, 44), (110, 32)
EACH = 3.0
"""The recording shows each frame for so many seconds."""
READS = {"health", "lanes", "read", "replay"}
"""Groups of workers that end; the page of replies reads for as long as it is open."""
STEP = 0.25
"""Hours between the snapshots of the history: gaps begin at twenty minutes."""
MARKS = tuple(
    Mark(at=at(hours), kind=kind, subject=about, text=text, about=about)
    for hours, kind, about, text in (
        (3.6, MarkKind.GUARDRAIL, "useacme.example", "guardrail bounces: 7.1%"),
        (5.2, MarkKind.GUARDRAIL, "tryacme.example", "guardrail bounces: 6.4%"),
        (7.1, MarkKind.LOST_REPLY, "getacme.example", "reply found by polling"),
        (8.1, MarkKind.DNS_BROKEN, "meetacme.example", "SPF record is missing"),
    )
)
WORDS = (
    "Hi Ana,\n\nour board asked me about this only yesterday. Do you have a customer in our industry I could talk to?\n\n"
    "Thursday after 10 works for me.\n\nBest, {name}"
)


@dataclass(frozen=True, slots=True)
class Replies:
    """The queue of replies at its worst hour, of which one is claimed and one snoozed."""

    hours: float

    async def permission(self) -> Permission:
        return Permission(name="ann")

    async def read(self) -> QueuedReplies:
        replies = [
            QueuedReply(
                alert_id=f"al_{number}",
                received_at=at(self.hours) - timedelta(minutes=4 + 9 * (len(LEADS) - number)),
                lead=f"{first} {last}",
                email=f"{first.lower()}@{company.split()[0].lower()}.example",
                company=company,
                sequence=SEQUENCES[number],
                text=WORDS.format(name=first),
            )
            for number, (first, last, company) in enumerate(LEADS)
        ]
        claimed_at, later = at(self.hours) - timedelta(minutes=20), at(self.hours) + timedelta(hours=2)
        replies[-2] = replace(replies[-2], snoozed_until=later)
        replies[-1] = replace(replies[-1], claimed_by="ben", claimed_at=claimed_at)
        return QueuedReplies(unclaimed=len(replies) - 2, replies=replies)

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

    def __init__(self, app: DashboardApp, pilot: Pilot[int], clock: StageClock) -> None:
        self.app, self.pilot, self._clock = app, pilot, clock

    async def read(self, *moments: float) -> None:
        """Read the account at each of the moments, as polls would have."""
        for hours in moments:
            self._clock.hours = hours
            for state in self.app.states:
                courses = COURSES if state.workspace == "acme" else COURSES[6:]
                snapshot = account(hours, workspace=state.workspace, courses=courses)
                board = compose(snapshot, intervals=intervals(30))
                tick = Tick(snapshot=snapshot, board=board, changes=(), beats=7)
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
    history: History,
    others: Sequence[str] = (),
    theme: str = "night",
    wall: bool = False,
) -> AsyncIterator[Stage]:
    clock = StageClock()

    async def run(_: Asked) -> Result:
        raise AssertionError("nobody changes anything in a picture")

    def state(name: str) -> WorkspaceState:
        feed = FakeFeed(history=HistoryAccess(history, workspace=name))
        feed.marks = MARKS if name == "acme" else ()
        changed = PendingChanges(run, now=clock)
        return WorkspaceState(
            workspace=name,
            feed=feed,
            pending_changes=changed,
            open_replies=Replies(WORST).open,  # type: ignore[arg-type] # pictures only read
        )

    states = [state(name) for name in ("acme", *others)]
    app = DashboardApp(states, now=clock, theme_name=theme, wall=wall)
    async with app.run_test(size=size) as pilot:
        yield Stage(app, pilot, clock)


@asynccontextmanager
async def filled_history() -> AsyncIterator[History]:
    """The account's history, from its first hour to its last."""
    with tempfile.TemporaryDirectory() as folder:
        async with History(parse_url(f"sqlite:///{folder}/history.db")) as history:
            # At even steps, because a longer one would show as a gap.
            for number in range(int(OVER / STEP) + 1):
                await history.add(account(number * STEP), now=at(number * STEP))
            yield history


async def pictures(history: History, names: Iterable[str]) -> dict[str, str]:
    """Draw the pictures of these names."""
    return {f"{name}.svg": small(await DRAWN[name](history)) for name in names}


def board(*moments: float, size: tuple[int, int] = LARGE, theme: str = "night", wall: bool = False,
          others: Sequence[str] = (), keys: Sequence[str] = ()) -> Callable[[History], Awaitable[str]]:  # fmt: skip
    """A picture of the last of the moments, after the keys."""

    async def draw(history: History) -> str:
        async with stage(size, history=history, theme=theme, wall=wall, others=others) as shown:
            await shown.read(*moments)
            await shown.press(*keys)
            return await shown.picture()

    return draw


async def recorded(history: History) -> str:
    """The first domain pauses, its page, the wall, the page of the incident."""
    async with stage(SMALL, history=history) as shown:
        await shown.read(CALM)
        frames: list[str] = []
        for moments, keys in (
            ((3, FIRST), ()),
            ((), ("enter",)),
            ((7, WORST), ("w",)),
            ((), ("4",)),
        ):
            await shown.read(*moments)
            await shown.press(*keys)
            frames.append(await shown.picture())
    return recording(frames)


DRAWN: dict[str, Callable[[History], Awaitable[str]]] = {
    "dashboard": board(CALM),
    "dashboard-day": board(CALM, theme="day", size=(120, 36)),
    "dashboard-trouble": board(CALM, 3, FIRST, 7, WORST),
    "dashboard-wall": board(CALM, 3, FIRST, 7, WORST, wall=True),
    "dashboard-all": board(CALM, 3, FIRST, 7, WORST, others=("globex",), size=(120, 24), keys=("5",)),
    "dashboard-replay": board(OVER, size=(120, 36), keys=("@", *"18 Nov 15:00", "enter")),
    "dashboard-incident": board(CALM, 3, FIRST, 7, WORST, size=(140, 36), keys=("4",)),
    "dashboard-replies": board(CALM, 3, FIRST, 7, WORST, size=(120, 28), keys=("3",)),
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
