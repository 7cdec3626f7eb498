"""Sends answers through the delivery queue: within the same limits as alerts, before them, and safe from failures.

An answer about a change survives a rate limit or a restart, because it waits in the store like an alert.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

import structlog

from bot.alerts import answers
from bot.alerts.notes import write_note
from bot.blockkit.actions import change_of
from bot.commands.answer import Answer
from bot.interactions.responders import Thread, render_answer
from bot.slack.directory import UserDirectory
from bot.slack.web_api import WebApi
from shared.records.records import RecordsUnavailable
from shared.store import Store
from shared.store.messages import PlannedPost
from shared.store.post_kinds import ANSWER
from shared.store.subscriptions import about_setting

URGENCY = 3
"""Above every alert."""

log = structlog.get_logger("answers")


class AnswerQueue:
    """`post` queues an answer; calls `changed` when there is something to post."""

    def __init__(
        self, store: Store, slack: WebApi, directory: UserDirectory, *, changed: Callable[[], None]
    ) -> None:
        self._store, self._slack, self._directory, self._changed = store, slack, directory, changed

    async def post(self, answer: Answer, *, channel: str, thread_ts: str = "", about: str = "") -> None:
        """Queue it, once per `about`; if the store doesn't respond, send it directly."""
        change = next(filter(None, (change_of(one.action) for one in answer.card.buttons)), 0)
        place = f"{channel}:{about or secrets.token_hex(8)}"
        subject = about_setting(answer.workspace, answer.setting) if answer.setting else f"{ANSWER}:"
        planned = PlannedPost(
            dedupe=f"{subject}{place}",
            channel=channel,
            kind=ANSWER,
            urgency=URGENCY,
            note=write_note(answer.card) if change else answers.write(render_answer(answer)),
            thread_ts=thread_ts,
            undo=change,
        )
        try:
            await self._store.outbox.plan(answer.workspace, planned)
        except RecordsUnavailable as error:
            log.warning("an answer is sent without the queue", error=str(error))
            await Thread(self._slack, channel=channel, thread_ts=thread_ts).reply(answer)
        else:
            self._changed()

    def thread(self, channel: str, thread_ts: str) -> Thread:
        return Thread(self._slack, channel=channel, thread_ts=thread_ts)

    async def post_where_known(self, answer: Answer, *, channel: str, thread_ts: str = "") -> bool:
        """Queue it if the bot can post in the channel, and so edit it later; returns whether it did."""
        try:
            known = await self._store.outbox.reaches(channel) or await self._directory.can_post(channel)
        except RecordsUnavailable:
            known = False
        if known:
            await self.post(answer, channel=channel, thread_ts=thread_ts)
        return known


class QueuedThread:
    """The thread of a mention, or a conversation with the bot."""

    def __init__(self, queue: AnswerQueue, *, channel: str, about: str, thread_ts: str = "") -> None:
        self._queue, self._channel, self._about, self._thread = queue, channel, about, thread_ts
        self._progress = queue.thread(channel, thread_ts)

    async def show_progress(self) -> None:
        await self._progress.show_progress()

    async def reply(self, answer: Answer) -> None:
        """In the place of the progress; what changed something is a message of its own, which lasts over a restart."""
        if self._progress.is_shown and not answer.public and not answer.noted:
            return await self._progress.reply(answer)
        if not answer.noted:
            await self._queue.post(answer, channel=self._channel, thread_ts=self._thread, about=self._about)
        return await self._progress.remove()
