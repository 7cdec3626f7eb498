"""The dashboard on a screen, over the sandbox's account, driven by keys as a person does."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import time
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial, partialmethod
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual._compositor import Compositor
from textual._context import visible_screen_stack
from textual.app import App
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widgets import Input

from cli.console.resources import open_replies
from shared import settings as shared_settings
from tests.kit.databases import migrated_file
from tests.kit.service import Account
from tests.kit.waiting import is_awaited, until
from tui.app import run
from tui.app.dashboard import DashboardApp
from tui.feed.poller import Poller
from tui.screens.replies import RepliesPage
from tui.theme.palette import NIGHT, Ink

# By identity, as Textual's own, which a page asks a hundred thousand times for: one in Python takes ten times as long.
RuleSet.__hash__ = object.__hash__  # type: ignore[method-assign]

_parse = Stylesheet._parse_rules
_parsed: dict[object, list[RuleSet]] = {}


def _parse_once(sheet: Stylesheet, css: str, **source: Any) -> list[RuleSet]:
    """Give what a part of a style sheet says: the same in every dashboard of a theme, of which each test has its own."""
    key = (css, *source.values(), *sheet._variables.items())
    if key not in _parsed:
        _parsed[key] = _parse(sheet, css, **source)
    return _parsed[key]


Stylesheet._parse_rules = _parse_once  # type: ignore[method-assign, assignment]

_INKS = {NIGHT.ink(ink): ink.value[0] for ink in reversed(Ink)}


def _inks(strip: Strip) -> str:
    """The initials of the inks of a line, in their order, without plain text; what the style sheet colors has none."""
    inks = [
        _INKS.get(color.triplet.hex, "")
        for text, style, _ in strip
        if text.strip() and style and (color := style.color) and color.triplet
    ]
    changes = "".join(ink for ink, _ in itertools.groupby(ink for ink in inks if ink not in {"", "t"}))
    return f"<{changes}>" if changes else ""


def _is_busy(app: App[Any]) -> bool:
    """Whether a message, a callback, a size or a layout waits for its turn: the focus, and with it the cursor and
    scrollbar, follow a few turns after the key."""
    screen = app.screen
    pumps = (app, *screen.walk_children(with_self=True))
    waits = any(pump._next_callbacks or pump.message_queue_size for pump in pumps)
    return waits or bool(screen._callbacks or app._resize_event) or screen._layout_required


async def _turn(*_: object) -> None:
    await asyncio.sleep(0.005)


async def _idle(pilot: Pilot[int]) -> None:
    """Wait until nothing waits for its turn.

    Textual sends all widgets a message and waits until the process uses no time, which the bot in it does, too.
    """
    end = time.monotonic() + 1
    await _turn()
    while _is_busy(pilot.app) and time.monotonic() < end:
        await _turn()


def hasten(patched: pytest.MonkeyPatch) -> None:
    """Have a pilot wait for the dashboard alone."""
    patched.setattr(Pilot, "_wait_for_screen", _idle)
    for module in ("app", "pilot"):
        patched.setattr(f"textual.{module}.wait_for_idle", _turn)


class Screen:
    """A dashboard's screen, its text and its keys."""

    painted = 0
    """How often a terminal would have been painted."""

    def __init__(self, pilot: Pilot[int]) -> None:
        self._pilot = pilot
        self._written: list[str] = []
        assert pilot.app._driver
        pilot.app._driver.write = self._written.append  # type: ignore[method-assign, assignment] # it draws on no terminal
        pilot.app.bell = partial(self._written.append, "\a")  # type: ignore[method-assign] # likewise

    @property
    def notified(self) -> list[str]:
        """The bells, and the sequences with which the terminal was asked to notify the desktop or to copy."""
        return [text for text in self._written if text == "\a" or text.startswith(("\x1b]9;", "\x1b]52;"))]

    @property
    def text(self) -> str:
        """All characters of the screen, a line each."""
        return "\n".join(strip.text.rstrip() for strip in self._strips())

    def _strips(self) -> list[Strip]:
        app = self._pilot.app
        with app._context():  # it runs in a task of its own, and draws where it is asked
            visible_screen_stack.set(app._background_screens)  # what is seen behind a dialog
            return app.screen._compositor.render_strips(app.size)

    def ground(self, row: int) -> str:
        """The name of the color at the beginning of a line."""
        app = self._pilot.app
        with app._context():
            strip = app.screen._compositor.render_strips(app.size)[row]
        colors = [style.bgcolor for _, style, _ in strip if style and style.bgcolor]
        assert colors[0].triplet
        return {NIGHT.alarm: "alarm", NIGHT.caution: "caution"}.get(colors[0].triplet.hex, "")

    async def press(self, *keys: str) -> None:
        # Each is shown for some seconds of the machine: a slow one would still show those of the keys before.
        app = self._pilot.app
        with app._context():
            app.clear_notifications()
            for key in keys:
                await self._pilot.press(key)
                # The next one is for the dialog that this one opens, or for the page after what it does. A command
                # that waits for a slow service isn't waited for.
                end = time.monotonic() + 1
                while self._acts() and time.monotonic() < end:
                    await _turn()
            await self._pilot.pause()

    def _acts(self) -> bool:
        """Whether a command runs that hasn't asked anything, or a page of replies doesn't know yet what its keys may do."""
        app = self._pilot.app
        groups = {"commands", "acts", "actions"}
        page = app.screen
        reads = isinstance(page, RepliesPage) and page._open_queue and not page._permission
        runs = any(one.group in groups and not one.is_finished for one in app.workers)
        return bool(reads or runs) and not isinstance(page, ModalScreen)

    async def click(self, words: str) -> None:
        """Click where these words begin."""
        lines = (await self.until(words)).splitlines()
        row = next(row for row, line in enumerate(lines) if words in line)
        with self._pilot.app._context():
            await self._pilot.click(offset=(lines[row].index(words), row))
            await self._pilot.pause()

    async def resize(self, width: int, height: int) -> None:
        with self._pilot.app._context():
            await self._pilot.resize_terminal(width, height)

    async def type(self, text: str) -> None:
        """Have a text at once in the line that has the focus, as when it is pasted."""
        app = self._pilot.app
        # A dialog takes the focus some turns of the loop after it opened: what comes before that is lost.
        await until(lambda: isinstance(app.focused, Input), "a line to type in")
        line = app.focused
        assert isinstance(line, Input)
        with app._context():
            assert app._driver
            app._driver.send_message(events.Paste(text))
        await until(lambda: text in line.value, "the text in the line")
        with app._context():
            await self._pilot.pause()

    def open_records(self) -> None:
        """Have the bot's records read now, instead of some seconds after what the service has."""
        assert isinstance(self._pilot.app, DashboardApp)
        for state in self._pilot.app.states:
            assert state.feed
            state.feed._is_wanted.set()

    async def refresh(self) -> None:
        """Have everything read again, as the palette's "refresh" does."""
        await self.press("colon")
        await self.type("refresh")
        await self.press("enter")
        await until(lambda: not isinstance(self._pilot.app.screen, ModalScreen), "the palette is closed")

    async def go_back(self) -> None:
        """Press until a moment of the past is shown: the first one is kept once everything was read."""

        async def is_back() -> bool:
            await self.press("left_square_bracket")
            return "REPLAY" in self.text

        await until(is_back)

    async def trip(self) -> None:
        """Have the dashboard make a mistake of its own in the handler of a message."""

        def mistake() -> None:
            raise LookupError("made by a test")

        self._pilot.app.call_later(mistake)
        await self._pilot.pause()

    async def settled(self) -> str:
        """The screen, once keys, commands and readings are through and nothing was painted between two looks.

        Each line has the initials of the inks of its words: a good one, a warning, muted, strong …
        """
        app, painted, strips = self._pilot.app, -1, list[Strip]()
        # The other workers read on and on: the queue of replies, and who may do what with them.
        endless = {"replies", "permission", "tips"}
        with app._context():  # a pause draws what is due
            while True:
                await self._pilot.pause(0.02)
                # Asked after the pause: in it a key may have begun a reading.
                # A dialog is opened by a worker, which then waits for the answer.
                asks = {"acts", "commands"} if isinstance(app.screen, ModalScreen) else set[str]()
                is_working = any(
                    not one.is_finished for one in app.workers if one.group not in endless | asks
                )
                if is_working or self._reads_soon() or _is_busy(app):
                    continue
                if Screen.painted != painted:  # to draw all of it takes longer than the rest of the wait
                    painted, strips = Screen.painted, self._strips()
                    continue
                lines = [f"{strip.text.rstrip()} {_inks(strip)}".rstrip() for strip in strips]
                if "Loading…" not in (shown := "\n".join(lines)):
                    assert "Internal error" not in shown, shown
                    return shown

    def _reads_soon(self) -> bool:
        """Whether a source is being read, or is about to be: after a change, what it changed; and the queue of replies."""
        app = self._pilot.app
        assert isinstance(app, DashboardApp)
        poller = app.state.feed._poller if app.state.feed else None
        soon = asyncio.get_running_loop().time() + 0.1
        is_due = any(due < soon for due in poller._due.values()) if poller else False
        page = app.page
        return is_due or (isinstance(page, RepliesPage) and bool(page._queue and not is_awaited(page._woken)))

    async def until(self, words: str) -> str:
        """Wait until these words are on the screen; the whole of it."""

        looked_at = -1

        def shown() -> str:
            nonlocal looked_at
            if looked_at == Screen.painted:  # to draw all of it takes longer than the rest of the wait
                return ""
            looked_at, text = Screen.painted, self.text
            return text if words in text else ""

        try:
            return str(await until(shown, f"{words!r} on the screen"))
        except AssertionError as error:
            raise AssertionError(f"{error}, but:\n{self.text}") from None


