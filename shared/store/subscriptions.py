"""The subscriptions of channels: events at once, and digests at their times, each posted once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from shared.domain.wall_clock import MORNING, Recurrence, moment, parse_recurrence
from shared.frozen import frozen
from shared.records import ALL_RULES, Subscription
from shared.store import facts, jobs, messages
from shared.store.db.engine import Repository, Transaction, reads, writes
from shared.store.db.schema import literal, posts
from shared.store.deliveries import subscriptions_of
from shared.store.jobs import Job
from shared.store.messages import PlannedPost
from shared.store.post_kinds import ANSWER

LATEST_SECONDS = 6 * 3600.0
"""The time for which a digest is still given: a bot that was away overnight does not begin with old ones."""
EVERY = ("day", "week")
"""The rhythms of digests."""


class Subscriptions(Repository):
    """The subscriptions and the digests of channels, as commands read and change them."""

    @reads
    def subscriptions(self, tx: Transaction, workspace: str, channel: str) -> Sequence[Subscription]:
        """The subscriptions of a channel, or of every channel."""
        wanted = subscriptions_of(tx, [workspace])[workspace]
        return [subscription for subscription in wanted if channel in {"", subscription.channel}]

    @writes
    def subscribe(self, tx: Transaction, workspace: str, subscriptions: Sequence[Subscription]) -> None:
        """Add subscriptions; one that is there takes the new form."""
        for wanted in subscriptions:
            value = {"condensed": wanted.condensed}
            facts.put(tx, "subscription", _key(wanted), value, workspace=workspace)

    @writes
    def unsubscribe(self, tx: Transaction, workspace: str, subscriptions: Sequence[Subscription]) -> int:
        """Remove exactly these; returns how many there were."""
        dropped = [
            facts.drop(tx, "subscription", _key(unwanted), workspace=workspace) for unwanted in subscriptions
        ]
        return sum(dropped)

    @reads
    def digest_at(self, tx: Transaction, workspace: str, channel: str) -> str | None:
        """The times of a channel's digests: a rhythm, or two joined by `and`."""
        rhythms = [facts.find(tx, "digest", f"{every}/{channel}", workspace=workspace) for every in EVERY]
        return " and ".join(str(rhythm.value["at"]) for rhythm in rhythms if rhythm) or None

    @writes
    def set_digest(self, tx: Transaction, workspace: str, channel: str, at: str | None) -> None:
        """Set a channel's daily or weekly digest or, with None, end both."""
        if at is None:
            for every in EVERY:
                facts.drop(tx, "digest", f"{every}/{channel}", workspace=workspace)
            return
        key = f"{_recurrence(at).every}/{channel}"
        facts.put(tx, "digest", key, {"at": at}, workspace=workspace, at=tx.now)
        jobs.put(tx, "digest", key, workspace=workspace, at=_next(at, tx.now), how="replace")

    @writes
    def restate(self, tx: Transaction, workspace: str, setting: str, title: str, *, number: int) -> None:
        """Have the earlier messages about a setting say how it is now, without the buttons that belonged to what it was.

        `number` is that of the change in the audit: of two changes at the same time the later one counts.
        """
        about = about_setting(workspace, setting)
        newest = facts.lock(tx, "setting", about)
        if newest.get("number", 0) > number > 0:
            title = str(newest["title"])
        else:
            facts.put(tx, "setting", about, {"number": number, "title": title})
        earlier = posts.c.dedupe.startswith(about, autoescape=True)
        # In the very words of the index of what isn't an alert, else all posts are read.
        earlier &= posts.c.kind != literal("alert")
        messages.redraw(tx, (posts.c.kind == ANSWER) & earlier, clicked=True, note=_titled(title))

    @writes
    def plan_about(
        self, tx: Transaction, workspace: str, setting: str, post: PlannedPost, *, number: int
    ) -> None:
        """Plan the message of a change; one that was overtaken meanwhile says how the setting is now."""
        newest = facts.lock(tx, "setting", about_setting(workspace, setting))
        if newest.get("number", 0) > number > 0:
            post = replace(post, note=_titled(str(newest["title"])))
        messages.plan(tx, [(workspace, post)])

    async def give_up_channel(self, channel: str) -> None:
        """Nothing is posted to the channel any more: messages that it rejected are dropped."""
        await self.database.drain(partial(messages.drop_some, channel=channel))


def _titled(title: str) -> str:
    return json.dumps({"title": title}, ensure_ascii=False)


def about_setting(workspace: str, setting: str) -> str:
    """The beginning of the `dedupe` of messages about a setting."""
    place = "" if setting == ALL_RULES else workspace
    return f"{ANSWER}:{place}:{setting}:"


def _key(subscription: Subscription) -> str:
    names = (subscription.channel, subscription.event, subscription.sequence, subscription.inbox)
    return facts.key_of(*names)


def _recurrence(at: str) -> Recurrence:
    recurrence = parse_recurrence(at.split())
    return recurrence if isinstance(recurrence, Recurrence) else Recurrence(at=MORNING)


def _next(at: str, now: float) -> float:
    return _recurrence(at).next_after(moment(now)).timestamp()


@frozen
class DueDigest:
    """The digest of a job, due at a moment."""

    due_at: float
    days: int
    """The number of days that it is about: those since the one before."""


class Digests(Repository):
    """The digests of the channels, each with a job of the kind `digest` that looks at it at its times."""

    @writes
    def due(self, tx: Transaction, job: Job) -> DueDigest | None:
        """A digest whose time has come since it was given last; else its job waits for the next time.

        The next time is computed at each look: of two days in a year, one has no 02:30, and one has two.
        """
        rhythm = facts.find(tx, "digest", job.key, workspace=job.workspace)
        if rhythm is None:
            jobs.done(tx, job)
            return None
        recurrence = _recurrence(rhythm.value["at"])
        due = recurrence.last_before(moment(tx.now))
        at, days = due.timestamp(), recurrence.days_since_last(due)
        if (rhythm.at or 0.0) < at and tx.now - at < LATEST_SECONDS:
            return DueDigest(due_at=at, days=days)
        _put_off(tx, job, rhythm.value["at"])
        return None

    @writes
    def give(self, tx: Transaction, job: Job, due: DueDigest, note: str) -> bool:
        """Mark it as given and plan its message, together; False when another process has, or it was changed."""
        rhythm = facts.find(tx, "digest", job.key, workspace=job.workspace, locked=True)
        if rhythm is None or (rhythm.at or 0.0) >= due.due_at:
            jobs.again(tx, job, after=0.0)
            return False
        facts.put(tx, "digest", job.key, rhythm.value, workspace=job.workspace, at=due.due_at)
        every, _, channel = job.key.partition("/")
        dedupe = f"digest:{job.workspace}:{channel}:{every}:{due.due_at:.0f}"
        planned = PlannedPost(dedupe=dedupe, channel=channel, kind="digest", note=note)
        messages.plan(tx, [(job.workspace, planned)])
        _put_off(tx, job, rhythm.value["at"])
        return True


def _put_off(tx: Transaction, job: Job, at: str) -> None:
    jobs.again(tx, job, after=max(0.0, _next(at, tx.now) - tx.now))
