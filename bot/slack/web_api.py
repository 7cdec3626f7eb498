"""Calls Slack's Web API, with a timeout, metrics, and one type of error."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import structlog
from pydantic import SecretStr
from slack_bolt.async_app import AsyncRespond
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse
from slack_sdk.webhook import WebhookResponse

from bot.blockkit import is_user, plainer
from bot.telemetry import metrics
from shared.api.pace import boot_time
from shared.api.transport import describe_network_error
from shared.settings import SlackSettings

POST = "chat.postMessage"
NO_UNFURL = {"unfurl_links": False, "unfurl_media": False}
SECONDS = 10.0
"""The default timeout of a call."""
LONGEST_RETRY_WAIT = 10.0
"""Seconds that a call waits at most before it is repeated after a 429."""
MOST_DETAILS = 5
"""Sentences of Slack's that are kept of a refusal."""
_FAILURES = (SlackApiError, SlackClientError, aiohttp.ClientError, TimeoutError, OSError)

ODD_ANSWER = "unexpected_answer"
"""The code of an answer with a shape that Slack doesn't have."""
_ODD = (AttributeError, LookupError, TypeError, ValueError, RecursionError)
"""The SDK raises these over such an answer, such as a list or half a JSON."""

log = structlog.get_logger("slack")
SDK_LOG = logging.getLogger("bot.slack.sdk")
"""The SDK's log: at DEBUG it would have whole bodies, with codes and tokens in them, and addresses with tickets."""
SDK_LOG.setLevel(logging.CRITICAL)


class SlackError(Exception):
    """A call that failed.

    `code` is Slack's word for it, or the name of the network's error; `status` is the HTTP status, 0 where Slack
    did not answer; `retry_after` is set for a 429; `sent` is false where no connection could be opened, so that
    nothing can have happened; `details` are Slack's own sentences on what is wrong with the call.
    """

    def __init__(
        self,
        code: str,
        *,
        status: int = 0,
        retry_after: float | None = None,
        sent: bool = True,
        details: Sequence[str] = (),
    ) -> None:
        super().__init__(
            f"Slack returned {code or f'HTTP {status}'}" if status else f"Slack can't be reached ({code})"
        )
        self.code, self.status, self.retry_after, self.sent = code, status, retry_after, sent
        self.details = tuple(details)


class WebApi:
    """Slack's Web API; every method raises `SlackError`."""

    def __init__(self, client: AsyncWebClient) -> None:
        self.client = client
        """Bolt and Socket Mode take the SDK's own client."""
        self.identity: Mapping[str, Any] = {}
        """The last answer of auth.test: `user_id`, `bot_id`, `team_id`; empty until it has answered."""
        self.scopes: frozenset[str] = frozenset()
        """The scopes of the token; empty until auth.test has answered."""
        self._direct_channels: dict[str, str] = {}
        self._server_booted: float | None = None
        """The start of this machine by Slack's clock."""

    async def call(
        self, method: str, *, seconds: float = SECONDS, retry: bool = False, **body: Any
    ) -> AsyncSlackResponse:
        """Call a method that takes JSON; `retry`: once more after a 429, when Slack allows it.

        Blocks, views and metadata that Slack refuses go out again in a plainer form, `seconds` for each.
        """
        while True:
            try:
                return await self.request(method, seconds, body)
            except SlackError as error:
                if (simpler := plainer_body(method, body, error)) is not None:
                    body = simpler
                    continue
                if not retry or error.retry_after is None:
                    raise
                retry = False
                await asyncio.sleep(min(LONGEST_RETRY_WAIT, error.retry_after))

    async def message_channel(self, channel: str, *, posting: bool) -> str:
        """The channel of messages to `channel`, which may be a person: then their direct messages with the bot.

        Only posting takes a person's id; to change, delete and read messages Slack wants the D… channel
        (https://docs.slack.dev/reference/methods/chat.update: "For direct messages, ensure that this value is a
        DM ID (starts with D) instead of a User ID"; https://github.com/slackapi/python-slack-sdk/issues/528).
        """
        if not is_user(channel):
            return channel
        if channel not in self._direct_channels:
            try:
                opened = await self.call("conversations.open", users=channel)
            except SlackError as error:
                if posting and error.code == "missing_scope":
                    return channel  # the answer to the post will name it
                raise
            self._direct_channels[channel] = str(opened["channel"]["id"])
        return self._direct_channels[channel]

    async def read(self, method: str, *, seconds: float = SECONDS, **query: Any) -> AsyncSlackResponse:
        return await self.request(method, seconds, query, reads=True)

    async def server_time(self) -> float:
        """The time by Slack's clock, Unix seconds, as its answers have told it."""
        if self._server_booted is None:
            await self.call("auth.test")
        return time.time() if self._server_booted is None else self._server_booted + boot_time()

    async def request(
        self, method: str, seconds: float, body: Mapping[str, Any], *, reads: bool = False
    ) -> AsyncSlackResponse:
        """Call a method once, in this form."""
        # The SDK leaves them out of what its own methods send, but not here: Slack takes no null for an absent value.
        to, placed = str(body.get("channel") or ""), {k: v for k, v in body.items() if v is not None}
        if is_user(to):
            placed["channel"] = await self.message_channel(to, posting=method == POST)
        metrics.SLACK_CALLS.labels(method).inc()
        sent = {"http_verb": "GET", "params": placed} if reads else {"json": placed}
        try:
            async with asyncio.timeout(seconds):
                answer = await self.client.api_call(method, **sent)
        except _FAILURES as error:
            raise _slack_error(error) from error
        except _ODD as error:
            raise SlackError(ODD_ANSWER, status=200) from error
        # A proxy in between may answer with anything.
        if not isinstance(answer.data, dict):
            raise SlackError(ODD_ANSWER, status=200)
        with contextlib.suppress(ValueError, OverflowError):
            date = parsedate_to_datetime(answer.headers.get("Date") or "").timestamp()
            self._server_booted = date - boot_time()
        if method == POST and is_user(to) and isinstance(answer.get("channel"), str):
            self._direct_channels[to] = answer["channel"]
        if method == "auth.test":
            self.identity = answer.data
            granted = answer.headers.get("X-OAuth-Scopes") or ""
            self.scopes = frozenset(filter(None, map(str.strip, granted.split(","))))
        return answer


