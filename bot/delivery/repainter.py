"""Updates messages that no longer show the current state."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

import structlog

from bot.alerts import rendering
from bot.alerts.links import Links
from bot.blockkit.card_blocks import Message
from bot.slack.messages import MessageSender
from shared.records.records import RecordsUnavailable
from shared.store import Store
from shared.store.jobs import Again, Done, End, Job
from shared.store.queue.leases import RATE_LIMITED, ChannelRefused, NotSent, Outcome, Sent, Unpostable
from shared.store.queue.posts import Post

MAX_REPAINTS = 4
"""Messages updated concurrently."""
RENDER_PAUSE = 60.0
"""Seconds until a message that couldn't be rendered is retried."""

log = structlog.get_logger("repainter")


Draw = Callable[[Sequence[Post]], Awaitable[Message]]


async def draw(store: Store, posts: Sequence[Post], *, several: bool, links: Links) -> Message:
    """The message for the current state of its posts. Raises `RecordsUnavailable`.

    `several`: workspaces are named.
    """
    return rendering.message(posts, several=several, links=links)


class Repainter:
    """Handles jobs of the kind `paint`; `planned` is called when there is a new post."""

    def __init__(
        self, store: Store, messages: MessageSender, *, draw: Draw, planned: Callable[[], None]
    ) -> None:
        self._store, self._messages, self._draw, self._planned = store, messages, draw, planned

    async def __call__(self, stale: Sequence[Job], _deadline: float) -> Mapping[Job, End]:
        """Update these messages."""
        return {job: end for job in stale if (end := await self._update(job))}

    async def _update(self, job: Job) -> End | None:
        """None where the end of the job is written with the outcome."""
        repaints, message = self._store.repaints, await self._store.repaints.message(job)
        if not message:
            return Done()
        try:
            outcome = await self._repaint(message)
        except RecordsUnavailable:
            raise
        except Exception:  # an unexpected failure of one message must not stop the others
            log.exception("card not rendered", alerts=[post.alert_id for post in message])
            return Again(after=RENDER_PAUSE)
        match outcome:
            case Sent():
                await repaints.done(job, message)
            case NotSent(error=error) if error == RATE_LIMITED:
                await repaints.throttled(job, seconds=outcome.after)
            case Unpostable(error=error):
                renewed = await repaints.refused(job, message)
                log.warning("edit refused", channel=message[0].channel, error=error, renewed=renewed)
                if renewed:
                    self._planned()
            case _:
                refuses = isinstance(outcome, ChannelRefused)
                await repaints.failed(job, message[0].channel, channel_refuses=refuses)
        return None

    async def _repaint(self, message: Sequence[Post]) -> Outcome:
        return await self._messages.repaint(
            message[0].channel,
            message[0].ts,
            await self._draw(message),
            payload=rendering.payload(message),
        )
