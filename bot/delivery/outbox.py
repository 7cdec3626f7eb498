"""Does what Slack is asked for: posts what waits, looks up posts whose outcome is unknown, and edits messages.

Each outcome is recorded under the lease of its job. A failure of one message must not stop the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from secrets import token_hex

import structlog

from bot import cards
from bot.blockkit import card_blocks
from bot.blockkit.card_blocks import Message, channels_in, with_channel_names
from bot.cards import card_settings
from bot.delivery.routing import Routes
from bot.slack.directory import UserDirectory, Viewer
from bot.slack.messages import MessageSender
from bot.telemetry import metrics
from shared.domain.card import Card, Tone
from shared.settings import Settings
from shared.store import Store, post_kinds
from shared.store.jobs import Again, Done, End, Job
from shared.store.messages import (
    RATE_LIMITED,
    ChannelLease,
    ChannelRefused,
    Look,
    NotSent,
    Outcome,
    PlannedPost,
    Post,
    Sent,
    Settled,
    Unknown,
    Unpostable,
)
from shared.store.post_kinds import ALERT, ANSWER, NOTE

MAX_CHANNELS, MAX_LOOKUPS, MAX_PAINTS = 16, 4, 4
"""Channels that are posted to, places that are read, and messages that are edited at the same time."""
LONGEST_BACKOFF, RENDER_SECONDS = 30.0, 60.0
"""Seconds at most until a failed post is tried again, and until a message that can't be drawn is."""

_FIXES = {
    "not_in_channel": "The bot isn't in the channel. Type /invite @outreach there.",
    "channel_not_found": "The channel was deleted, or is private and the bot isn't in it. Invite the bot, or set the new channel.",
    "is_archived": "The channel is archived. Unarchive it, or set another channel.",
    "missing_scope": "The bot's token lacks a scope. Install the app again with the scopes in manifest.yml.",
    "token_revoked": "The bot's token was revoked. Install the app again and set the new SLACK_BOT_TOKEN.",
    "invalid_auth": "The bot's token is invalid. Set a valid SLACK_BOT_TOKEN.",
    "ekm_access_denied": "Your organization's key management suspended the workspace. An admin of Slack can restore it.",
    "account_inactive": "The bot's account was deactivated. Install the app again and set the new SLACK_BOT_TOKEN.",
}

log = structlog.get_logger("delivery")


