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
from shared.storage.webhook_file import WebhookFileUnreadable
from shared.store.webhooks import SecretCipher, WebhookSubscriptions
from shared.text.formats import show_number, show_time

PATH = "/webhooks/outreach"
GRACE_SECONDS = 86_400.0
"""An old secret is accepted for so long after a rotation: the service retries a delivery as long."""
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True, slots=True)
class _Context:
    options: Namespace
    settings: Settings
    workspace: Workspace
    subscriptions: WebhookSubscriptions
    stored: Mapping[str, Subscription]
    """What the database has, by id."""
    ends: Mapping[str, float]
    """When a secret that is being replaced is accepted no longer, by id, in Unix seconds."""

    def chosen(self) -> list[Subscription]:
        """The subscriptions that the command line names; raises `Failed` for an unknown one."""
        ids = dict.fromkeys(self.options.events)
        if missing := [name for name in ids if name not in self.stored]:
            text = f"workspace {self.workspace.name} has no subscription {', '.join(missing)}"
            raise exit_codes.Failed(text)
        return [self.stored[name] for name in ids]

    def row(self, made: Subscription, **more: object) -> dict[str, object]:
        secret = {"secret": made.secret} if self.options.show_secret else {}
        return {"id": made.id, "url": made.url, "events": list(made.events), **secret, **more}

    async def subscribe(self, url: str, events: Sequence[EventKind]) -> Subscription:
        """Subscribe, and have the secret on disk before anything else happens, Ctrl-C included."""
        async with open_client(self.settings, self.workspace) as client:
            with stopping():
                try:
                    made = await client.create_webhook(url, events)
                    await self.subscriptions.add({self.workspace.name: (made,)})
                except Uncertain:
                    raise exit_codes.Refused(_uncertain_card(url)) from None
                except RecordsUnavailable as fault:
                    raise exit_codes.Failed(
                        f"the subscription {made.id} exists, but its secret couldn't be stored ({fault}) and is lost. "
                        "Create another one. Deliveries of this one are rejected with 401, which is harmless."
                    ) from None
        return made


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
            subscriptions = WebhookSubscriptions(store.database, SecretCipher(settings.secret_keys))
            for file in settings.webhook_files:
                await subscriptions.import_file(file)
            stored = {one.id: one for one in await subscriptions.list(workspace.name)}
            ends = await subscriptions.ends(workspace.name)
            context = _Context(options, settings, workspace, subscriptions, stored, ends)
            return await ACTIONS[options.action](context)
    except WebhookFileUnreadable as fault:
        raise exit_codes.Failed(str(fault)) from None


async def _list(context: _Context) -> Result:
    stored, ends = context.stored.values(), context.ends
    configured = len(context.workspace.webhook_secrets)
    titles = ["Id", "URL", "Events", *(["Accepted until"] if ends else [])]
    cells = [(one.id, one.url, ", ".join(one.events), _end(ends.get(one.id))) for one in stored]
    rows = tuple(Row(cells=line[: len(titles)]) for line in cells)
    card = Card(
        title=show_number(len(rows), "webhook subscription"),
        text=(f"{configured} more secrets come from the settings.",) if configured else (),
        table=Table(columns=columns(*titles), rows=rows) if rows else None,
        footer="Subscriptions made with `outreach webhooks create`. The service can't list them.",
    )
    data = tuple(context.row(one, accepted_until=_iso(ends.get(one.id))) for one in stored)
    return Result(card=card, rows=data)


