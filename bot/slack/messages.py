"""Posts and updates messages; each call returns an outcome for the store.

The question is whether a message may exist without a response. Not after a connection that failed before the request
was sent, a rejection or a 429; possibly after a timeout, a lost connection, a 5xx or `internal_error`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.blockkit.card_blocks import Message
from bot.blockkit.plainer import key_of
from bot.slack.web_api import SlackError, WebApi, plainer_body
from bot.store.queue.dead_letters import NOT_INSTALLED
from bot.store.queue.outcomes import (
    RATE_LIMITED,
    Absent,
    ChannelRefused,
    NotSent,
    Outcome,
    Sent,
    Unknown,
    Unpostable,
)
from shared.api.http.rate_wait import boot_time

EVENT_TYPE = "outreach_alert"
PAGES = 20
"""Pages of history that a look-up reads at most."""
MAX_READ_ON = 1000
"""Throttled look-ups of which the next page is remembered."""
PAGE = 200
"""Messages on a page."""
CLOCKS_APART = 900.0
"""Seconds that Slack's clock and ours may differ: three times what Slack's own signatures allow."""

_GATEWAY = {502, 503, 504}
"""What answers so may have handed the request on, and it may still be under way."""

_UNKNOWN = {"internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org"}
_CHANNEL = {
    "channel_not_found",
    "not_in_channel",
    "is_archived",
    "is_inactive",
    "restricted_action",
    "restricted_action_read_only_channel",
    "restricted_action_thread_only_channel",
    "messages_tab_disabled",
}
_TOKEN = {
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
    NOT_INSTALLED,
}
_THREAD = {"thread_not_found", "cannot_reply_to_message", "restricted_action_thread_locked"}


class MessageSender:
    """Posts, repaints and looks for messages."""

    def __init__(self, slack: WebApi, *, timeout: float = 8.0) -> None:
        self._slack = slack
        self._timeout = timeout
        """Seconds for a call."""
        self._read_on: dict[tuple[str, str, str], dict[str, Any]] = {}
        """The next page of each look-up that Slack throttled."""

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
        call: dict[str, Any] = {
            "channel": channel,
            "metadata": {"event_type": EVENT_TYPE, "event_payload": dict(payload)},
            "unfurl_links": False,
            "unfurl_media": False,
        }
        content = {"text": message.text, "blocks": message.blocks}
        thread = {"thread_ts": thread_ts, "reply_broadcast": broadcast} if thread_ts else {}
        outcome = await self._post({**call, **content, **thread}, deadline=deadline)
        if isinstance(outcome, Unpostable) and outcome.error in _THREAD and thread:
            thread = {}
            outcome = await self._post({**call, **content}, deadline=deadline)
        return outcome

    async def _post(self, call: Mapping[str, Any], *, deadline: float) -> Outcome:
        remaining = deadline - boot_time()
        if remaining < self._timeout / 2:  # begun now, it would be cut off while Slack works on it
            return NotSent(after=0.0)
        try:
            answer = await self._slack.call_once("chat.postMessage", seconds=remaining, **call)
        except SlackError as error:
            if (simpler := plainer_body("chat.postMessage", call, error)) is not None:
                return await self._post(simpler, deadline=deadline)
            outcome = outcome_of(error)
            if isinstance(outcome, Unknown) and not _can_be_found(call):
                return Unpostable(error=outcome.error, unsure=True)
            return outcome
        return Sent(ts=str(answer["ts"]))

    async def repaint(
        self, channel: str, ts: str, message: Message, *, payload: Mapping[str, Any]
    ) -> Outcome:
        """Redraw a message; one that can no longer be changed counts as done."""
        call: dict[str, Any] = {
            "channel": channel,
            "ts": ts,
            "text": message.text,
            "blocks": message.blocks,
            "metadata": {"event_type": EVENT_TYPE, "event_payload": dict(payload)},
        }
        try:
            await self._slack.call("chat.update", seconds=self._timeout, **call)
        except SlackError as error:
            outcome = outcome_of(error)
            return Sent(ts=ts) if isinstance(outcome, Unpostable) else outcome
        return Sent(ts=ts)

    async def find(
        self, channel: str, key: str, *, since: float, age: float = 0.0, thread_ts: str = ""
    ) -> Outcome:
        """Look in the channel, or in the thread, for the message with this key.

        It was tried after `since` by our clock, `age` seconds ago; the earlier moment counts by Slack's clock, for
        ours may have been ahead and stayed so.
        """
        place = (channel, thread_ts, key)
        query = self._read_on.pop(place, None) or {
            "channel": channel,
            "limit": PAGE,
            "include_all_metadata": "true",
        }
        try:
            if "oldest" not in query:
                earliest = min(since, await self._slack.server_time() - age)
                query["oldest"] = f"{max(0.0, earliest - CLOCKS_APART):.6f}"
            if thread_ts:
                return await self._search(
                    "conversations.replies", {**query, "ts": thread_ts}, key, place=place
                )
            return await self._search("conversations.history", query, key, place=place)
        except SlackError as error:
            outcome = outcome_of(error)
        if thread_ts and isinstance(outcome, Unpostable) and outcome.error in _THREAD:
            return await self.find(
                channel, key, since=since, age=age
            )  # where `post` goes when the thread is gone
        if isinstance(outcome, ChannelRefused | Unpostable):
            return Unpostable(error=f"can't look it up: {outcome.error}", unsure=True)
        return (
            outcome
            if isinstance(outcome, NotSent)
            else NotSent(after=5.0, error=getattr(outcome, "error", ""))
        )

    async def _search(
        self, method: str, query: dict[str, Any], key: str, *, place: tuple[str, str, str]
    ) -> Outcome:
        """Read page after page. Where Slack throttles it, the next look goes on with the page that is due.

        An app that is distributed outside of the Marketplace reads one page of 15 messages a minute
        (https://docs.slack.dev/apis/web-api/rate-limits).
        """
        for _page in range(PAGES):
            try:
                answer = await self._slack.read(method, seconds=self._timeout, **query)
            except SlackError as error:
                if error.retry_after is not None:
                    if len(self._read_on) >= MAX_READ_ON:
                        self._read_on.clear()
                    self._read_on[place] = query
                raise
            for message in answer.get("messages") or ():
                if _key(message) == key:
                    return Sent(ts=str(message["ts"]))
            cursor = (answer.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                return Absent()
            query["cursor"] = cursor
        return Unpostable(error="can't look it up: too many newer messages", unsure=True)


def _key(message: Mapping[str, Any]) -> object:
    metadata = message.get("metadata") or {}
    payload = metadata.get("event_payload") or {}
    return payload.get("key") if metadata.get("event_type") == EVENT_TYPE else key_of(message)


def _can_be_found(call: Mapping[str, Any]) -> bool:
    """Whether the message carries its key: else nothing tells whether it is there, and it must not be sent again."""
    return bool(call.get("metadata") or key_of(call))


def outcome_of(error: SlackError) -> Outcome:
    """What a failed call says about the message."""
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
        ChannelRefused(error=error.code) if error.code in _CHANNEL | _TOKEN else Unpostable(error=error.code)
    )
