"""`outreach webhooks`: subscribes to the service's events, and stores the secret that the service shows only once.

The service can't list or delete subscriptions, so the bot's database has all that is known about them, and a second
subscription of the same address needs --yes.
"""

from __future__ import annotations

import asyncio
import time
from argparse import Namespace
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from difflib import get_close_matches
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
GRACE = 86_400.0
"""Seconds that an old secret is accepted after a rotation: for so long the service retries a delivery."""
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def run(options: Namespace) -> int:
    """`create`, `list`, `rotate` or `forget`."""
    settings = load(
        config=options.config, needs=(Need.API,) if options.action in {"create", "rotate"} else ()
    )
    workspace = settings.workspace(options.workspace)
    act = {"create": _create, "forget": _forget, "list": _list, "rotate": _rotate}[options.action]
    return asyncio.run(act(workspace, settings, options))


@asynccontextmanager
async def _open_subscriptions(settings: Settings) -> AsyncIterator[WebhookSubscriptions]:
    """The subscriptions in the bot's database, which has been written: a secret is shown only once."""
    try:
        async with open_bot_store(settings) as store:
            await store.instance.id()
            subscriptions = WebhookSubscriptions(store.database, SecretCipher(settings.secret_keys))
            for file in settings.webhook_files:
                await subscriptions.import_file(file)
            yield subscriptions
    except WebhookFileUnreadable as fault:
        raise exit_codes.Failed(str(fault)) from None


async def _list(workspace: Workspace, settings: Settings, options: Namespace) -> int:
    async with _open_subscriptions(settings) as subscriptions:
        kept, ends = await subscriptions.list(workspace.name), await subscriptions.ends(workspace.name)
    configured = len(workspace.webhook_secrets)
    rows = tuple(
        Row(cells=(s.id, s.url, ", ".join(s.events), *((_end(ends.get(s.id)),) if ends else ())))
        for s in kept
    )
    titles = ("Id", "URL", "Events", *(("Accepted until",) if ends else ()))
    card = Result(
        card=Card(
            title=show_number(len(kept), "webhook subscription"),
            text=(f"{configured} more secrets come from the settings.",) if configured else (),
            table=Table(columns=columns(*titles), rows=rows) if rows else None,
            footer="Subscriptions made with `outreach webhooks create`. The service can't list them.",
        ),
        rows=tuple(
            {**_data(s, show_secret=options.show_secret), "accepted_until": _iso(ends.get(s.id))}
            for s in kept
        ),
    )
    return card_output.answer(card, as_json=options.json)


async def _forget(workspace: Workspace, settings: Settings, options: Namespace) -> int:
    ids = tuple(dict.fromkeys(options.events))
    if not ids:
        raise exit_codes.WrongUsage(
            "name the subscription: outreach webhooks forget ID. `webhooks list` shows the ids."
        )
    async with _open_subscriptions(settings) as subscriptions:
        known = {one.id: one for one in await subscriptions.list(workspace.name)}
        _must_be_known(ids, known, workspace)
        secrets = f"the secrets of {', '.join(f'{one} ({known[one].url})' for one in ids)}"
        when = f"from {_end(time.time() + options.after)} on" if options.after else "from now on"
        confirm(
            f"Forget {secrets}? Deliveries signed with them will be rejected with 401 {when}.",
            yes=options.yes,
        )
        await subscriptions.forget(workspace.name, ids, after=options.after or 0.0)
    text = (
        f"Running bots reject its deliveries {when}. The service keeps sending them until you remove the "
        "subscription there."
    )
    data = tuple(_data(known[one], show_secret=False) for one in ids)
    title = f"{', '.join(ids)} will be forgotten" if options.after else f"Forgot {', '.join(ids)}"
    card = Result(card=Card(title=title, tone=Tone.GOOD, text=(text,)), rows=data)
    return card_output.answer(card, as_json=options.json)


async def _rotate(workspace: Workspace, settings: Settings, options: Namespace) -> int:
    """A new subscription for each of those that count, with an end for the old secrets."""
    named = tuple(dict.fromkeys(options.events))
    after = GRACE if options.after is None else options.after
    async with _open_subscriptions(settings) as subscriptions:
        kept, ends = await subscriptions.list(workspace.name), await subscriptions.ends(workspace.name)
        known = {one.id: one for one in kept}
        _must_be_known(named, known, workspace)
        old = [known[one] for one in named] or [one for one in kept if one.id not in ends]
        if not old:
            raise exit_codes.Failed(
                f"workspace {workspace.name} has no subscription of its own. `webhooks create --url URL` makes one."
            )
        end = time.time() + after
        until = f"until {_end(end)}" if after else "no longer"
        by_url = {one.url: [other for other in old if other.url == one.url] for one in old}
        confirm(
            f"Subscribe {', '.join(by_url)} again, with a new secret? The bot accepts the old secret {until}. The service "
            "can't delete the old subscription: it delivers every event twice until its support does.",
            yes=options.yes,
        )
        made = {}
        for url, replaced in by_url.items():
            had = {kind for one in replaced for kind in one.events}
            events = tuple(kind for kind in EVENT_KINDS if kind in had) or EVENT_KINDS
            made[url] = await _subscribe(subscriptions, workspace, settings, url=url, events=events)
            # Each by itself: if the next one fails, this one is done.
            await subscriptions.forget(workspace.name, [one.id for one in replaced], after=after)
    data = tuple(
        {
            **_data(new, show_secret=options.show_secret),
            "replaces": [one.id for one in by_url[url]],
            "accepted_until": _iso(end if after else None),
        }
        for url, new in made.items()
    )
    facts = tuple(
        Fact(label=one.id, value=f"replaced by {new.id}") for url, new in made.items() for one in by_url[url]
    )
    text = (
        f"The bot accepts the old secret {until}.",
        f"Ask the service's support to delete {', '.join(one.id for one in old)}.",
        "Until then it delivers every event twice, and the bot posts it once.",
    )
    title = f"Rotated {show_number(len(made), 'secret')}"
    card = Card(title=title, tone=Tone.GOOD, text=text, facts=facts)
    return card_output.answer(Result(card=card, rows=data), as_json=options.json)


