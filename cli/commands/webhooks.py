"""`outreach webhooks`: subscribes to the service's events, and stores the secret that the service shows only once.

The service can't list or delete subscriptions, so the bot's database has all that is known about them, and a second
subscription of the same address needs --yes.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import cast
from urllib.parse import urlsplit

from cli.console.exit_codes import Failed, WrongUsage
from cli.console.interactive import confirm, stopping
from shared.api.client import OutreachClient
from shared.api.errors import Uncertain
from shared.api.words import EVENT_KINDS, EventKind
from shared.commands.base import Result, did_you_mean
from shared.commands.run import open_client
from shared.domain.card import Card, Fact, Row, Table, Tone, columns
from shared.domain.event_kinds import NAME_OF, word_of
from shared.domain.wall_clock import moment
from shared.records import RecordsUnavailable
from shared.settings import Need, load
from shared.store import open_store
from shared.store.webhooks import SecretCipher, StoredSubscription, WebhookSubscriptions
from shared.text.formats import show_number, show_time

PATH = "/webhooks/outreach"
GRACE_SECONDS = 86_400.0
"""An old secret is accepted for so long after a rotation: the service retries a delivery as long."""
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


async def run(options: Namespace) -> Result:
    """Check the command line before anything is asked or opened, then act."""
    if options.action == "create":
        options.events = _event_kinds(options.events)
        _must_be_web_address(options.url)
    if options.action == "forget" and not options.events:
        raise WrongUsage("name the subscription: outreach webhooks forget ID. `webhooks list` shows the ids.")
    needs = (Need.API,) if options.action in {"create", "rotate"} else ()
    settings = load(config=options.config, needs=needs)
    workspace = settings.workspace(options.workspace)
    name = workspace.name
    async with open_store(settings.database) as store:
        await store.instance.id()  # it has been written: a secret is shown only once
        kept = WebhookSubscriptions(store.database, SecretCipher(settings.secret_keys))
        stored = (await kept.all()).get(name, ())
        if options.action == "list":
            count = len(workspace.webhook_secrets)
            text = f"{count} more secrets come from the settings." if count else ""
            return _result(options, "", stored, text)
        if options.action == "create":
            _must_be_new(options, stored, default=name == settings.default_workspace, workspace=name)
            async with open_client(settings, workspace) as client:
                made = await _subscribe(client, kept, name, options.url, options.events)
            text = "Its secret is kept where the bot finds it."
            return _result(options, f"Subscribed {made.url}", [made], text)
        if missing := {*options.events} - {made.id for made in stored}:
            raise Failed(f"workspace {name} has no subscription {', '.join(missing)}")
        chosen = [made for made in stored if made.id in options.events]
        if options.action == "forget":
            return await _forget(options, kept, name, chosen)
        chosen = chosen or [made for made in stored if made.ends_at is None]
        if not chosen:
            text = f"workspace {name} has no subscription of its own. `webhooks create --url URL` makes one."
            raise Failed(text)
        async with open_client(settings, workspace) as client:
            return await _rotate(options, client, kept, name, chosen)


async def _forget(
    options: Namespace, kept: WebhookSubscriptions, name: str, chosen: Sequence[StoredSubscription]
) -> Result:
    ids = [made.id for made in chosen]
    question = f"Forget the secrets of {', '.join(ids)}? Their deliveries will be rejected with 401."
    confirm(question, yes=options.yes)
    await kept.forget(name, ids)
    text = "The service keeps sending them until you remove the subscription there."
    return _result(options, f"Forgot {', '.join(ids)}", chosen, text)


async def _rotate(
    options: Namespace,
    client: OutreachClient,
    kept: WebhookSubscriptions,
    name: str,
    chosen: Sequence[StoredSubscription],
) -> Result:
    """Make a new subscription for each of these, and end the old secrets."""
    confirm(
        f"Subscribe {', '.join(old.url for old in chosen)} again, with a new secret? The bot accepts the old secret "
        "for 24 hours. The service can't delete the old subscription: it delivers every event twice until its support does.",
        yes=options.yes,
    )
    fresh = []
    for old in chosen:
        events = tuple(kind for kind in EVENT_KINDS if kind in old.events) or EVENT_KINDS
        # The new one first, so that there is no moment in which no secret is accepted.
        fresh.append(await _subscribe(client, kept, name, old.url, events))
        # Each by itself: if the next one fails, this one is done.
        await kept.forget(name, [old.id], after=GRACE_SECONDS)
    ids = ", ".join(old.id for old in chosen)
    text = f"Ask the service's support to delete {ids}. Until then it delivers every event twice, and the bot posts it once."
    return _result(options, f"Rotated {show_number(len(fresh), 'secret')}", fresh, text)


async def _subscribe(
    client: OutreachClient, kept: WebhookSubscriptions, name: str, url: str, events: Sequence[EventKind]
) -> StoredSubscription:
    """Subscribe, and have the secret on disk before anything else happens, Ctrl-C included."""
    lost = "is lost. Create another one. Its deliveries are rejected with 401, which is harmless."
    with stopping():
        try:
            made = await client.create_webhook(url, events)
            await kept.add(name, made)
        # Never repeated here: a second subscription could not be deleted.
        except Uncertain:
            text = "We couldn't confirm this subscription: the connection was lost before a response arrived."
            raise Failed(f"{text} If it exists, its secret {lost}") from None
        except RecordsUnavailable as fault:
            text = f"the subscription {made.id} exists, but its secret couldn't be stored ({fault}) and"
            raise Failed(f"{text} {lost}") from None
    return StoredSubscription(id=made.id, url=made.url, events=made.events, secret=made.secret)


def _result(options: Namespace, title: str, made: Sequence[StoredSubscription], text: str) -> Result:
    """The subscriptions, with the end of each secret that is being replaced."""
    rows, lines = [], []
    for each in made:
        end = moment(each.ends_at)
        row = {"id": each.id, "url": each.url, "events": [*each.events]}
        # Only on request: terminals keep what scrolled by, and CI keeps its logs.
        secret = {"secret": each.secret} if options.show_secret else {}
        rows.append({**row, **secret, "accepted_until": end and end.isoformat()})
        until = show_time(end, now=datetime.now(UTC)) if end else ""
        lines.append(Row((each.id, each.url, ", ".join(each.events), until)))
    source = "Subscriptions made with `outreach webhooks create`. The service can't list them."
    card = Card(
        title=title or show_number(len(made), "webhook subscription"),
        tone=Tone.GOOD if title else Tone.INFO,
        text=(text,),
        # Not in the table, where Rich would cut it.
        facts=[Fact(f"Secret of {each.id}", each.secret) for each in made if options.show_secret],
        table=Table(columns("Id", "URL", "Events", "Accepted until"), lines),
        footer="" if title else source,
    )
    return Result(card=card, rows=rows)


def _must_be_new(
    options: Namespace, stored: Collection[StoredSubscription], *, workspace: str, default: bool
) -> None:
    """Without `--yes`, refuse an address that the bot doesn't serve or that is subscribed already."""
    own = f"{PATH}/{workspace}"
    doubts = []
    # A proxy may put a prefix before the bot's paths, so the end counts.
    if not urlsplit(options.url).path.rstrip("/").endswith((PATH, own) if default else own):
        doubts.append(f"the bot receives deliveries of workspace {workspace} at …{PATH if default else own}.")
    if any(made.url.rstrip("/") == options.url.rstrip("/") for made in stored):
        doubts.append(f"{options.url} is already subscribed: every event would come twice.")
    if doubts and not options.yes:
        # Asked like this on a terminal, too: the service can't delete what was subscribed by mistake.
        raise Failed(" ".join([*doubts, "Add --yes to do it anyway."]))


def _must_be_web_address(url: str | None) -> None:
    parts = urlsplit(url or "")
    if not parts.hostname or parts.scheme not in {"http", "https"}:
        raise WrongUsage(f"webhooks create needs --url https://YOUR-HOST{PATH}")
    # The sandbox delivers on this machine without TLS.
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise WrongUsage("the service only delivers to https addresses")


def _event_kinds(events: Sequence[str]) -> tuple[EventKind, ...]:
    names = {event: NAME_OF.get(event) for event in events}
    for event, name in names.items():
        if name not in EVENT_KINDS:
            hint = did_you_mean(event, tuple(map(word_of, EVENT_KINDS)))
            raise WrongUsage(f"unknown event “{event}”. {hint}")
    return cast("tuple[EventKind, ...]", tuple(dict.fromkeys(names.values()))) or EVENT_KINDS
