"""The page of replies: unclaimed first, with the words of the chosen one; claimed and closed in the name of a Slack user."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.containers import Container, VerticalScroll
from textual.widget import Widget

from shared.domain.card import Button, Card, Tone
from shared.domain.reply_queue import Change, Permission, QueuedReplies, QueuedReply, ReplyQueue, Verb
from shared.domain.snapshot import Reading
from shared.records import RecordsUnavailable
from shared.text.sanitize import visible
from tui.feed.workspace_state import WorkspaceState
from tui.model.frame import Frame
from tui.model.lines import Stamp
from tui.model.offers import Offer
from tui.model.replies import COLUMNS, DELETED, ReplyLine
from tui.model.rich_card import paragraph
from tui.screens.base import Page, key
from tui.screens.dialogs import CardDialog
from tui.screens.prompt import Prompt
from tui.theme.palette import SIGNS, Ink
from tui.theme.words import Words
from tui.widgets.table import ListTable, Panel
from tui.widgets.text import CardText, TextLine

logger = logging.getLogger(__name__)

EVERY_SECONDS = 0.5
"""The time between two looks at the bot's records: a click in Slack is seen here within a second."""
PERMISSION_EVERY_SECONDS = 30.0
AGAIN_SECONDS = 5.0
"""The time until a database that couldn't be used is tried again."""
MOST_NAMES = 12
NO_RECORDS = "Replies are in the bot's database, which this dashboard doesn't share."
IN_TERMINALS = "Work on replies in Slack or in a terminal: signing in here doesn't tell who you are in Slack."
READ_ONLY = "This dashboard is read-only."
NO_BOT = "No bot is running: cards in Slack change once it runs again."
UNTIL = "Until when: 2h, tomorrow, monday, or a day such as 2026-12-01. Enter snoozes, Esc cancels."
TO_WHOM = "To whom: a name in Slack. Tab completes, Enter assigns, Esc cancels."
WHY = "Why not interested? Enter closes the reply, Esc cancels."
OTHER_REASON = Button(label="Another reason …")
UNDONE_BY: Mapping[str, Verb] = {
    "claim": "release",
    "release": "claim",
    "snooze": "wake",
    "done": "reopen",
    "dismiss": "reopen",
}


