"""Changes and commands from the dashboard: the pause dialog, undo, and typed lines.

Everything that changes something passes `Acts.run`, which refuses it while the past is shown: whichever key, button or
line it came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from shared.commands import Invocation, UsageError, invocation, parse
from shared.commands.base import DOMAIN, Act, Arguments, Question, Result
from shared.commands.pause import Pause, Resume, SetStatus
from shared.commands.times import End, read_end
from shared.commands.undo import Undo, UndoChange
from shared.domain.card import Card, Tone
from shared.text.formats import short_duration
from shared.text.sanitize import visible
from tui.feed.pending_changes import changeable
from tui.feed.workspace_state import WorkspaceState
from tui.model.lines import SequenceLine
from tui.model.offers import Offer, offers
from tui.screens.dialogs import CardDialog, question_dialog
from tui.screens.prompt import Palette, Prompt

if TYPE_CHECKING:
    from tui.app.dashboard import DashboardApp

TIME_HINT = "Pause for how long: 2h, a day, until monday 9am. Enter asks, Esc cancels."
PAST = Card(
    title="You are viewing the past",
    tone=Tone.WARN,
    text=("You are viewing the past. Nothing was changed; press Esc to return to now.",),
)
NOTHING_CHOSEN = "Choose a sequence that is active or paused, or a domain."


@dataclass(frozen=True, slots=True)
class Acts:
    """Asks before anything changes, in the workspace that was shown when it was asked for."""

    app: DashboardApp

    # -- keys ------------------------------------------------------------------------------------------

    def pause(self, lines: Sequence[SequenceLine], *, domain: str, end: str = "") -> None:
        """Pause or resume what the cursor is on, after one question; `end` as in `pause X END`."""
        status, ids = changeable(line.sequence for line in lines)
        arguments: Arguments
        if domain or status == "paused":
            target = (f"{DOMAIN}{domain}",) if domain else ids
            pause_end = read_end(end.split())
            if end and pause_end is None:
                self.app.toast(f"“{end}” isn't a duration, a day or a time.", severity="warning")
                return
            arguments = Pause(target=target, end=pause_end or End())
        elif ids:
            arguments = Resume(target=ids)
        else:
            self.app.toast(NOTHING_CHOSEN, severity="warning")
            return
        self.start(invocation(arguments))

    async def ask_time(self, lines: Sequence[SequenceLine], *, domain: str) -> None:
        """Ask until when, then pause."""

        def given(text: str | None) -> None:
            if text and text.strip():
                self.pause(lines, domain=domain, end=text.strip())

        await self.app.push_screen(Prompt(sign="for 2h", hint=TIME_HINT), given)

    def undo(self) -> None:
        """The newest change that is not undone yet, then the one before; who presses the key has said yes."""
        self.start(invocation(Undo()))

    # -- lines and buttons -----------------------------------------------------------------------------

    async def prompt(self, actions: Sequence[Offer]) -> None:
        page = self.app.screen

        def chosen(offer: Offer) -> None:
            if offer.action:
                self.app.run_worker(page.run_action(offer.action), group="actions")
            else:
                self.run_typed(offer.line)

        frame = self.app.frame
        offered = partial(
            offers, sequences=frame.board.sequences, actions=actions, only_reads=frame.only_reads
        )
        await self.app.push_screen(Palette(offers=offered, chosen=chosen))

    def run_typed(self, line: str) -> None:
        try:
            self.start(parse(line.strip()))
        except UsageError as error:
            self._show(error.card)

    def start(self, asked: Invocation) -> None:
        """Ask, run and tell, in the background; a failure shows a notice and ends nothing."""
        self.app.run_worker(self._whole(asked), group="commands")

    async def _whole(self, asked: Invocation) -> None:
        state, page = self.app.state, self.app.screen
        done = await self.run(asked, state)
        if isinstance(done, Question):
            act = done.choices[0].act
            is_undo = isinstance(act, UndoChange)
            yes = Invocation(arguments=act, line=done.line) if is_undo else await self._answer(done)
            if yes is None:
                return
            # In the workspace in which it was asked, even if another one is shown by now.
            done = await self.run(yes, state)
        assert isinstance(done, Result)
        if done.changed and done.card.tone not in {Tone.WARN, Tone.BAD}:
            self._receipt(done, state)
        elif (asked.changes and not done.card.buttons) or self.app.screen is not page:
            self.app.tell(done.card)
        else:
            self._show(done.card)

    async def run(self, asked: Invocation, state: WorkspaceState) -> Result | Question:
        """The one place where commands run: what changes something is refused while the past is shown."""
        assert state.pending_changes, "a picture has no keys"
        if asked.changes and self.app.frame.is_past:
            return Result(card=PAST, problem="the past")
        self.app.running = asked.line
        self.app.hand_frame()
        try:
            return await state.pending_changes.run(asked)
        finally:
            self.app.running = ""
            # Read-your-own-writes: the list must not show the status of before until the next poll.
            if state.feed and isinstance(asked.arguments, Act):
                state.feed.read_now()
            self.app.hand_frame()

    # -- questions and answers -------------------------------------------------------------------------

    async def _answer(self, question: Question) -> Invocation | None:
        """Ask a person what to do; exactly what was shown is what runs: the line is not read again."""
        first = question.choices[0].act
        takes_hours = isinstance(first, SetStatus) and first.status == "paused" and first.until is None
        answer = await self.app.push_screen_wait(question_dialog(question, takes_hours=takes_hours))
        if isinstance(answer, timedelta) and isinstance(first, SetStatus):
            timed = replace(first, until=self.app.now() + answer)
            line = f"{question.line} for {short_duration(answer)}"
            return Invocation(arguments=timed, line=line)
        return Invocation(arguments=answer, line=question.line) if isinstance(answer, Act) else None

    def _receipt(self, result: Result, state: WorkspaceState) -> None:
        """One toast for one act, with the key that takes it back."""
        key = self.app.page.key_of("undo")
        whose = "" if state is self.app.state else f"{state.workspace}: "
        undo = f" Press {key} to undo." if result.undoable and not result.undoes and key else ""
        self.app.toast(f"{whose}{visible(result.card.title)}.{undo}")

    def _show(self, card: Card) -> None:
        """Show an answer, and carry out its button that is pressed."""

        def pressed(chosen: object) -> None:
            if chosen is not None:
                self.start(chosen)  # type: ignore[arg-type] # the dialog answers what is asked, or nothing

        self.app.push_screen(CardDialog(card), pressed)
