"""The application: the one frame that pages show, where keys lead, and what the feed delivers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import App
from textual.binding import Binding
from textual.driver import Driver
from textual.message import Message
from textual.notifications import SeverityLevel
from textual.worker import Worker, WorkerFailed

from shared.domain.card import Card, Tone
from shared.domain.local_zone import local_zone
from shared.settings.value_types import THEMES
from shared.text.formats import show_number
from shared.text.sanitize import visible
from tui.app.own_errors import ErrorLog, OwnError
from tui.app.replay import Replay, parse_moment
from tui.feed.poller import Tick
from tui.feed.workspace_state import WorkspaceState
from tui.model.board import DomainFacts
from tui.model.facts import Read
from tui.model.frame import Frame
from tui.model.lines import Freshness, PageRef
from tui.model.offers import Offer
from tui.model.replies import ReplyNews
from tui.model.workspaces import WorkspaceLine
from tui.screens.base import Page
from tui.screens.board import BoardPage
from tui.screens.details import PAGES, SPAN, DetailPage, SequencesPage, WorkspacesPage
from tui.system.notifications import OFF, TerminalNotifier
from tui.theme.error_boundary import ErrorBoundary
from tui.theme.palette import PALETTES, theme

if TYPE_CHECKING:
    from tui.app.acts import Acts

STAGGER = 1.0
"""Seconds between the starts of workspaces, so that they do not all read at once."""
PAINT_SECONDS = 0.2
"""The time for the first screen to be laid out and painted, which the loading of the client would hold up."""
LOOK_EVERY = timedelta(seconds=15)
"""The time between two readings of what a page shows beside the frame."""
SCRUBBED = timedelta(hours=24)
"""The time that the lanes below a past board cover."""
MOST_TOASTS = 2
TOAST_SECONDS = 15.0
SEEK_HINT = "Go to a time: 14:02, yesterday 9:00, 21 Nov 14:02, or how long ago: 20m, 3h. Esc cancels."
NO_HISTORY = "The history isn't open yet. Try again in a moment."
ACTIONS = (
    Offer(line="export", about="Write this view as CSV, text and SVG", action="app.export"),
    Offer(line="theme", about="Next theme: night, day, contrast", action="app.next_theme"),
    Offer(line="refresh", about="Read everything again now", action="app.refresh"),
    Offer(line="copy", about="Copy the id or address of the chosen line", action="app.copy_line"),
)
"""The palette offers these beside commands and keys."""


def utc_now() -> datetime:
    return datetime.now(UTC)


class DashboardApp(ErrorBoundary, App[int]):
    """The dashboard of one or more workspaces; a workspace may lack a feed, a history and commands."""

    CSS_PATH: ClassVar[Path] = Path(__file__).parents[1] / "theme" / "app.tcss"
    ENABLE_COMMAND_PALETTE = False

    @dataclass
    class Ticked(Message):
        """A new board and its workspace; default: the first."""

        tick: Tick
        state: WorkspaceState | None = None

    def __init__(
        self,
        workspaces: Sequence[WorkspaceState],
        *,
        now: Callable[[], datetime] = utc_now,
        theme_name: str = "",
        only_theme: str = "",
        keys: Mapping[str, str] | None = None,
        wall: bool = False,
        folder: Path | None = None,
        error_log: ErrorLog | None = None,
        on_alarm: Callable[[Iterable[str]], object] = lambda _: None,
        notifier: TerminalNotifier | None = None,
        driver_class: type[Driver] | None = None,
        notice: str = "",
        tips: asyncio.Queue[str] | None = None,
    ) -> None:
        super().__init__(driver_class)
        self.now = now
        self.states = tuple(workspaces)
        self.state = self.states[0]
        """The workspace that is shown."""
        self.frame = Frame.empty("", now=datetime.min.replace(tzinfo=UTC))
        """All that a page may know; the feed, the clock and replay set it, and nothing else.

        A `reactive` would have the whole screen painted again each second.
        """
        self.failure: Exception | None = None
        self.running = ""
        """The command line that is being carried out."""
        self._start_on_wall = wall
        self._folder = folder
        self._error_log = error_log
        self._own_error: OwnError | None = None
        self._notice = notice
        self._tips = tips
        self._seen_notice = ""
        self._replay: Replay | None = None
        self._read: dict[PageRef, Read] = {}
        self._on_alarm = on_alarm
        self._notifier = notifier or TerminalNotifier(choice=OFF, environ={})
        self._news = {state.workspace: ReplyNews(since=now()) for state in self.states}
        for name in PALETTES:
            self.register_theme(theme(name))
        self._themes = (only_theme,) if only_theme else THEMES
        self.theme = theme_name if theme_name in self._themes else self._themes[0]
        self._keys = dict(keys or {})
        self.set_keymap(self._keys)
        self.board = BoardPage()

    def get_default_screen(self) -> BoardPage:
        """The board is the lowest screen: an empty one below it would be laid out first."""
        return self.board

    def on_mount(self) -> None:
        """Show what is known at once, then let the ticks come."""
        self.hand_frame()
        if self._start_on_wall:
            self.action_open("wall")
        for warning in unknown_keys(self._keys):
            self.toast(warning, severity="warning")
        self.set_interval(1.0, self.second_passed, name="clock")
        first, *others = self.states
        self.set_timer(PAINT_SECONDS, partial(self.board.call_after_refresh, self._start, first))
        for number, state in enumerate(others, start=1):
            # Each has a budget of its own, but they share this machine.
            self.set_timer(number * STAGGER, partial(self._start, state))
        if self._tips:
            self.run_worker(self._show_tips(self._tips), group="tips")

    async def _show_tips(self, tips: asyncio.Queue[str]) -> None:
        while True:
            self.toast(await tips.get())

    def _start(self, state: WorkspaceState) -> None:
        if state.feed:
            state.feed.start(lambda tick: self.post_message(self.Ticked(tick, state)), self._fail)

    def _fail(self, error: Exception) -> None:
        self.failure = error
        self.exit()

    async def on_unmount(self) -> None:
        for state in self.states:
            if state.feed:
                await state.feed.aclose()

    @cached_property
    def acts(self) -> Acts:
        """Everything that changes something; loaded at the first act, because it loads the commands."""
        from tui.app.acts import Acts

        return Acts(self)

    # -- the frame -------------------------------------------------------------------------------------

    def _live_frame(self) -> Frame:
        own = self._own_error.words(self.now()) if self._own_error else ""
        history = self.state.history
        notice = history.notice if history and history.notice != self._seen_notice else ""
        notices = [text for text in (own, self._notice, notice) if text]
        mode = f"{self.running}…" if self.running else ""
        return self.state.frame(now=self.now(), notices=notices, mode=mode)

    def hand_frame(self) -> None:
        """Have the page at the front painted, with another frame where it shows the present.

        An equal frame is painted too: what was read for a page isn't in it.
        """
        page = self.page
        if self._replay is None:
            self.frame = self._live_frame()
        page.paint(self._live_frame() if page.is_always_live and self._replay else self.frame)

    def second_passed(self) -> None:
        """Update ages and clocks."""
        self.hand_frame()
        # While the past is shown nothing that it shows can change.
        page = self.page
        if self._replay is None and page.looked_at and self.now() - page.looked_at >= LOOK_EVERY:
            self.read_for(page)
        if self._driver and (sequence := self._notifier.due(self.now())):
            self._driver.write(sequence)

    @on(Ticked)
    def _ticked(self, message: Ticked) -> None:
        tick, state = message.tick, message.state or self.states[0]
        raised = state.take(tick, now=self.now())
        # With one workspace its name would only make every alarm longer.
        prefix = f"{state.workspace}: " if len(self.states) > 1 else ""
        alarms = [prefix + alarm.told(self.now()) for alarm in raised]
        if alarms:
            self.bell()
            self._on_alarm(alarms)
        for text in (*alarms, *(prefix + text for text in self._news[state.workspace].of(tick.snapshot))):
            self._notifier.tell(text)
        if state.pending_changes and (refuted := state.pending_changes.confirm(tick.snapshot)):
            self.toast("\n".join(map(visible, refuted)), severity="error")
        self.hand_frame()

    # -- pages -----------------------------------------------------------------------------------------

    @property
    def pages(self) -> list[Page]:
        """The stack that Esc goes up, the board first.

        While the app closes, its timer and its commands still run without a screen.
        """
        return [screen for screen in self.screen_stack if isinstance(screen, Page)] or [self.board]

    @property
    def page(self) -> Page:
        """The page that is seen, also behind a dialog."""
        return self.pages[-1]

    @property
    def path(self) -> tuple[str, ...]:
        """The real stack, below the workspace."""
        return tuple(page.name_in_path for page in self.pages[1:])

    def go(self, about: PageRef, *, is_beside: bool = False) -> None:
        """Go down to a thing; or beside the page of one of its kind."""
        if is_beside:
            self.pop_screen()
        self.push_screen(PAGES[about.kind](about))

    def action_climb(self, levels: int) -> None:
        for _ in range(levels):
            if len(self.pages) > 1:
                self.pop_screen()

    def action_open(self, name: str) -> None:
        """One of the pages of the first level, in place of whatever is open."""
        self.action_climb(len(self.pages) - 1)
        if name != "board":
            self.push_screen(self._made(name))

    def _made(self, name: str) -> Page:
        # Late: a page is loaded when it is opened first.
        if name == "replies":
            from tui.screens.replies import RepliesPage

            return RepliesPage(self.state)
        if name == "incidents":
            from tui.screens.incidents import IncidentsPage, range_for

            starts = (alarm.condition.began for alarm in self.state.alarms)
            return IncidentsPage(span=range_for(min(filter(None, starts), default=None), now=self.frame.now))
        if name == "wall":
            from tui.screens.wall import WallPage

            return WallPage(began=self.now())
        return WorkspacesPage() if name == "workspaces" else SequencesPage()

    def workspace_lines(self) -> list[WorkspaceLine]:
        return [WorkspaceLine(frame=state.frame(now=self.now())) for state in self.states]

    def enter(self, workspace: str) -> None:
        """Another workspace's board; filters and the past stay behind."""
        state = next(state for state in self.states if state.workspace == workspace)
        self.leave_past()
        if state is not self.state:
            self.state = state
            self._read.clear()
            for panel in (self.board.domains, self.board.inboxes):
                panel.table.reset()
        self.action_open("board")
        self.hand_frame()

    # -- what is read for a page -------------------------------------------------------------------------

    def read_of(self, about: PageRef) -> Read:
        """Give what was read about a thing; what wasn't is read now. Nothing in the past, which has what was known then."""
        if self.frame.is_past:
            return Read()
        if about not in self._read:
            self._read[about] = Read()
            self._work(partial(self._read_about, about), group="read")
        return self._read[about]

    def read_for(self, page: Page) -> None:
        """Read the health, or the lanes, that a page shows, and its facts once more."""
        page.looked_at = self.now()
        if isinstance(page, DetailPage):
            self._work(partial(self._read_health, page), group="health")
            if not self.frame.is_past:
                self._work(partial(self._read_about, page.about), group="read")
        elif page.lane_span:
            self._work(partial(self._read_lanes, page, page.lane_span), group="lanes")

    def _work(self, work: Callable[[], Coroutine[Any, Any, None]], *, group: str) -> None:
        """Run it beside the keys; of a group but `read` the one before is given up."""
        _: Worker[None] = self.run_worker(work, group=group, exclusive=group != "read")

    async def _read_about(self, about: PageRef) -> None:
        feed = self.state.feed
        if feed is None:
            return
        if about.kind == "domain":
            # Else what is looked at in the first seconds would stay unknown.
            await feed.records_open()
            past = (await feed.domain_pasts([about.key])).get(about.key)
            facts, advice = await feed.domain_dns(about.key)
            self._read[about] = Read(past=past, dns=facts, advice=advice)
        elif about.kind == "inbox":
            self._read[about] = Read(sent_today=(await feed.sent_today()).get(about.key))
        self.hand_frame()

    async def _read_health(self, page: DetailPage) -> None:
        state = self.state
        if state.history is None:
            page.show_course(None)  # it says that there is none, instead of nothing
            return
        course = await state.history.health(
            page.about,
            span=SPAN,
            points=page.course.size.width,
            now=self.frame.now,
            thresholds=self.frame.board.thresholds,
        )
        if page.is_mounted:
            page.show_course(course)

    async def _read_lanes(self, page: Page, span: timedelta) -> None:
        """Every domain over time, up to what is shown; the board's scrubber goes up to now."""
        state, frame = self.state, self.frame
        end, board = frame.now, frame.board
        if page is self.board and state.board:
            end, board = self.now(), state.board
        inboxes = board.snapshot.inboxes.value
        if state.history is None or inboxes is None:
            return
        start = end - span
        fresh = frame.is_past or frame.freshness("inboxes") < Freshness.LATE
        recorded = await state.feed.recorded_marks(board.snapshot, start=start, end=end) if state.feed else ()
        incident = await state.history.incident(
            inboxes, recorded, start=start, end=end, fresh=fresh, thresholds=board.thresholds
        )
        page.set_incident(incident)

    # -- alarms ----------------------------------------------------------------------------------------

    def acknowledge(self, where: str | None) -> None:
        """The alarm about something, else all; where none is new, the notices about the dashboard itself."""
        state = self.state
        if self.frame.notices and not self.frame.new_alarms:
            self._own_error, self._notice = None, ""
            self._seen_notice = state.history.notice if state.history else ""
        else:
            has_own = any(alarm.where == where for alarm in state.alarms)
            state.acknowledge(where if has_own else None, now=self.now())
        self.hand_frame()

    # -- the past --------------------------------------------------------------------------------------

    def leave_past(self) -> bool:
        if self._replay is None:
            return False
        self._replay = None
        self.hand_frame()
        self.read_for(self.page)
        return True

    def action_step(self, by: int) -> None:
        self._work(partial(self._move, lambda replay: replay.step(by)), group="replay")

    async def action_seek(self) -> None:
        """An hour ago, unless another time is typed."""
        from tui.screens.prompt import Prompt  # late: seldom needed

        await self.push_screen(Prompt(sign="at", hint=SEEK_HINT, value="1h"), self._seek)

    def _seek(self, text: str | None) -> None:
        if not text or not text.strip():
            return
        wanted = parse_moment(text, now=self.now(), zone=local_zone())
        if wanted is None:
            self.toast(f"“{text.strip()}” isn't a time in the past.", severity="warning")
        else:
            self._work(
                partial(self._move, lambda replay: replay.seek(wanted, now=self.now()), wanted),
                group="replay",
            )

    async def _move(self, move: Callable[[Replay], Replay], wanted: datetime | None = None) -> None:
        state, now = self.state, self.now()
        if state.history is None:
            self.toast(NO_HISTORY, severity="warning")
            return
        at = self._replay.at if self._replay else None
        before = await Replay.open(state.history, now=now, at=at)
        replay = move(before)
        if not replay.moments or (self._replay and (replay.place, before.place) == (0, 0)):
            self.toast(replay.end_words(now), severity="warning")
        elif wanted and (missed := replay.missed(wanted, now=now)):
            self.toast(missed, severity="warning")
        board = None
        if not replay.live:
            board = await replay.board(state.history, like=state.last, thresholds=self.frame.board.thresholds)
        if board and state.feed:
            paused = [domain.domain for domain in board.verdict.domains if domain.paused]
            facts = DomainFacts(pasts=await state.feed.domain_pasts(paused))
            board = replace(board, domain_facts=facts.known_at(replay.at))
        if state is not self.state:
            return
        if board is None:
            self.leave_past()
            return
        was_live, self._replay = self._replay is None, replay
        changes = tuple(change for change in state.changes if change.at <= replay.at)
        active = sum(len(state.alarms) for state in self.states)
        mode = replay.words(now) + (f" · now: {show_number(active, 'alarm')}" if active else "")
        self.frame = Frame(
            board=board, now=replay.at, changes=changes, is_past=True, mode=mode, only_reads=True
        )
        self.hand_frame()
        if was_live:
            self._work(partial(self._read_lanes, self.board, SCRUBBED), group="scrubber")
        self.read_for(self.page)

    # -- keys ------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A key that would be refused isn't shown."""
        if action == "open":
            return parameters != ("workspaces",) or len(self.states) > 1
        return action != "undo" or not self.frame.only_reads

    def action_undo(self) -> None:
        self.acts.undo()

    async def action_commands(self) -> None:
        offered = list(ACTIONS)
        for active in self.page.active_bindings.values():
            key = active.binding
            if active.enabled and key.id and key.id != "commands":
                offered.append(
                    Offer(
                        line=key.description,
                        about=str(key.tooltip),
                        key=self.get_key_display(key),
                        action=key.action,
                    )
                )
        await self.acts.prompt(offered)

    def action_help(self) -> None:
        from tui.screens.dialogs import HelpDialog  # late: seldom needed

        keys = list(self.page.active_bindings.values())
        self.push_screen(HelpDialog(keys, title=self.page.name_in_path or "Board"))

    def action_refresh(self) -> None:
        if feed := self.state.feed:
            feed.read_now()

    def action_next_theme(self) -> None:
        at = self._themes.index(self.theme) + 1
        self.theme = self._themes[at % len(self._themes)]

    def action_copy_line(self) -> None:
        panel = self.page.panel
        if panel and panel.table.line:
            key = visible(panel.table.line.key)
            self.copy_to_clipboard(key)
            self.toast(f"Copied: {key}")

    def action_export(self) -> None:
        """Write the list as CSV, the board as text and the screen as a picture into the folder, or to the browser."""
        from tui.screens import report  # late: seldom needed

        panel = self.page.panel
        if panel is None:  # a page that isn't laid out yet
            return
        made = report.files(self.frame, panel.table, picture=self.export_screenshot())
        if self._folder is None:
            name = f"{report.stem_of(self.frame.now)}.zip"
            self.deliver_binary(report.packed(made), save_filename=name)
            return
        try:
            report.write(self._folder, made)
        except OSError as error:
            self.toast(f"Export failed: {error.strerror}", severity="error")
        else:
            self.toast(f"Exported {len(made)} files to {self._folder}")

    def toast(self, text: str, *, title: str = "", severity: SeverityLevel = "information") -> None:
        """A notice in plain text."""
        self.notify(text, title=title, severity=severity, timeout=TOAST_SECONDS, markup=False)

    def tell(self, card: Card) -> None:
        """Show an answer as a toast: another page may be open by now."""
        severities: dict[Tone, SeverityLevel] = {Tone.BAD: "error", Tone.WARN: "warning"}
        title, text = visible(card.title), " ".join(map(visible, card.text))
        heading = title if text else ""
        self.toast(text or title, title=heading, severity=severities.get(card.tone, "information"))

    def _refresh_notifications(self) -> None:
        """The oldest make room, so that two at most stand over the page."""
        for old in list(self._notifications)[:-MOST_TOASTS]:
            del self._notifications[old]
        super()._refresh_notifications()

    # -- errors of our own -----------------------------------------------------------------------------

    def _handle_exception(self, error: Exception) -> None:
        """Once the screen stands, an exception costs one message, not the dashboard; before that it ends it."""
        if self._error_log is None or not self.board.is_mounted:
            super()._handle_exception(error)
        else:
            # What failed beside the keys comes wrapped, without its trace.
            cause = error.error if isinstance(error, WorkerFailed) else error
            self._own_error = self._error_log.note(cause, now=self.now())


def unknown_keys(keys: Mapping[str, str]) -> list[str]:
    """Warnings about names in `[dashboard.keys]` that no key has."""
    if not keys:
        return []
    import difflib  # late: only who renames keys pays for it

    from tui.screens.incidents import IncidentsPage
    from tui.screens.replies import RepliesPage

    bindings = (*Page.BINDINGS, *IncidentsPage.BINDINGS, *RepliesPage.BINDINGS)
    names = [binding.id for binding in bindings if isinstance(binding, Binding) and binding.id]
    warnings = []
    for name in (name for name in keys if name not in names):
        near = difflib.get_close_matches(name.lower(), names, n=1)
        hint = f"did you mean {near[0]}?" if near else "valid names are in docs/dashboard.md"
        warnings.append(f"[dashboard.keys] {visible(name)} isn't a key name; {hint}")
    return warnings