def _must_be_known(ids: Sequence[str], known: Mapping[str, Subscription], workspace: Workspace) -> None:
    if missing := [one for one in ids if one not in known]:
        raise exit_codes.Failed(f"workspace {workspace.name} has no subscription {', '.join(missing)}")


def _end(at: float | None) -> str:
    return "" if at is None else show_time(moment(at), now=datetime.now(UTC), zone=UTC)


def _iso(at: float | None) -> str | None:
    return None if at is None else moment(at).isoformat()


async def _create(workspace: Workspace, settings: Settings, options: Namespace) -> int:
    url, events = _address(options.url), _kinds(options.events)
    named = f"{PATH}/{workspace.name}"
    expected = PATH if workspace.name == settings.default_workspace else named
    if not urlsplit(url).path.rstrip("/").endswith((expected, named)) and not options.yes:
        raise exit_codes.Failed(
            f"the bot receives deliveries of workspace {workspace.name} at …{expected}, and {url} has a different path. "
            "Add --yes if a proxy maps one to the other."
        )
    async with _open_subscriptions(settings) as subscriptions:
        _must_be_new(await subscriptions.list(workspace.name), url, insisted=options.yes)
        made = await _subscribe(subscriptions, workspace, settings, url=url, events=events)
    return card_output.answer(_card(made, show_secret=options.show_secret), as_json=options.json)


async def _subscribe(
    subscriptions: WebhookSubscriptions,
    workspace: Workspace,
    settings: Settings,
    *,
    url: str,
    events: Sequence[EventKind],
) -> Subscription:
    """The secret is on disk before anything else happens, Ctrl-C included."""
    async with open_client(settings, workspace) as client:
        with stopping():
            try:
                made = await client.create_webhook(url, events)
            except Uncertain:
                raise exit_codes.Refused(_uncertain(url)) from None
            try:
                await subscriptions.add({workspace.name: (made,)})
            except RecordsUnavailable as fault:
                raise exit_codes.Failed(
                    f"the subscription {made.id} exists, but its secret couldn't be stored ({fault}) and is lost. "
                    "Create another one. Deliveries of this one are rejected with 401, which is harmless."
                ) from None
    return made


def _address(url: str | None) -> str:
    if not url:
        raise exit_codes.WrongUsage(f"webhooks create needs --url https://YOUR-HOST{PATH}")
    parts = urlsplit(url)
    if not parts.hostname or parts.scheme not in {"http", "https"}:
        raise exit_codes.WrongUsage(
            f"“{url}” isn't a web address. Use one like https://ops.example.com{PATH}"
        )
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise exit_codes.WrongUsage("the service only delivers to https addresses")
    return url


def _kinds(events: Sequence[str]) -> tuple[EventKind, ...]:
    known: dict[str, EventKind] = {kind: kind for kind in EVENT_KINDS}
    words = {word: known[name] for word, name in NAME_OF.items() if name in known}
    for event in events:
        if event not in words:
            near = get_close_matches(event, words, n=1)
            hint = (
                f"did you mean {near[0]}?" if near else f"choose from: {', '.join(map(word_of, EVENT_KINDS))}"
            )
            raise exit_codes.WrongUsage(f"unknown event “{event}”; {hint}")
    return tuple(dict.fromkeys(map(words.__getitem__, events))) or EVENT_KINDS


def _must_be_new(kept: Sequence[Subscription], url: str, *, insisted: bool) -> None:
    twins = [s for s in kept if s.url.rstrip("/") == url.rstrip("/")]
    if twins and not insisted:
        raise exit_codes.Failed(
            f"{url} is already subscribed ({', '.join(s.id for s in twins)}). The service can neither list nor delete "
            "subscriptions, so a second one would deliver every event twice, permanently. Add --yes to do it anyway."
        )


def _uncertain(url: str) -> Card:
    return Card(
        title="We couldn't confirm this subscription",
        tone=Tone.WARN,
        text=(
            f"The connection was lost after the request for {url} was sent, before a response arrived.",
            "If it exists, its secret is lost and its deliveries are rejected with 401, which is harmless.",
            "Create it again.",
        ),
    )


def _card(made: Subscription, *, show_secret: bool) -> Result:
    secret = made.secret if show_secret else "stored in the database, for the bot"
    return Result(
        card=Card(
            title=f"Subscribed {made.url}",
            tone=Tone.GOOD,
            facts=(
                Fact(label="Id", value=made.id),
                Fact(label="Events", value=", ".join(made.events)),
                Fact(label="Secret", value=secret),
            ),
        ),
        rows=(_data(made, show_secret=show_secret),),
    )


def _data(made: Subscription, *, show_secret: bool) -> dict[str, object]:
    secret = {"secret": made.secret} if show_secret else {}
    return {"id": made.id, "url": made.url, "events": list(made.events), **secret}