class Outbox:
    """Handles jobs of the kinds `post`, `lookup` and `paint`."""

    def __init__(
        self,
        store: Store,
        messages: MessageSender,
        *,
        settings: Settings,
        routes: Routes,
        directory: UserDirectory,
        planned: Callable[[], None],
    ) -> None:
        self._store, self._messages, self._routes = store, messages, routes
        self._cards = card_settings(settings)
        self._directory, self._planned = directory, planned
        alerts = [workspace.alert_channel for workspace in settings.workspaces.values()]
        self._others = [one for one in (settings.routes.fallback, *alerts) if one]
        self.slack_error = ""
        """Slack's last error; empty after a success."""

    def note_lost_token(self, error: str) -> None:
        self.slack_error = error

    def report(
        self, broken: str, posts: Sequence[Post], outcome: Outcome, settled: Settled
    ) -> PlannedPost | None:
        """The note to another channel that this one breaks or recovers; None: nothing changed, or there is none."""
        name = self._directory.known_name(broken)
        channel = next((one for one in self._others if one != broken), "")
        if settled.broke and isinstance(outcome, ChannelRefused):
            event, card = "broke", _broken(name, outcome.error)
            if outcome.moved_to:  # there its own people are told
                event, card, channel = "moved", _moved(broken, outcome.moved_to), outcome.moved_to
        elif settled.gave_up and isinstance(outcome, Unpostable) and posts[0].kind != NOTE:
            event, card = "gave up", _given_up(name, outcome.error)
        elif settled.recovered:
            text = ("Held alerts are being posted.",)
            event, card = "recovered", Card(f"{name} accepts alerts again", tone=Tone.GOOD, text=text)
        else:
            return None
        dedupe = f"note:{event}:{broken}:{token_hex(8)}"
        post = PlannedPost(dedupe=dedupe, channel=channel, kind=NOTE, note=cards.write_note(card))
        return post if channel else None

    async def _draw(self, posts: Sequence[Post]) -> Message:
        first = posts[0]
        card = cards.restated(first.note) if first.kind == ANSWER and not first.change else None
        if card:
            viewer = Viewer(channel=first.channel)  # everybody there reads it
            named = {one: await self._directory.shown_name(one, viewer) for one in channels_in(card)}
            return card_blocks.render_condensed(with_channel_names(card, named))
        return cards.message(posts, self._cards)

    async def post(self, channel: Job, deadline: float) -> None:
        """Post one message in this channel."""
        lease = await self._store.posting.turn(channel)
        if lease is None:
            return
        outcome = await self._post(lease, deadline=deadline)
        if isinstance(outcome, ChannelRefused):
            await self._directory.channel(lease.channel)  # the report names it
        await self._store.posting.settle(lease, outcome, report=self.report)
        self._note_outcome(lease, outcome)

    async def _post(self, lease: ChannelLease, *, deadline: float) -> Outcome:
        first = lease.posts[0]
        try:
            message = await self._draw(lease.posts)
        except Exception as error:
            log.exception("card not rendered", alerts=_named(lease.posts))
            return Unpostable(error=f"can't be rendered: {type(error).__name__}")
        policy = self._routes.routing.channel_policy(lease.channel)
        outcome = await self._messages.post(
            lease.channel,
            message,
            payload=cards.payload(lease.posts),
            deadline=deadline,
            thread_ts=first.thread_ts,
            broadcast=post_kinds.kind_of(first.kind).broadcast and policy.broadcast,
        )
        if isinstance(outcome, NotSent) and outcome.error != RATE_LIMITED:
            seconds = min(LONGEST_BACKOFF, outcome.after * 2.0 ** min(first.attempts, 6))
            return NotSent(error=outcome.error, after=seconds)
        return outcome

    def _note_outcome(self, lease: ChannelLease, outcome: Outcome) -> None:
        if isinstance(outcome, Sent):
            self.slack_error = ""
            log.info("posted", channel=lease.channel, alerts=_named(lease.posts), ts=outcome.ts)
            for post in lease.posts:
                metrics.POSTED.labels(post.kind).inc()
                if post.kind == ALERT and post.alert and not post.alert.found:
                    metrics.POST_SECONDS.observe(max(0.0, time.time() - post.alert.received_at))
            return
        error = getattr(outcome, "error", "")
        if isinstance(outcome, ChannelRefused | NotSent | Unknown):
            self.slack_error = error or self.slack_error
        name, alerts = type(outcome).__name__, _named(lease.posts)
        log.warning("alert not posted", channel=lease.channel, alerts=alerts, outcome=name, error=error)

    async def look_up(self, place: Job, deadline: float) -> None:
        """Look for the posts that are uncertain in this place."""
        lookup = await self._store.posting.place(place)
        if lookup is None:
            return
        try:
            look = await self._messages.look(
                lookup.channel,
                {post.key for post in lookup.posts},
                since=lookup.since,
                age=lookup.age,
                deadline=deadline,
                thread_ts=lookup.thread_ts,
                position=lookup.position,
            )
        except Exception as error:
            log.exception("look-up failed", channel=lookup.channel)
            look = Look(error=type(error).__name__)
        if look.found:
            await self._directory.channel(lookup.channel)
        await self._store.posting.settle_lookup(lookup, look, report=self.report)
        write = log.warning if look.error else log.info
        write(
            "looked up",
            channel=lookup.channel,
            alerts=_named(lookup.posts),
            found=sorted(look.found.values()),
            complete=look.complete,
            error=look.error,
        )

    async def paint(self, job: Job, _deadline: float) -> End | None:
        """Edit a message to show the current state of its posts; its job ends with the outcome."""
        repaints, posts = self._store.repaints, await self._store.repaints.message(job)
        if not posts:
            return Done()
        channel = posts[0].channel
        try:
            message = await self._draw(posts)
        except Exception:
            log.exception("card not rendered", alerts=_named(posts))
            return Again(after=RENDER_SECONDS)
        outcome = await self._messages.repaint(channel, posts[0].ts, message, payload=cards.payload(posts))
        match outcome:
            case Sent():
                await repaints.done(job, posts)
            case NotSent(error=error) if error == RATE_LIMITED:
                await repaints.throttled(job, seconds=outcome.after)
            case Unpostable(error=error):
                renewed = await repaints.refused(job, posts)
                log.warning("edit refused", channel=channel, error=error, renewed=renewed)
                if renewed:
                    self._planned()
            case _:
                await repaints.failed(job)
        return None


def _named(posts: Sequence[Post]) -> list[str]:
    return [post.alert_id or post.kind for post in posts]


def _broken(channel: str, error: str) -> Card:
    fix = _FIXES.get(error, f"Slack's error: {error}. Check with `outreach doctor`.")
    text = (fix, "Its alerts are kept, and posted when the channel accepts them again.")
    return Card(f"Can't post to {channel}", tone=Tone.BAD, text=text)


def _moved(old: str, new: str) -> Card:
    cure = f"Replace {old} with {new} in the settings and reload them."
    again = f"What was subscribed by command: subscribe again here, then type `/outreach unsubscribe all <#{old}>`."
    text = (f"Slack changed the id of this channel from {old} to {new}. Its alerts wait.", cure, again)
    return Card("This channel has a new id", tone=Tone.BAD, text=text)


def _given_up(channel: str, error: str) -> Card:
    text = (
        f"Slack refuses it ({error}), and the bot no longer tries. `/outreach replies` lists the replies that nobody "
        "has claimed, with their text."
    )
    return Card(f"A message for {channel} can't be posted", tone=Tone.BAD, text=(text,))