@asynccontextmanager
async def open_web_api(slack: SlackSettings, *, token: SecretStr | None = None) -> AsyncIterator[WebApi]:
    """The Web API over one HTTP session, with the bot's token unless another is given."""
    given = token or slack.bot_token
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as session:
        # The SDK's own handlers would repeat a post after a cut connection, and Slack may have taken the first.
        client = AsyncWebClient(
            token=given.get_secret_value() if given else None,
            session=session,
            base_url=slack.api_url or AsyncWebClient.BASE_URL,
            retry_handlers=[],
            logger=SDK_LOG,
        )
        client.proxy = proxy_for(client.base_url)  # the SDK's own choice ignores NO_PROXY
        yield WebApi(client)


def proxy_for(url: str) -> str | None:
    """The environment's proxy for an address, by its scheme, unless NO_PROXY names the host; Slack's SDK ignores that."""
    parts = urlsplit(url)
    if parts.hostname is None or proxy_bypass(parts.hostname):
        return None
    return getproxies().get({"wss": "https", "ws": "http"}.get(parts.scheme, parts.scheme))


def plainer_body(method: str, body: Mapping[str, Any], error: SlackError) -> dict[str, Any] | None:
    """The simpler form of a body that Slack refused; the refusal is logged in Slack's own words."""
    simpler = plainer(body, error.code)
    if simpler is not None:
        log.warning("sent in a simpler form", method=method, error=error.code, details=list(error.details))
    return simpler


async def respond_to(respond: AsyncRespond, body: Mapping[str, Any]) -> bool:
    """Send a message to a response address, plainer where Slack refuses it; False where it takes none, or there is none."""
    while respond.response_url:
        try:
            answer = await respond(**body)
        except _FAILURES as error:
            log.warning("response address unreachable", error=type(error).__name__)
            return False
        refusal = _refusal(answer)
        if refusal is None:
            return True
        simpler = plainer_body("response_url", body, refusal)
        if simpler is None:
            log.warning("response address refused", status=answer.status_code, body=answer.body[:100])
            return False
        body = simpler
    return False


def _refusal(answer: WebhookResponse) -> SlackError | None:
    """The refusal of a message by a response address, as JSON or as a bare word; None: it took it."""
    reason = answer.body.strip()
    try:
        data = json.loads(reason)
    except ValueError:
        data = {"error": reason[:100]}
    body = data if isinstance(data, dict) else {}
    if answer.status_code == 200 and body.get("ok") is not False:
        return None
    return SlackError(str(body.get("error")), status=answer.status_code, details=_details(body))


def _details(data: Mapping[str, Any]) -> list[str]:
    """Slack's sentences: `response_metadata.messages`, or `errors`."""
    metadata = data.get("response_metadata")
    messages = (metadata.get("messages") if isinstance(metadata, dict) else None) or data.get("errors")
    return [str(line) for line in messages[:MOST_DETAILS]] if isinstance(messages, list) else []


def _slack_error(error: BaseException) -> SlackError:
    if not isinstance(error, SlackApiError):
        return SlackError(
            describe_network_error(error), sent=not isinstance(error, aiohttp.ClientConnectorError)
        )
    response = error.response
    status = int(getattr(response, "status_code", 0) or getattr(response, "status", 0) or 200)
    data = getattr(response, "data", None)
    code = str(data.get("error") or "") if isinstance(data, dict) else ""
    if status == 429 or code in {"ratelimited", "rate_limited"}:
        metrics.SLACK_THROTTLED.inc()
        wait = _retry_after(getattr(response, "headers", None) or {})
        return SlackError("ratelimited", status=status, retry_after=wait)
    return SlackError(code, status=status, details=_details(data) if isinstance(data, dict) else ())


def _retry_after(headers: Mapping[str, str]) -> float:
    try:
        return min(3600.0, max(0.1, float(headers.get("Retry-After") or 1.0)))
    except ValueError:
        return 1.0
