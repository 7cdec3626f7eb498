"""`GET /reply/{token}`: sends the person who clicked `Claim & reply` to their mail program.

A visit claims nothing: the click does, which Slack sends to the bot beside it, and only the next visit after a click
of the person who has the reply goes on at once. So a preview, a crawler or a colleague's visit changes nothing that
people see; where a colleague has the reply already, the page says so first.
"""

from __future__ import annotations

import asyncio
import html
import time
from collections.abc import Callable
from dataclasses import dataclass

from bot.alerts.cards import about, answer_link
from bot.alerts.links import PATH, Links
from bot.http.webhook import Receive, Scope, Send, answer
from shared.domain.alert import Alert
from shared.domain.reply_states import State
from shared.domain.wall_clock import moment
from shared.records.records import RecordsUnavailable
from shared.store import Store
from shared.text.formats import show_exact_span

CLICK_WITHIN_SECONDS, LOOK_SECONDS = 1.5, 0.1
"""A visit waits so long for its click, which comes by way of Slack's servers, and looks so often."""
MOST_WAITING = 50
"""Visits that wait at once; the others are answered as the reply stands."""
_PRIVATE = (
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-robots-tag", b"noindex, nofollow"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
)
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><title>{title}</title>
<style>body{{font:18px/1.5 system-ui,sans-serif;max-width:30em;margin:3em auto;padding:0 1em;color:#1d1c1d}}
a{{display:inline-block;padding:.5em 1em;border:1px solid #888;border-radius:.4em;color:inherit}}
@media (prefers-color-scheme:dark){{body{{background:#1a1d21;color:#e8e8e8}}}}</style>
<h1>{title}</h1><p>{text}</p><p><a href="{link}">{label}</a></p></html>
"""


@dataclass(kw_only=True)
class ReplyPage:
    """Answers visits; `now` is the store's clock, in Unix seconds."""

    store: Store
    links: Links
    now: Callable[[], float]
    _waiting: int = 0

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        """Answer a GET, or a HEAD, which waits for nothing and uses up nothing."""
        token = scope["path"].removeprefix(PATH)
        name = self.links.read_token(token, now=self.now())
        if not name:
            return await answer(send, 404)
        try:
            alert = await self.store.alerts.find(name)
            is_expected = scope["method"] == "GET" and await self._is_expected(alert)
            alert = await self.store.alerts.find(name)
        except RecordsUnavailable:
            return await answer(send, 503)
        link = answer_link(alert.event) if alert else ""
        if alert is None or not link:  # it was forgotten, or its text was deleted
            return await answer(send, 404)
        if is_expected or alert.state in {State.UNCLAIMED, State.SNOOZED}:
            return await answer(send, 302, headers=((b"location", link.encode()), *_PRIVATE))
        body = _page(alert, link, now=self.now())
        return await answer(
            send, 200, body.encode(), content_type=b"text/html; charset=utf-8", headers=_PRIVATE
        )

    async def _is_expected(self, alert: Alert | None) -> bool:
        """True if the person who has the reply has just clicked; waits for a click that is under way."""
        deadline = time.monotonic() + CLICK_WITHIN_SECONDS
        while alert is not None and alert.state is not State.DONE:
            if alert.mail_until is not None and alert.mail_until > self.now():
                return await self.store.alerts.take_visit(alert.id)
            if time.monotonic() >= deadline or self._waiting >= MOST_WAITING:
                return False
            self._waiting += 1
            try:
                await asyncio.sleep(LOOK_SECONDS)
            finally:
                self._waiting -= 1
            alert = await self.store.alerts.find(alert.id)
        return False


def _page(alert: Alert, link: str, *, now: float) -> str:
    """The page for a visitor where someone has the reply, or it is done."""
    if alert.handled_at is not None:
        person, did, at = alert.handled_name, "marked it done", alert.handled_at
        title = f"@{person} is done with this reply"
    else:
        person, did, at = alert.claimed_name, "claimed it", alert.claimed_at or now
        title = f"@{person} has this reply"
    ago = show_exact_span(moment(now) - moment(min(at, now)))
    text = f"{about(alert.event)} replied, and @{person} {did} {ago} ago. If that is you, or you agreed on it, go on."
    shown = {"title": title, "text": text, "link": link, "label": "Write the email"}
    return _PAGE.format(**{name: html.escape(value) for name, value in shown.items()})
