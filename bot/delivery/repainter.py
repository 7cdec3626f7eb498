"""Updates messages that no longer show the current state."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import structlog

from bot.alerts import rendering
from bot.blockkit.card_blocks import Message
from bot.runtime.wakeup import Wakeup
from bot.slack.messages import MessageSender
from shared.records.records import RecordsUnavailable
from shared.store import Store
from shared.store.queue.leases import RATE_LIMITED, ChannelRefused, NotSent, Outcome, Sent, Unpostable
from shared.store.queue.posts import Post

POLL = 0.5
"""Seconds between checks for work that other processes left: a claim in the dashboard is on its card within a second."""
MAX_REPAINTS = 4
"""Messages updated concurrently, within their lease."""
RENDER_PAUSE = 60.0
"""Seconds until a message that couldn't be rendered is retried."""

log = structlog.get_logger("repainter")


Draw = Callable[[Sequence[Post]], Awaitable[Message]]


async def draw(store: Store, posts: Sequence[Post], *, several: bool, link: str = "") -> Message:
    """The message for the current state of its posts. Raises `RecordsUnavailable`.

    `several`: workspaces are named; `link`: the address of a lead's page, as the settings have it.
    """
    return rendering.message(posts, several=several, link=link)


class Repainter:
    """`run` until cancelled; `wakeup` is set when something may be due, `planned` called when there is a new post."""

    def __init__(
        self,
        store: Store,
        messages: MessageSender,
        *,
        draw: Draw,
        wakeup: Wakeup,
        planned: Callable[[], None],
    ) -> None:
        self._store, self._messages, self._draw, self._wakeup = store, messages, draw, wakeup
        self._planned = planned

    async def run(self) -> None:
        """Update what is due, in parallel with the worker, so that no alert waits for an update."""
        while True:
            try:
                pause = await self._round()
            except RecordsUnavailable as error:
                log.warning("database unavailable", error=str(error))
                pause = POLL
            await self._wakeup.wait(min(POLL, pause))

    async def _round(self) -> float:
        due = await self._store.repaints.next_in()
        if due == 0:  # at rest nothing is written
            messages = await self._store.repaints.claim(limit=MAX_REPAINTS)
            await asyncio.gather(*(self._repaint_post(message) for message in messages))
            due = await self._store.repaints.next_in()
        return POLL if due is None else due

    async def _repaint_post(self, message: Sequence[Post]) -> None:
        try:
            outcome = await self._repaint(message)
        except RecordsUnavailable:
            raise
        except Exception:  # an unexpected failure of one message must not stop the others
            log.exception("card not rendered", alerts=[post.alert_id for post in message])
            return await self._store.repaints.postpone(message, seconds=RENDER_PAUSE)
        match outcome:
            case Sent():
                await self._store.repaints.done(message)
            case NotSent(error=error) if error == RATE_LIMITED:
                await self._store.repaints.throttled(message, seconds=outcome.after)
            case Unpostable(error=error):
                renewed = await self._store.repaints.refused(message)
                log.warning("edit refused", channel=message[0].channel, error=error, renewed=renewed)
                if renewed:
                    self._planned()
            case _:
                refuses = isinstance(outcome, ChannelRefused)
                await self._store.repaints.failed(message, channel_refuses=refuses)
        return None

    async def _repaint(self, message: Sequence[Post]) -> Outcome:
        return await self._messages.repaint(
            message[0].channel,
            message[0].ts,
            await self._draw(message),
            payload=rendering.payload(message),
        )