class RepliesPage(Page):
    """Reads the queue again and again while it is open; every act goes through it, and nothing is kept here."""

    name_in_path = "Replies"
    is_always_live: ClassVar[bool] = True
    BINDINGS: ClassVar[list[BindingType]] = [
        key("replies.claim", "c", "act('claim')", "claim", "Claim; asks before you take it over"),
        key("replies.done", "d", "act('done')", "done", "Mark it done"),
        key("replies.snooze", "z", "act('snooze')", "snooze", "Snooze it, or end its snooze"),
        key("replies.dismiss", "x", "act('dismiss')", "not interested", "Close it, with a reason"),
        key("replies.assign", "A", "act('assign')", "assign", "Assign it to a person"),
        key("replies.release", "R", "act('release')", "release", "Release a claim", show=False),
        key("replies.undo", "u", "undo", "undo", "Undo your last act on a reply"),
    ]

    def __init__(self, state: WorkspaceState) -> None:
        super().__init__()
        self._open_queue, self._only_reads = state.open_replies, state.only_reads
        self._queue: ReplyQueue | None = None
        self._permission: Permission | None = None
        self._reading: Reading[QueuedReplies] = Reading()
        self._woken = asyncio.Event()
        self._undos: list[tuple[Verb, QueuedReply]] = []
        """What takes the acts back that were done here, the newest last."""

    def parts(self) -> Iterable[Widget]:
        empty = "No unclaimed replies." if self._open_queue else self._refusal
        self.replies = Panel("replies", title="Replies", columns=COLUMNS, empty=empty)
        self.who = TextLine(id="reply-who")
        self.words = CardText(id="reply-words")
        self.note = TextLine(id="note")
        with Container(id="replies-parts"):
            yield self.replies
            with VerticalScroll(id="reply"):  # Tab leads to a long one, and the arrows scroll it
                yield self.who
                yield self.words
        yield self.note

    def on_mount(self) -> None:
        self.run_worker(self._follow(), group="replies")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in {"act", "undo"}:
            return bool(self._permission and not self._refusal)
        return super().check_action(action, parameters)

    # -- reading -----------------------------------------------------------------------------------------

    async def _follow(self) -> None:
        """Read until the page is left; a database that doesn't answer is tried again."""
        while self._open_queue:
            try:
                async with self._open_queue() as self._queue:
                    asking = self._look_at_permission(self._queue)
                    self.run_worker(asking, group="permission", exclusive=True)
                    while True:
                        queued = await self._queue.read()
                        self._reading = Reading(value=queued, read_at=self.app.now())
                        self.again()
                        with contextlib.suppress(TimeoutError):
                            async with asyncio.timeout(EVERY_SECONDS):
                                await self._woken.wait()
                        self._woken.clear()
            except RecordsUnavailable as error:
                logger.warning("the queue of replies: %s", error)
                self._reading = self._reading.failed(str(error), cause=str(error), at=self.app.now())
                self.again()
            finally:
                self._queue = None  # an act in between is refused, not lost
            await asyncio.sleep(AGAIN_SECONDS)

    async def _look_at_permission(self, queue: ReplyQueue) -> None:
        while self._queue is queue:
            with contextlib.suppress(RecordsUnavailable):
                self._permission = await queue.permission()
            self.again()
            self.refresh_bindings()
            await asyncio.sleep(PERMISSION_EVERY_SECONDS)

    # -- what is shown -----------------------------------------------------------------------------------

    @property
    def line(self) -> ReplyLine | None:
        line = self.replies.table.line
        return line if isinstance(line, ReplyLine) else None

    @property
    def _refusal(self) -> str:
        """The reason why nothing can be changed here; empty where it can, or isn't known yet."""
        if self._open_queue is None:
            return IN_TERMINALS if self.app.is_web else NO_RECORDS
        if self._only_reads:
            return READ_ONLY
        return self._permission.refusal if self._permission else ""

    def show(self, frame: Frame) -> None:
        if self._open_queue is None:
            self.replies.show(())
            return
        queued, now = self._reading.value or QueuedReplies(), self.app.now()
        lines = tuple(ReplyLine(reply=reply, now=now) for reply in queued.replies)
        aside, listed = f"{queued.unclaimed:,} unclaimed", sum(reply.is_unclaimed for reply in queued.replies)
        if not queued.unclaimed and self._permission and not self._permission.bot_runs:
            aside = "none recorded"  # nobody records replies, so none is known to be claimed
        if listed < queued.unclaimed:
            aside += f", the oldest {listed:,} listed"
        stamp = Stamp(self._reading, interval=EVERY_SECONDS)
        self.replies.show(
            lines,
            freshness=stamp.freshness(now),
            stamp=stamp,
            age=stamp.words(now),
            aside=aside if self._reading.value else "",
        )
        # A new reply at the top must not slip under the cursor between a look and a key.
        self.replies.table.stay()
        self._show_words()
        self._show_note()

    def _show_words(self) -> None:
        """The chosen reply as the lead wrote it; a long one stays where it was scrolled to."""
        line = self.line
        if line is None:
            self.who.set(Words())
            self.words.set("", "")
            return
        reply = line.reply
        place = " · ".join(filter(None, (reply.company, reply.email, reply.sequence)))
        self.who.set(Words(((f"{visible(line.who)} ", Ink.STRONG), (f" {visible(place)}", Ink.MUTED))))
        text = reply.text or DELETED
        if self.words.set(text, paragraph(text)):
            self.query_one("#reply", VerticalScroll).scroll_to(y=0, animate=False)

    def _show_note(self) -> None:
        """Say why the list is old, or in whose name its replies are worked on."""
        permission, sign = self._permission, SIGNS[Tone.WARN]
        if self._reading.failed_since:
            self.note.set(Words.of(f" {sign} {visible(self._reading.error or '')}", Ink.WARN))
        elif self._refusal:
            self.note.set(Words(((" Read-only: ", Ink.WARN), (visible(self._refusal), Ink.TEXT))))
        elif permission and not permission.bot_runs:
            self.note.set(Words.of(f" {sign} {NO_BOT}", Ink.WARN))
        elif permission:
            self.note.set(Words.of(f" You are @{visible(permission.name)} in Slack.", Ink.MUTED))

    @on(ListTable.Picked)
    def _picked(self, event: ListTable.Picked) -> None:
        if isinstance(event.line, ReplyLine):
            self.app.push_screen(CardDialog(event.line.card))

    # -- keys ------------------------------------------------------------------------------------------

    def action_act(self, verb: Verb) -> None:
        """Do it with the chosen reply."""
        line = self.line
        if line is None:
            self.app.toast("There is no reply to choose.", severity="warning")
        else:
            self._start("wake" if verb == "snooze" and line.reply.snoozed_until else verb, line.reply)

    def action_undo(self) -> None:
        if self._undos:
            self._start(*self._undos.pop(), is_undo=True)
        else:
            self.app.toast("Nothing to undo.", severity="warning")

    def _start(self, verb: Verb, reply: QueuedReply, *, is_undo: bool = False) -> None:
        if queue := self._queue:  # else the note says why there is none
            work = self._act(verb, reply, queue, is_undo=is_undo)
            self.run_worker(work, group="acts", exclusive=True)

    async def _act(self, verb: Verb, reply: QueuedReply, queue: ReplyQueue, *, is_undo: bool) -> None:
        try:
            person = await self._ask_person(queue) if verb == "assign" else ""
            if person is not None:
                change = await queue.act(verb, reply.alert_id, person=person)
                await self._answered(change, verb, reply, queue, is_undo=is_undo)
        except RecordsUnavailable as error:
            unsure = Card(title="Not changed, as far as is known", tone=Tone.BAD, text=(str(error),))
            self.app.tell(unsure)

    async def _answered(
        self, change: Change, verb: Verb, reply: QueuedReply, queue: ReplyQueue, *, is_undo: bool
    ) -> None:
        """Tell what was done, or ask what the answer asks, until something is done or given up."""
        asked_again = False
        while not change.changed:
            card = change.card
            buttons = [button for button in card.buttons if button.action]
            if not buttons:
                self.app.tell(card)
                return
            if verb == "dismiss":
                buttons, card = [*buttons, OTHER_REASON], replace(card, footer="")
            asked_again = asked_again or verb in {"claim", "assign"}
            asked = CardDialog(replace(card, buttons=tuple(buttons)), answers=buttons)
            chosen = await self.app.push_screen_wait(asked)
            if not isinstance(chosen, Button):
                return
            given = await self._ask_rest(chosen, queue)
            if given is None:
                return
            which = "person" if chosen.picks_person else "detail"
            if chosen.action is None:
                change = await queue.act(verb, reply.alert_id, detail=given)
            else:
                change = await queue.press(chosen.action, **{which: given})
        self.app.tell(Card(title=change.card.title))
        self._woken.set()
        if is_undo:  # the next one takes back what was done before, not this
            return
        if verb in UNDONE_BY and not asked_again:
            self._undos.append((UNDONE_BY[verb], reply))
        else:  # such as a claim that took a reply from someone, which releasing it wouldn't give back
            self._undos.clear()

    async def _ask_rest(self, chosen: Button, queue: ReplyQueue) -> str | None:
        """Ask for what a button still needs; None where the person gave up."""
        if chosen.picks_person:
            return await self._ask_person(queue)
        if chosen.picks_time:
            return await self.app.push_screen_wait(Prompt(sign="until", hint=UNTIL)) or None
        if chosen.action is None:
            return await self.app.push_screen_wait(Prompt(sign="reason", hint=WHY)) or None
        return ""

    async def _ask_person(self, queue: ReplyQueue) -> str | None:
        names = await queue.people()

        def suggest(typed: str) -> list[Offer]:
            begun = typed.strip().lstrip("@").casefold()
            fitting = [name for name in names if name.casefold().startswith(begun)]
            return [Offer(line=f"@{name}") for name in fitting[:MOST_NAMES]]

        given = await self.app.push_screen_wait(Prompt(sign="assign to", hint=TO_WHOM, offers=suggest))
        name = (given or "").strip().lstrip("@")
        return f"@{name}" if name else None
