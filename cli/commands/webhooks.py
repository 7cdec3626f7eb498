"""`outreach webhooks`: subscribes to the service's events, and stores the secret that the service shows only once.

The service can't list or delete subscriptions, so the bot's database has all that is known about them, and a second
subscription of the same address needs --yes.
"""

from __future__ import annotations

import asyncio
import time
from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any
from urllib.parse import urlsplit

from cli.console import card_output, exit_codes
from cli.console.interactive import confirm, stopping
from cli.console.resources import open_bot_store
from shared.api.errors import Uncertain
from shared.api.event_kinds import NAME_OF, word_of
from shared.api.models import Subscription
from shared.api.words import EVENT_KINDS, EventKind
from shared.commands.base import Result
from shared.commands.run import open_client
from shared.domain.card import Card, Fact, Row, Table, Tone, columns
from shared.domain.wall_clock import moment
from shared.records.records import RecordsUnavailable
from shared.settings import Need, Settings, Workspace, load
from shared.store.webhooks import SecretCipher, WebhookFileUnreadable, WebhookSubscriptions
from shared.text.formats import show_number, show_time

PATH = "/webhooks/outreach"
GRACE_SECONDS = 86_400.0
"""An old secret is accepted for so long after a rotation: the service retries a delivery as long."""
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def run(options: Namespace) -> int:
    """Check the command line before anything is asked or opened, then act."""
    if options.action == "create":
        options.url, options.events = _web_address(options.url), _event_kinds(options.events)
    if options.action == "forget" and not options.events:
        text = "name the subscription: outreach webhooks forget ID. `webhooks list` shows the ids."
        raise exit_codes.WrongUsage(text)
    needs = (Need.API,) if options.action in {"create", "rotate"} else ()
    settings = load(config=options.config, needs=needs)
    result = asyncio.run(_run(options, settings, settings.workspace(options.workspace)))
    return card_output.answer(result, as_json=options.json)


async def _run(options: Namespace, settings: Settings, workspace: Workspace) -> Result:
    try:
        async with open_bot_store(settings) as store:
            await store.instance.id()  # it has been written: a secret is shown only once
            kept = WebhookSubscriptions(store.database, SecretCipher(settings.secret_keys))
            for file in settings.webhook_files:
                await kept.import_file(file)
            stored = {made.id: made for made in await kept.list(workspace.name)}
            webhooks = _Webhooks(options, settings, workspace, kept, stored, await kept.ends(workspace.name))
            act: Callable[[], Awaitable[Result]] = getattr(webhooks, options.action)
            return await act()
    except WebhookFileUnreadable as fault:
        raise exit_codes.Failed(str(fault)) from None


