"""Messages to Slack, each call answered with what it came to, in the ledger's words.

What matters is whether a message may be there although no answer came: a broken connection before the request
was sent, a refusal and a 429 say no; a timeout, a cut connection, a 5xx and `internal_error` say perhaps.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from bot import metrics
from bot.blocks import Message
from bot.ledger.settling import Absent, ChannelRefused, NotSent, Outcome, Sent, Unknown, Unpostable

EVENT_TYPE = "outreach_alert"
PAGES = 5
"""Pages of history that a look-up reads at most, a hundred messages each."""
CURE_PAUSE = 30.0
"""Seconds until a channel that refused is tried again, at first; the longer it refuses, the longer, up to ten minutes."""

GATEWAY_TIMEOUT = 504
"""The one answer after which the request may still be under way."""

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
_FORM = {
    "invalid_blocks",
    "invalid_blocks_format",
    "msg_blocks_too_long",
    "metadata_too_large",
    "invalid_metadata_format",
}


class Messenger:
    """Posts, repaints and looks for messages."""

    def __init__(self, client: AsyncWebClient, *, timeout: float = 8.0) -> None:
        self._client = client
        self._timeout = timeout
        """Seconds for a call; less than a lane's lease."""

    async def post(
        self,
        channel: str,
        message: Message,
        *,
        payload: Mapping[str, Any],
        thread_ts: str = "",
        broadcast: bool = False,
    ) -> Outcome:
        """Post once; where Slack refuses the form, the plain text goes instead."""
        call: dict[str, Any] = {
            "channel": channel,
            "metadata": {"event_type": EVENT_TYPE, "event_payload": dict(payload)},
            "unfurl_links": False,
            "unfurl_media": False,
        }
        if thread_ts:
            call |= {"thread_ts": thread_ts, "reply_broadcast": broadcast}
        outcome = await self._post(**call, text=message.text, blocks=message.blocks)
        if isinstance(outcome, Unpostable) and outcome.error in _FORM:
            return await self._post(**call, text=message.text)
        return outcome

    async def _post(self, **call: Any) -> Outcome:
        try:
            answer = await self._call("chat.postMessage", call)
        except (SlackApiError, SlackClientError, aiohttp.ClientError, TimeoutError, OSError) as error:
            return judge(error)
        return Sent(ts=str(answer["ts"]))

    async def _call(self, method: str, arguments: Mapping[str, Any]) -> Any:
        metrics.SLACK_CALLS.labels(method).inc()
        return await asyncio.wait_for(self._client.api_call(method, json=dict(arguments)), self._timeout)

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
            await self._call("chat.update", call)
        except (SlackApiError, SlackClientError, aiohttp.ClientError, TimeoutError, OSError) as error:
            outcome = judge(error)
            return Sent(ts=ts) if isinstance(outcome, Unpostable) else outcome
        return Sent(ts=ts)

    async def find(self, channel: str, key: str, *, since: float, thread_ts: str = "") -> Outcome:
        """Look in the channel or the thread for the message with this key in its metadata."""
        method = "conversations.replies" if thread_ts else "conversations.history"
        query: dict[str, Any] = {"channel": channel, "limit": 100, "include_all_metadata": "true"}
        query |= {"ts": thread_ts} if thread_ts else {"oldest": f"{since - 60:.6f}"}
        try:
            return await self._search(method, query, key)
        except (SlackApiError, SlackClientError, aiohttp.ClientError, TimeoutError, OSError) as error:
            outcome = judge(error)
            if isinstance(outcome, ChannelRefused | Unpostable):
                return Unpostable(error=f"cannot look it up: {outcome.error}", unsure=True)
            return NotSent(after=outcome.after if isinstance(outcome, NotSent) else 5.0)

    async def _search(self, method: str, query: dict[str, Any], key: str) -> Outcome:
        for _page in range(PAGES):
            metrics.SLACK_CALLS.labels(method).inc()
            answer = await asyncio.wait_for(
                self._client.api_call(method, http_verb="GET", params=query), self._timeout
            )
            for message in answer.get("messages") or ():
                payload = (message.get("metadata") or {}).get("event_payload") or {}
                if payload.get("key") == key:
                    return Sent(ts=str(message["ts"]))
            cursor = (answer.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                break
            query["cursor"] = cursor
        return Absent()


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
        return Unknown(error=code or f"HTTP {status}", answered=status != GATEWAY_TIMEOUT)
    if code in _CHANNEL | _TOKEN:
        return ChannelRefused(error=code, after=CURE_PAUSE)
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
