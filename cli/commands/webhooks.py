"""`outreach webhooks`: subscribes to the service's events, and stores the secret that the service shows only once.

The service can't list or delete subscriptions, so the bot's database has all that is known about them, and a second
subscription of the same address needs --yes.
"""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast
from urllib.parse import urlsplit

from cli.console import card_output
from cli.console.exit_codes import Failed, Refused, WrongUsage
from cli.console.interactive import confirm, stopping
from cli.console.resources import open_bot_store
from shared.api.errors import Uncertain
from shared.api.event_kinds import DELIVERED, NAME_OF, word_of
from shared.api.models import Subscription
from shared.api.words import EVENT_KINDS, EventKind
from shared.commands.base import Result, did_you_mean
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
        options.events = _event_kinds(options.events)
        _must_be_web_address(options.url)
    if options.action == "forget" and not options.events:
        raise WrongUsage("name the subscription: outreach webhooks forget ID. `webhooks list` shows the ids.")
    needs = (Need.API,) if options.action in {"create", "rotate"} else ()
    settings = load(config=options.config, needs=needs)
    result = asyncio.run(_run(options, settings, settings.workspace(options.workspace)))
    return card_output.answer(result, options)


async def _run(options: Namespace, settings: Settings, workspace: Workspace) -> Result:
    try:
        async with open_bot_store(settings) as store:
            await store.instance.id()  # it has been written: a secret is shown only once
            kept = WebhookSubscriptions(store.database, SecretCipher(settings.secret_keys))
            for file in settings.webhook_files:
                await kept.import_file(file)
            stored = {made.id: made for made in await kept.list(workspace.name)}
            webhooks = _Webhooks(options, settings, workspace, kept, stored, await kept.ends(workspace.name))
            result: Result = await getattr(webhooks, options.action)()
            return result
    except WebhookFileUnreadable as fault:
        raise Failed(str(fault)) from None


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
        rows, data = [], []
        for made in self.stored.values():
            end = moment(self.ends[made.id]) if made.id in self.ends else None
            until = show_time(end, now=datetime.now(UTC)) if end else ""
            rows.append(Row((made.id, made.url, ", ".join(made.events), until)))
            data.append(self._row(made, accepted_until=end and end.isoformat()))
        configured = len(self.workspace.webhook_secrets)
        card = Card(
            title=show_number(len(rows), "webhook subscription"),
            text=(f"{configured} more secrets come from the settings.",) if configured else (),
            table=Table(columns("Id", "URL", "Events", "Accepted until"), tuple(rows)),
            footer="Subscriptions made with `outreach webhooks create`. The service can't list them.",
        )
        return Result(card=card, rows=tuple(data))

    async def create(self) -> Result:
        url, name = self.options.url, self.workspace.name
        own = f"{PATH}/{name}"
        expected = PATH if name == self.settings.default_workspace else own
        doubts = []
        # A proxy may put a prefix before the bot's paths, so the end counts.
        if not urlsplit(url).path.rstrip("/").endswith((expected, own)):
            doubts.append(f"the bot receives deliveries of workspace {name} at …{expected}.")
        if twins := [made.id for made in self.stored.values() if made.url.rstrip("/") == url.rstrip("/")]:
            doubts.append(f"{url} is already subscribed ({', '.join(twins)}): every event would come twice.")
        if doubts and not self.options.yes:
            # Asked like this on a terminal, too: the service can't delete what was subscribed by mistake.
            raise Failed(" ".join([*doubts, "Add --yes to do it anyway."]))
        made = await self._subscribe(url, self.options.events)
        secret = made.secret if self.options.show_secret else "stored in the database, for the bot"
        facts = (Fact("Id", made.id), Fact("Events", ", ".join(made.events)), Fact("Secret", secret))
        return _done(f"Subscribed {made.url}", [self._row(made)], facts=facts)

    async def forget(self) -> Result:
        chosen = self._chosen()
        ids = ", ".join(made.id for made in chosen)
        self._confirm(f"Forget the secrets of {ids}? Their deliveries will be rejected with 401.")
        await self.kept.forget(self.workspace.name, [made.id for made in chosen])
        text = "The service keeps sending them until you remove the subscription there."
        return _done(f"Forgot {ids}", [*map(self._row, chosen)], text=(text,))

    async def rotate(self) -> Result:
        """Make a new subscription for each of those that count, and end the old secrets."""
        old = self._chosen() or [made for made in self.stored.values() if made.id not in self.ends]
        if not old:
            raise Failed(
                f"workspace {self.workspace.name} has no subscription of its own. `webhooks create --url URL` makes one."
            )
        self._confirm(
            f"Subscribe {', '.join(made.url for made in old)} again, with a new secret? The bot accepts the old secret "
            "for 24 hours. The service can't delete the old subscription: it delivers every event twice until its support does."
        )
        facts, rows = [], []
        for replaced in old:
            events = tuple(kind for kind in EVENT_KINDS if kind in replaced.events) or EVENT_KINDS
            # The new one first, so that there is no moment in which no secret is accepted.
            made = await self._subscribe(replaced.url, events)
            # Each by itself: if the next one fails, this one is done.
            await self.kept.forget(self.workspace.name, [replaced.id], after=GRACE_SECONDS)
            facts.append(Fact(replaced.id, f"replaced by {made.id}"))
            rows.append(self._row(made, replaces=[replaced.id]))
        text = (
            f"Ask the service's support to delete {', '.join(made.id for made in old)}.",
            "Until then it delivers every event twice, and the bot posts it once.",
        )
        return _done(f"Rotated {show_number(len(rows), 'secret')}", rows, text=text, facts=tuple(facts))

    def _confirm(self, question: str) -> None:
        confirm(question, yes=self.options.yes)

    def _chosen(self) -> Sequence[Subscription]:
        """The subscriptions that the command line names; raises `Failed` for an unknown one."""
        if missing := [name for name in self.options.events if name not in self.stored]:
            raise Failed(f"workspace {self.workspace.name} has no subscription {', '.join(missing)}")
        return [made for made in self.stored.values() if made.id in self.options.events]

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
                    text = (
                        f"The connection was lost after the request for {url} was sent, before a response arrived.",
                        "If it exists, its secret is lost and its deliveries are rejected with 401, which is harmless.",
                        "Create it again.",
                    )
                    title = "We couldn't confirm this subscription"
                    raise Refused(Card(title=title, tone=Tone.WARN, text=text)) from None
                except RecordsUnavailable as fault:
                    raise Failed(
                        f"the subscription {made.id} exists, but its secret couldn't be stored ({fault}) and is lost. "
                        "Create another one. Deliveries of this one are rejected with 401, which is harmless."
                    ) from None
        return made


def _done(title: str, rows: Sequence[Mapping[str, object]], **about: Any) -> Result:
    return Result(card=Card(title=title, tone=Tone.GOOD, **about), rows=tuple(rows))


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
        if name not in DELIVERED:
            hint = did_you_mean(event, tuple(map(word_of, DELIVERED)))
            raise WrongUsage(f"unknown event “{event}”. {hint}")
    return cast("tuple[EventKind, ...]", tuple(dict.fromkeys(names.values()))) or EVENT_KINDS