@dataclass(frozen=True, slots=True)
class _Webhooks:
    """The subscriptions of a workspace, as the database has them, with a method for each action."""

    options: Namespace
    settings: Settings
    workspace: Workspace
    kept: WebhookSubscriptions
    stored: Mapping[str, Subscription]
    ends: Mapping[str, float]
    """The end of each secret that is being replaced, by id, in Unix seconds."""

    async def list(self) -> Result:
        configured = len(self.workspace.webhook_secrets)
        titles = ["Id", "URL", "Events", *(["Accepted until"] if self.ends else [])]
        rows, data = [], []
        for made in self.stored.values():
            end = self.ends.get(made.id)
            cells = (made.id, made.url, ", ".join(made.events), _end(end))
            rows.append(Row(cells=cells[: len(titles)]))
            data.append(self._row(made, accepted_until=_iso(end)))
        card = Card(
            title=show_number(len(rows), "webhook subscription"),
            text=(f"{configured} more secrets come from the settings.",) if configured else (),
            table=Table(columns=columns(*titles), rows=tuple(rows)) if rows else None,
            footer="Subscriptions made with `outreach webhooks create`. The service can't list them.",
        )
        return Result(card=card, rows=tuple(data))

    async def create(self) -> Result:
        url, name = self.options.url, self.workspace.name
        own = f"{PATH}/{name}"
        expected = PATH if name == self.settings.default_workspace else own
        # A proxy may put a prefix before the bot's paths, so the end counts.
        if not urlsplit(url).path.rstrip("/").endswith((expected, own)) and not self.options.yes:
            raise exit_codes.Failed(
                f"the bot receives deliveries of workspace {name} at …{expected}, and {url} has a different path. "
                "Add --yes if a proxy maps one to the other."
            )
        twins = [made.id for made in self.stored.values() if made.url.rstrip("/") == url.rstrip("/")]
        if twins and not self.options.yes:
            raise exit_codes.Failed(
                f"{url} is already subscribed ({', '.join(twins)}). The service can neither list nor delete subscriptions, "
                "so a second one would deliver every event twice, permanently. Add --yes to do it anyway."
            )
        made = await self._subscribe(url, self.options.events)
        secret = made.secret if self.options.show_secret else "stored in the database, for the bot"
        values = {"Id": made.id, "Events": ", ".join(made.events), "Secret": secret}
        facts = tuple(Fact(label=label, value=value) for label, value in values.items())
        card = Card(title=f"Subscribed {made.url}", tone=Tone.GOOD, facts=facts)
        return Result(card=card, rows=(self._row(made),))

    async def forget(self) -> Result:
        chosen, after = self._chosen(), self.options.after or 0.0
        when = f"from {_end(time.time() + after)} on" if after else "from now on"
        secrets = ", ".join(f"{made.id} ({made.url})" for made in chosen)
        confirm(
            f"Forget the secrets of {secrets}? Deliveries signed with them will be rejected with 401 {when}.",
            yes=self.options.yes,
        )
        await self.kept.forget(self.workspace.name, [made.id for made in chosen], after=after)
        ids = ", ".join(made.id for made in chosen)
        stays = "The service keeps sending them until you remove the subscription there."
        card = Card(
            title=f"{ids} will be forgotten" if after else f"Forgot {ids}",
            tone=Tone.GOOD,
            text=(f"Running bots reject its deliveries {when}. {stays}",),
        )
        return Result(card=card, rows=tuple(map(self._row, chosen)))

    async def rotate(self) -> Result:
        """Make a new subscription for each of those that count, and end the old secrets."""
        after = GRACE_SECONDS if self.options.after is None else self.options.after
        old = self._chosen() or [made for made in self.stored.values() if made.id not in self.ends]
        if not old:
            raise exit_codes.Failed(
                f"workspace {self.workspace.name} has no subscription of its own. `webhooks create --url URL` makes one."
            )
        end = time.time() + after if after else None
        until = f"until {_end(end)}" if after else "no longer"
        confirm(
            f"Subscribe {', '.join(made.url for made in old)} again, with a new secret? The bot accepts the old secret "
            f"{until}. The service can't delete the old subscription: it delivers every event twice until its support does.",
            yes=self.options.yes,
        )
        facts, rows = [], []
        for replaced in old:
            events = tuple(kind for kind in EVENT_KINDS if kind in replaced.events) or EVENT_KINDS
            # The new one first, so that there is no moment in which no secret is accepted.
            made = await self._subscribe(replaced.url, events)
            # Each by itself: if the next one fails, this one is done.
            await self.kept.forget(self.workspace.name, [replaced.id], after=after)
            facts.append(Fact(label=replaced.id, value=f"replaced by {made.id}"))
            rows.append(self._row(made, replaces=[replaced.id], accepted_until=_iso(end)))
        text = (
            f"The bot accepts the old secret {until}.",
            f"Ask the service's support to delete {', '.join(made.id for made in old)}.",
            "Until then it delivers every event twice, and the bot posts it once.",
        )
        title = f"Rotated {show_number(len(rows), 'secret')}"
        card = Card(title=title, tone=Tone.GOOD, text=text, facts=tuple(facts))
        return Result(card=card, rows=tuple(rows))

    def _chosen(self) -> Sequence[Subscription]:
        """The subscriptions that the command line names; raises `Failed` for an unknown one."""
        ids = dict.fromkeys(self.options.events)
        if missing := [name for name in ids if name not in self.stored]:
            text = f"workspace {self.workspace.name} has no subscription {', '.join(missing)}"
            raise exit_codes.Failed(text)
        return [self.stored[name] for name in ids]

    def _row(self, made: Subscription, **more: object) -> dict[str, object]:
        # Only on request: terminals keep what scrolled by, and CI keeps its logs.
        secret = {"secret": made.secret} if self.options.show_secret else {}
        return {"id": made.id, "url": made.url, "events": [*made.events], **secret, **more}

    async def _subscribe(self, url: str, events: Sequence[EventKind]) -> Subscription:
        """Subscribe, and have the secret on disk before anything else happens, Ctrl-C included."""
        async with open_client(self.settings, self.workspace) as client:
            with stopping():
                try:
                    made = await client.create_webhook(url, events)
                    await self.kept.add({self.workspace.name: (made,)})
                # Never repeated here: a second subscription could not be deleted.
                except Uncertain:
                    raise exit_codes.Refused(_uncertain_card(url)) from None
                except RecordsUnavailable as fault:
                    raise exit_codes.Failed(
                        f"the subscription {made.id} exists, but its secret couldn't be stored ({fault}) and is lost. "
                        "Create another one. Deliveries of this one are rejected with 401, which is harmless."
                    ) from None
        return made


def _end(at: float | None) -> str:
    return "" if at is None else show_time(moment(at), now=datetime.now(UTC), zone=UTC)


def _iso(at: float | None) -> str | None:
    return None if at is None else moment(at).isoformat()


def _web_address(url: str | None) -> str:
    parts = urlsplit(url or "")
    if not url or not parts.hostname or parts.scheme not in {"http", "https"}:
        raise exit_codes.WrongUsage(f"webhooks create needs --url https://YOUR-HOST{PATH}")
    # The sandbox delivers on this machine without TLS.
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise exit_codes.WrongUsage("the service only delivers to https addresses")
    return url


def _event_kinds(events: Sequence[str]) -> tuple[EventKind, ...]:
    kinds: dict[str, Any] = {kind: kind for kind in EVENT_KINDS}
    kinds |= {word: kinds[name] for word, name in NAME_OF.items() if name in kinds}
    for event in events:
        if event not in kinds:
            near = get_close_matches(event, kinds, n=1)
            choices = ", ".join(map(word_of, EVENT_KINDS))
            hint = f"did you mean {near[0]}?" if near else f"choose from: {choices}"
            raise exit_codes.WrongUsage(f"unknown event “{event}”; {hint}")
    return tuple(dict.fromkeys(kinds[event] for event in events)) or EVENT_KINDS


def _uncertain_card(url: str) -> Card:
    text = (
        f"The connection was lost after the request for {url} was sent, before a response arrived.",
        "If it exists, its secret is lost and its deliveries are rejected with 401, which is harmless.",
        "Create it again.",
    )
    return Card(title="We couldn't confirm this subscription", tone=Tone.WARN, text=text)
