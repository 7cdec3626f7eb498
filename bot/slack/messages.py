"""Posts and updates messages; each call returns an outcome for the store.

The question is whether a message may exist without a response. Not after a connection that failed before the request
was sent, a rejection or a 429; possibly after a timeout, a lost connection, a 5xx or `internal_error`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from bot.blockkit import Message
from bot.slack.web_api import NO_UNFURL, ODD_ANSWER, POST, SlackError, WebApi, plainer_body
from shared.api.pace import boot_time
from shared.frozen import frozen
from shared.store.facts import HISTORY, REPLIES
from shared.store.messages import (
    RATE_LIMITED,
    ChannelRefused,
    Look,
    Lookup,
    NotSent,
    Outcome,
    Sent,
    Unknown,
    Unpostable,
)

EVENT_TYPE = "outreach_alert"
PAGES = 20
"""Pages that a reading of the history has at most."""
PAGE = 200
"""Messages on a page."""
CLOCKS_APART = 900.0
"""Seconds that Slack's clock and ours may differ: three times what Slack's own signatures allow."""

_GATEWAY = {502, 503, 504}
"""A gateway that answers so may have handed the request on, and it may still be under way."""

_UNKNOWN = {
    "internal_error",
    "fatal_error",
    "service_unavailable",
    "request_timeout",
    "team_added_to_org",
    ODD_ANSWER,
}
_CHANNEL = {
    "channel_not_found",
    "not_in_channel",
    "is_archived",
    "is_inactive",
    "restricted_action",
    "restricted_action_read_only_channel",
    "restricted_action_thread_only_channel",
    "messages_tab_disabled",
    "user_not_found",
    "user_not_visible",
    "user_disabled",
    "cannot_dm_bot",
}
_WORKSPACE = {
    "invalid_auth",
    "not_authed",
    "token_revoked",
    "token_expired",
    "account_inactive",
    "missing_scope",
    "not_allowed_token_type",
    "org_login_required",
    "team_access_not_granted",
    "access_denied",
    "no_permission",
    "accesslimited",
    "ekm_access_denied",
    "enterprise_is_restricted",
    "message_limit_exceeded",
    "team_not_found",
    "two_factor_setup_required",
}
"""Slack says these to every post, until someone changes something about the workspace or the app."""
_THREAD = {"thread_not_found", "cannot_reply_to_message", "restricted_action_thread_locked"}


class MessageSender:
    """Posts, repaints and looks for messages."""

    def __init__(self, slack: WebApi, *, timeout: float) -> None:
        self._slack = slack
        self._timeout = timeout
        """Seconds for a call."""

    async def post(
        self,
        channel: str,
        message: Message,
        *,
        payload: Mapping[str, Any],
        deadline: float,
        thread_ts: str = "",
        broadcast: bool = False,
    ) -> Outcome:
        """Post once, and not after `deadline` (see `boot_time`), because another process may have the channel then.

        If Slack rejects the form, a simpler one is sent; if the thread was deleted, the message goes to the channel.
        """
        call = _call(channel, message, payload) | NO_UNFURL
        if thread_ts:
            call |= {"thread_ts": thread_ts, "reply_broadcast": broadcast}
        try:
            call["channel"] = await self._slack.message_channel(channel, posting=True)
        except SlackError as error:
            outcome = outcome_of(error)
            return NotSent(after=2.0, error=outcome.error) if isinstance(outcome, Unknown) else outcome
        # Begun later than this, it would be cut off while Slack works on it.
        while (remaining := deadline - boot_time()) >= self._timeout / 2:
            try:
                answer = await self._slack.request(POST, remaining, call)
            except SlackError as error:
                outcome = outcome_of(error)
                if (simpler := plainer_body(POST, call, error)) is not None:
                    call = simpler
                elif isinstance(outcome, Unpostable) and outcome.error in _THREAD and "thread_ts" in call:
                    del call["thread_ts"], call["reply_broadcast"]
                else:
                    return outcome
            else:
                ts = answer.get("ts")
                return Sent(ts=ts) if isinstance(ts, str) and ts else Unknown(error=ODD_ANSWER, answered=True)
        return NotSent(after=0.0)

    async def repaint(
        self, channel: str, ts: str, message: Message, *, payload: Mapping[str, Any]
    ) -> Outcome:
        """Redraw a message; `Unpostable`: Slack lets nobody edit it, or not so."""
        call = _call(channel, message, payload)
        try:
            await self._slack.call("chat.update", seconds=self._timeout, ts=ts, **call)
        except SlackError as error:
            return outcome_of(error)
        return Sent(ts=ts)

    async def look(self, lookup: Lookup, *, deadline: float) -> Look:
        """Look in the channel, or in the thread, for the messages of posts, until `deadline` (see `boot_time`).

        They were tried after `since` by our clock; the earlier moment counts by Slack's clock, for
        ours may have been ahead and stayed so.
        """
        found: dict[str, str] = {}
        keys, age = {post.key for post in lookup.posts}, max(0.0, lookup.began_at - lookup.since)
        try:
            earliest = min(lookup.since, await self._slack.server_time() - age)
            query = {"oldest": f"{max(0.0, earliest - CLOCKS_APART):.6f}"}
            query |= {"ts": lookup.thread_ts} if lookup.thread_ts else {}
            for page in range(PAGES):  # newer messages first
                if page and deadline - boot_time() < self._timeout / 4:
                    return Look(found=found, error="the time allowed ran out")
                answer = await self._slack.read(
                    REPLIES if lookup.thread_ts else HISTORY,
                    seconds=min(self._timeout, max(1.0, deadline - boot_time())),
                    channel=lookup.channel,
                    limit=PAGE,
                    include_all_metadata="true",
                    **query,
                )
                ours, cursor = _ours(answer.data)
                found |= {key: ts for key, ts in ours.items() if key in keys and key not in found}
                if not cursor or len(found) == len(keys):
                    return Look(found=found, complete=not cursor)
                query["cursor"] = cursor
        except SlackError as error:
            outcome = outcome_of(error)
            if isinstance(outcome, Unpostable) and outcome.error in _THREAD and lookup.thread_ts:
                # where `post` goes when the thread is gone
                return await self.look(replace(lookup, thread_ts=""), deadline=deadline)
            return _unread(found, outcome, error)
        return Look(found=found, error="can't look it up: too many newer messages", hidden=True)


def _call(channel: str, message: Message, payload: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {"event_type": EVENT_TYPE, "event_payload": dict(payload)}
    return {"channel": channel, **message.body, "metadata": metadata}


def _unread(found: Mapping[str, str], outcome: Outcome, error: SlackError) -> Look:
    """A reading that was interrupted: whether asking again would help, and when."""
    if error.retry_after is not None:
        return Look(found=found, error=RATE_LIMITED, after=error.retry_after)
    code = getattr(outcome, "error", "") or error.code
    # A cursor that has ended meanwhile is read from the beginning.
    is_refused = isinstance(outcome, ChannelRefused | Unpostable) and code != "invalid_cursor"
    return Look(found=found, error=f"can't look it up: {code}", hidden=is_refused)


@frozen
class _Message:
    ts: str
    metadata: Any = None


@frozen
class _Next:
    next_cursor: str | None = None


@frozen
class _Page:
    messages: Sequence[_Message]
    response_metadata: _Next | None = None
    has_more: bool = False


_PAGE = TypeAdapter(_Page)


def _ours(answer: object) -> tuple[dict[str, str], str]:
    """Our messages on a page, by key, and the cursor of the next page, empty at the end.

    Raises `SlackError` where it is not known what is on it: it proves nothing.
    """
    try:
        page = _PAGE.validate_python(answer)
    except ValidationError:
        raise SlackError(ODD_ANSWER, status=200) from None
    cursor = (page.response_metadata and page.response_metadata.next_cursor) or ""
    if page.has_more and not cursor:
        raise SlackError(ODD_ANSWER, status=200)
    ours = {}
    for message in page.messages:
        match message.metadata:
            # Another app may write the same key into metadata of its own.
            case {"event_type": kind, "event_payload": {"key": str(key)}} if kind == EVENT_TYPE:
                ours[key] = message.ts
    return ours, cursor


def outcome_of(error: SlackError) -> Outcome:
    """The outcome that a failed call means for the message."""
    if not error.sent:
        return NotSent(after=2.0, error="Slack can't be reached")
    if error.retry_after is not None:
        return NotSent(after=error.retry_after, error=RATE_LIMITED)
    if not error.status:
        return Unknown(error=error.code)
    if error.status >= 500 or not error.code or error.code in _UNKNOWN:
        return Unknown(
            error=error.code or f"HTTP {error.status}",
            answered=bool(error.code) or error.status not in _GATEWAY,
        )
    return (
        ChannelRefused(error=error.code)
        if error.code in _CHANNEL | _WORKSPACE
        else Unpostable(error=error.code)
    )