async def _create(context: _Context) -> Result:
    options, workspace = context.options, context.workspace
    url: str = options.url
    own = f"{PATH}/{workspace.name}"
    expected = PATH if workspace.name == context.settings.default_workspace else own
    if not urlsplit(url).path.rstrip("/").endswith((expected, own)) and not options.yes:
        raise exit_codes.Failed(
            f"the bot receives deliveries of workspace {workspace.name} at …{expected}, and {url} has a different path. "
            "Add --yes if a proxy maps one to the other."
        )
    twins = [one.id for one in context.stored.values() if one.url.rstrip("/") == url.rstrip("/")]
    if twins and not options.yes:
        raise exit_codes.Failed(
            f"{url} is already subscribed ({', '.join(twins)}). The service can neither list nor delete subscriptions, "
            "so a second one would deliver every event twice, permanently. Add --yes to do it anyway."
        )
    made = await context.subscribe(url, options.events)
    secret = made.secret if options.show_secret else "stored in the database, for the bot"
    values = {"Id": made.id, "Events": ", ".join(made.events), "Secret": secret}
    facts = tuple(Fact(label=label, value=value) for label, value in values.items())
    card = Card(title=f"Subscribed {made.url}", tone=Tone.GOOD, facts=facts)
    return Result(card=card, rows=(context.row(made),))


async def _forget(context: _Context) -> Result:
    chosen, after = context.chosen(), context.options.after or 0.0
    when = f"from {_end(time.time() + after)} on" if after else "from now on"
    secrets = ", ".join(f"{one.id} ({one.url})" for one in chosen)
    question = (
        f"Forget the secrets of {secrets}? Deliveries signed with them will be rejected with 401 {when}."
    )
    confirm(question, yes=context.options.yes)
    await context.subscriptions.forget(context.workspace.name, [one.id for one in chosen], after=after)
    ids = ", ".join(one.id for one in chosen)
    stays = "The service keeps sending them until you remove the subscription there."
    card = Card(
        title=f"{ids} will be forgotten" if after else f"Forgot {ids}",
        tone=Tone.GOOD,
        text=(f"Running bots reject its deliveries {when}. {stays}",),
    )
    return Result(card=card, rows=tuple(context.row(one) for one in chosen))


async def _rotate(context: _Context) -> Result:
    """A new subscription for each of those that count, and an end for the old secrets."""
    options = context.options
    after = GRACE_SECONDS if options.after is None else options.after
    old = context.chosen() or [one for one in context.stored.values() if one.id not in context.ends]
    if not old:
        raise exit_codes.Failed(
            f"workspace {context.workspace.name} has no subscription of its own. `webhooks create --url URL` makes one."
        )
    end = time.time() + after
    until = f"until {_end(end)}" if after else "no longer"
    confirm(
        f"Subscribe {', '.join(one.url for one in old)} again, with a new secret? The bot accepts the old secret {until}. "
        "The service can't delete the old subscription: it delivers every event twice until its support does.",
        yes=options.yes,
    )
    facts, rows = [], []
    for replaced in old:
        events = tuple(kind for kind in EVENT_KINDS if kind in replaced.events) or EVENT_KINDS
        made = await context.subscribe(replaced.url, events)
        # Each by itself: if the next one fails, this one is done.
        await context.subscriptions.forget(context.workspace.name, [replaced.id], after=after)
        facts.append(Fact(label=replaced.id, value=f"replaced by {made.id}"))
        accepted_until = _iso(end if after else None)
        rows.append(context.row(made, replaces=[replaced.id], accepted_until=accepted_until))
    text = (
        f"The bot accepts the old secret {until}.",
        f"Ask the service's support to delete {', '.join(one.id for one in old)}.",
        "Until then it delivers every event twice, and the bot posts it once.",
    )
    title = f"Rotated {show_number(len(rows), 'secret')}"
    return Result(card=Card(title=title, tone=Tone.GOOD, text=text, facts=tuple(facts)), rows=tuple(rows))


ACTIONS: Mapping[str, Callable[[_Context], Awaitable[Result]]] = {
    "create": _create,
    "forget": _forget,
    "list": _list,
    "rotate": _rotate,
}


def _end(at: float | None) -> str:
    return "" if at is None else show_time(moment(at), now=datetime.now(UTC), zone=UTC)


def _iso(at: float | None) -> str | None:
    return None if at is None else moment(at).isoformat()


def _web_address(url: str | None) -> str:
    parts = urlsplit(url or "")
    if not url or not parts.hostname or parts.scheme not in {"http", "https"}:
        raise exit_codes.WrongUsage(f"webhooks create needs --url https://YOUR-HOST{PATH}")
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
