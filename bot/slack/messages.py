"""Messages to Slack, each call answered with what it came to, in the ledger's words.

What matters is whether a message may be there although no answer came: a broken connection before the request
was sent, a refusal and a 429 say no; a timeout, a cut connection, a 5xx and `internal_error` say perhaps.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from bot.blockkit.card_blocks import Message
from bot.store.queue.outcomes import Absent, ChannelRefused, NotSent, Outcome, Sent, Unknown, Unpostable
from bot.telemetry import metrics

EVENT_TYPE = "outreach_alert"
PAGES = 20
"""Pages of history that a look-up reads at most."""
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
}
_THREAD = {"thread_not_found", "cannot_reply_to_message", "restricted_action_thread_locked"}
_FORM = {
    "invalid_blocks",
    "invalid_blocks_format",
    "msg_blocks_too_long",
    "metadata_too_large",
    "invalid_metadata_format",
}


class MessageSender:
    """Posts, repaints and looks for messages."""

    def __init__(self, client: AsyncWebClient, *, timeout: float = 8.0) -> None:
        self._client = client
        self._timeout = timeout
        """Seconds for a call."""

    async def post(
        self,
        channel: str,
        message: Message,
        *,
        payload: Mapping[str, Any],
        ends: float,
        thread_ts: str = "",
        broadcast: bool = False,
    ) -> Outcome:
        """Post once, and not after `ends` on the monotonic clock: somebody else may have the channel then.

        Where Slack refuses the form, the plain text goes instead; where the thread is gone, the channel is told.
        """
        call: dict[str, Any] = {
            "channel": channel,
            "metadata": {"event_type": EVENT_TYPE, "event_payload": dict(payload)},
            "unfurl_links": False,
            "unfurl_media": False,
        }
        whole = {"text": message.text, "blocks": message.blocks}
        thread = {"thread_ts": thread_ts, "reply_broadcast": broadcast} if thread_ts else {}
        outcome = await self._post({**call, **whole, **thread}, ends=ends)
        if isinstance(outcome, Unpostable) and outcome.error in _THREAD and thread:
            thread = {}
            outcome = await self._post({**call, **whole}, ends=ends)
        if isinstance(outcome, Unpostable) and outcome.error in _FORM:
            return await self._post({**call, **thread, "text": message.text}, ends=ends)
        return outcome

    async def _post(self, call: Mapping[str, Any], *, ends: float) -> Outcome:
        left = ends - time.monotonic()
        if left < self._timeout / 2:  # begun now, it would be cut off while Slack works on it
            return NotSent(after=0.0)
        try:
            answer = await self._call("chat.postMessage", call, seconds=left)
        except (SlackApiError, SlackClientError, aiohttp.ClientError, TimeoutError, OSError) as error:
            return judge(error)
        return Sent(ts=str(answer["ts"]))

    async def _call(self, method: str, arguments: Mapping[str, Any], *, seconds: float) -> Any:
        metrics.SLACK_CALLS.labels(method).inc()
        return await asyncio.wait_for(self._client.api_call(method, json=dict(arguments)), seconds)

    async def repaint(
        self, channel: str, ts: str, message: Message, *, payload: Mapping[str, Any]
    ) -> Outcome:
        """Draw a message anew; what can no longer be changed counts as done."""
        call = {
            "channel": channel,
            "ts": ts,
            "text": message.text,
            "blocks": message.blocks,
            "metadata": {"event_type": EVENT_TYPE, "event_payload": dict(payload)},
        }
        try:
            await self._call("chat.update", call, seconds=self._timeout)
        except (SlackApiError, SlackClientError, aiohttp.ClientError, TimeoutError, OSError) as error:
            outcome = judge(error)
            return Sent(ts=ts) if isinstance(outcome, Unpostable) else outcome
        return Sent(ts=ts)

    async def find(self, channel: str, key: str, *, since: float, thread_ts: str = "") -> Outcome:
        """Look in the channel, or in the thread, for the message with this key that was tried after `since`."""
        query: dict[str, Any] = {"channel": channel, "limit": PAGE, "include_all_metadata": "true"}
        query["oldest"] = f"{max(0.0, since - CLOCKS_APART):.6f}"
        try:
            if thread_ts:
                return await self._search("conversations.replies", {**query, "ts": thread_ts}, key)
            return await self._search("conversations.history", query, key)
        except (SlackApiError, SlackClientError, aiohttp.ClientError, TimeoutError, OSError) as error:
            outcome = judge(error)
        if thread_ts and isinstance(outcome, Unpostable) and outcome.error in _THREAD:
            return await self.find(channel, key, since=since)  # where `post` goes when the thread is gone
        if isinstance(outcome, ChannelRefused | Unpostable):
            return Unpostable(error=f"cannot look it up: {outcome.error}", unsure=True)
        return (
            outcome
            if isinstance(outcome, NotSent)
            else NotSent(after=5.0, error=getattr(outcome, "error", ""))
        )

    async def _search(self, method: str, query: dict[str, Any], key: str) -> Outcome:
        for _page in range(PAGES):
            metrics.SLACK_CALLS.labels(method).inc()
            answer = await asyncio.wait_for(
                self._client.api_call(method, http_verb="GET", params=query), self._timeout
            )
            for message in answer.get("messages") or ():
                if _key(message) == key:
                    return Sent(ts=str(message["ts"]))
            cursor = (answer.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                return Absent()
            query["cursor"] = cursor
        return Unpostable(error="cannot look it up: too much was said since", unsure=True)


def _key(message: Mapping[str, Any]) -> object:
    metadata = message.get("metadata") or {}
    payload = metadata.get("event_payload") or {}
    return payload.get("key") if metadata.get("event_type") == EVENT_TYPE else None


def judge(error: BaseException) -> Outcome:
    """What an exception of the SDK or of the connection says about the message."""
    if isinstance(error, SlackApiError):
        return _refusal(error)
    if isinstance(error, aiohttp.ClientConnectorError):
        return NotSent(after=2.0, error="Slack cannot be reached")
    return Unknown(error=type(error).__name__)


def _refusal(error: SlackApiError) -> Outcome:
    status = int(getattr(error.response, "status_code", 0) or getattr(error.response, "status", 0))
    code = _code(error.response)
    if status == 429 or code in {"ratelimited", "rate_limited"}:
        metrics.SLACK_THROTTLED.inc()
        return NotSent(after=_retry_after(error.response), error="ratelimited")
    if status >= 500 or not code or code in _UNKNOWN:
        return Unknown(error=code or f"HTTP {status}", answered=bool(code) or status not in _GATEWAY)
    if code in _CHANNEL | _TOKEN:
        return ChannelRefused(error=code)
    return Unpostable(error=code)


def _code(response: Any) -> str:
    data = getattr(response, "data", None)
    return str(data.get("error") or "") if isinstance(data, dict) else ""


def _retry_after(response: Any) -> float:
    headers = getattr(response, "headers", None) or {}
    try:
        return min(3600.0, max(0.1, float(headers.get("Retry-After", 1))))
    except ValueError:
        return 1.0