def _read_at_once(poller: Poller, connect: Callable[[Poller, Any], None], client: Any) -> None:
    """Have the first readings begin together: that they come one by one spares a service, and each test waited for it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tui.feed.poller.STAGGER", 0.0)
        connect(poller, client)


def _paint_nothing(compositor: Compositor, **_: Any) -> None:
    compositor._dirty_regions.clear()
    Screen.painted += 1


@contextlib.asynccontextmanager
async def open_screen(
    account: Account,
    folder: Path,
    *,
    size: tuple[int, int] = (160, 48),
    bot: Mapping[str, str] | None = None,
    toml: str = "",
    wall: bool = False,
    is_viewer: bool = False,
    notices_clock: bool = True,
    tip: str = "",
) -> AsyncIterator[Screen]:
    """A dashboard of the account with more settings; `bot` are those of the bot whose database it shares, if any.

    Unless it `notices_clock`, it doesn't read everything again when a test moves the clock.
    """
    config = folder / "dashboard.toml"
    config.write_text(toml)
    config.chmod(0o600)
    environ = {
        "OUTREACH_CONFIG": str(config),
        **account.environ,
        "COLORTERM": "truecolor",
        "TERM": "xterm-256color",
        "OUTREACH_STATE_DIR": str(folder),
        "XDG_STATE_HOME": str(folder),
        **(bot or {"OUTREACH_DATABASE_URL": migrated_file(folder / "bot.db")}),
    }

    opened: asyncio.Future[Pilot[int]] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def drive(app: DashboardApp) -> None:
        async with app.run_test(size=size, notifications=True) as pilot:
            app.animation_level = "none"  # a key waits for what moves
            await pilot.pause()
            opened.set_result(pilot)
            await over.wait()

    patched = pytest.MonkeyPatch()
    # In place of a terminal: everything else is what `outreach dashboard` runs.
    patched.setattr(run, "_run_until_exit", drive)
    # Each look draws the whole screen, so nothing is drawn in between, for no terminal. What is drawn for a real one is
    # looked at in tests/e2e.
    patched.setattr(Compositor, "render_update", _paint_nothing)
    hasten(patched)
    patched.setattr(Poller, "connect", partialmethod(_read_at_once, Poller.connect))
    if bot:
        # Its looks for what is due are up to a third of a long story, and what they find is on no page.
        patched.setattr("bot.worker.POLL_SECONDS", 2.0)
    if not notices_clock:
        patched.setattr("tui.feed.poller.CLOCK_STEP_SECONDS", math.inf)
    load = partial(shared_settings.load, environ=environ)
    replies = open_replies if bot else None
    tips = asyncio.Queue[str]()
    dashboard = run.run_dashboard(
        load,
        tips=tips,
        environ=environ,
        open_replies=replies,
        wall=wall,
        is_viewer=is_viewer,
    )
    if tip:
        tips.put_nowait(tip)
    running = asyncio.create_task(dashboard)
    try:
        either: tuple[asyncio.Future[Any], ...] = (running, opened)
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not opened.done():
            await running  # it failed before there was a screen
        yield Screen(await opened)
    finally:
        over.set()
        assert await running == 0
        patched.undo()
