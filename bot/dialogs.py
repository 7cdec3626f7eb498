"""Home, modals and shortcuts: what Slack shows outside of messages. Each answer is there within the trigger's time.

A trigger lives three seconds: so a view is opened first, and filled when the answer is known.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

import structlog
from slack_sdk.web.async_client import AsyncWebClient

from bot import forms, home, metrics, roles
from bot.acts import Answer
from bot.clicked import ClickedCard
from bot.courtesy import ON_ITS_WAY
from bot.desks import Desks
from bot.ledger.interaction import Interaction
from bot.people import NOT_ANSWERED, People
from bot.replying import Thread
from bot.roles import Person
from shared.api.errors import OutreachError
from shared.api.events import Event, read_event
from shared.api.models import Sequence as Campaign
from shared.api.pacing import Priority
from shared.commands import COMMANDS
from shared.health import roll_up
from shared.records import RecordsUnavailable
from shared.settings import Workspace

KEPT = 15.0
"""Seconds for which a menu's sequences are believed."""
PATIENCE = 5.0
MOST_VISITORS = 2_000

log = structlog.get_logger("dialogs")


class Modal:
    """A modal in front of somebody, for one answer; should they have closed it, the answer is a message to them."""

    def __init__(self, client: AsyncWebClient, *, view: str, person: str, channel: str) -> None:
        self._client, self._view, self._person, self._channel = client, view, person, channel

    async def working(self) -> None:
        """The modal says so from the beginning."""

    async def say(self, answer: Answer) -> None:
        """Show it; what changed something is told to the channel, too."""
        if answer.public and self._channel:
            await Thread(self._client, channel=self._channel).say(answer)
        try:
            view = forms.answer(answer.card, channel=self._channel)
            await called(self._client, "views.update", view_id=self._view, view=view)
        except NOT_ANSWERED as error:
            log.info("the modal is gone", error=str(error)[:100])
            if not answer.public:
                await Thread(self._client, channel=self._person).say(answer)


class Dialogs:
    """Open views and fill them."""

    def __init__(
        self, desks: Desks, people: People, client: AsyncWebClient, *, changed: Callable[[], None]
    ) -> None:
        self._desks, self._people, self._client, self._changed = desks, people, client, changed
        self._interaction = Interaction(desks.ledger.store)
        self._visitors: set[str] = set()
        self._menus: dict[str, tuple[float, Sequence[Campaign]]] = {}

    def channel_for(self, channel: str) -> str:
        """Where it is told what changed: where it was asked for, else the alert channel."""
        private = not channel or channel.startswith("D")
        return (self._desks.workspace(None).alert_channel or "") if private else channel

    async def announce(self, answer: Answer, channel: str) -> None:
        """What somebody changed in a conversation with the bot alone is told to the others, too."""
        shared = self.channel_for(channel)
        if answer.public and shared and shared != channel:
            await Thread(self._client, channel=shared).say(answer)

    async def open_form(self, verb: str, trigger: str, *, channel: str) -> None:
        """A command's empty form."""
        await called(self._client, "views.open", trigger_id=trigger, view=forms.form(verb, channel=channel))

    async def open_answer(self, trigger: str, *, person: str, channel: str) -> Modal:
        """A modal that says that the answer is on its way."""
        view = forms.answer(ON_ITS_WAY, channel=channel)
        opened = await called(self._client, "views.open", trigger_id=trigger, view=view)
        return self.modal(str(opened["view"]["id"]), person=person, channel=channel)

    def modal(self, view: str, *, person: str, channel: str) -> Modal:
        """A modal that is open already."""
        return Modal(self._client, view=view, person=person, channel=self.channel_for(channel))

    def clicked(self, message: Mapping[str, Any], *, channel: str, name: str) -> ClickedCard:
        """The message of a click that everybody there sees."""
        return ClickedCard(
            message, channel=channel, name=name, interaction=self._interaction, changed=self._changed
        )

    async def event_at(self, channel: str, ts: str) -> Event | None:
        """What the alert in a message tells; None: the message shows no single alert."""
        held = await self._interaction.alert_at(channel, ts)
        event = read_event(held.body or b"") if held else None
        return event if isinstance(event, Event) else None

    async def choices(self, said: str) -> list[dict[str, Any]]:
        """The options of a menu of sequences; none where the service does not answer in time."""
        workspace = self._desks.workspace(None)
        try:
            known = await asyncio.wait_for(self._sequences(workspace), 2.0)
        except (OutreachError, TimeoutError) as error:
            log.info("no sequences for a menu", error=type(error).__name__)
            return []
        return forms.options(known, said)

    async def _sequences(self, workspace: Workspace) -> Sequence[Campaign]:
        at, known = self._menus.get(workspace.name, (0.0, ()))
        if not known or time.monotonic() - at > KEPT:
            client = self._desks.clients[workspace.name]
            known = await client.list_sequences(priority=Priority.INTERACTIVE)
            self._menus[workspace.name] = (time.monotonic(), known)
        return known

    async def show_home(self, user: str) -> None:
        """Publish the Home tab of one person as things stand."""
        if len(self._visitors) >= MOST_VISITORS:
            self._visitors.clear()
        self._visitors.add(user)
        person = await self._people.find(user)
        standing = await self._standing(person, self._desks.workspace(None))
        try:
            await called(self._client, "views.publish", user_id=user, view=home.view(standing))
        except NOT_ANSWERED as error:
            log.warning("home not shown", error=str(error)[:200])

    async def refresh_home(self, user: str) -> None:
        """Publish it anew for somebody who has looked at it since the start."""
        if user in self._visitors:
            await self.show_home(user)

    async def _standing(self, person: Person, workspace: Workspace) -> home.Standing:
        self._menus.pop(workspace.name, None)
        seated = roles.seated(person, rules=self._desks.settings.roles, channel="")
        parts = await asyncio.gather(
            self._waiting(workspace), self._claims(person), self._health(workspace), self._sequences(workspace),
            self._paused(workspace),
            return_exceptions=True,
        )  # fmt: skip
        waiting, claims, domains, sequences, paused = (
            None if isinstance(part, BaseException) else part for part in parts
        )
        pause = COMMANDS["pause"]
        return home.Standing(
            now=datetime.now(UTC),
            workspace=workspace.name,
            waiting=waiting,  # type: ignore[arg-type] # gather forgets which is which
            claims=claims,  # type: ignore[arg-type] # likewise
            paused=paused or (),  # type: ignore[arg-type] # likewise
            domains=domains,  # type: ignore[arg-type] # likewise
            sequences=sequences,  # type: ignore[arg-type] # likewise
            may_change=roles.allowed(seated, pause, rules=self._desks.settings.roles, channel=""),
            trouble=_trouble(parts),
        )

    async def _waiting(self, workspace: Workspace) -> Sequence[home.Waiting]:
        replies = await self._desks.ledger.open_replies(workspace.name)
        links = await self.links([reply.alert_id for reply in replies[: home.WAITING]])
        return [
            home.Waiting(
                alert=reply.alert_id,
                lead=" at ".join(filter(None, (reply.lead or reply.email, reply.company))),
                sequence=reply.sequence,
                since=reply.received_at,
                link=links.get(reply.alert_id, ""),
            )
            for reply in replies
        ]

    async def _paused(self, workspace: Workspace) -> Sequence[tuple[str, datetime]]:
        watched = await self._desks.ledger.watched(workspace.name)
        since: dict[str, datetime] = {}
        for one in watched:
            if one.kind == "domain.paused" and one.domain:
                since.setdefault(one.domain, datetime.fromtimestamp(one.received_at, UTC))
        return list(since.items())

    async def _claims(self, person: Person) -> Sequence[home.Waiting]:
        held = await self._interaction.held_by(person.id)
        links = await self.links([one.alert_id for one in held[: home.CLAIMS]])
        found = []
        for one in held:
            event = read_event(one.body or b"")
            lead = event.lead if isinstance(event, Event) else None
            said = " at ".join(filter(None, (lead.name, lead.company))) if lead else ""
            since = datetime.fromtimestamp(one.at or one.received_at, UTC)
            sequence = (event.sequence or "") if isinstance(event, Event) else ""
            found.append(
                home.Waiting(
                    alert=one.alert_id,
                    lead=said,
                    sequence=sequence,
                    since=since,
                    link=links.get(one.alert_id, ""),
                )
            )
        return found

    async def links(self, alerts: Sequence[str]) -> dict[str, str]:
        """The addresses of alerts' messages, as far as they were posted."""
        places = await self._interaction.places(alerts)
        found = await asyncio.gather(*(self._people.permalink(*place) for place in places.values()))
        return dict(zip(places, found, strict=True))

    async def _health(self, workspace: Workspace) -> Any:
        client = self._desks.clients[workspace.name]
        async with asyncio.timeout(PATIENCE):
            inboxes = await client.list_inboxes(priority=Priority.INTERACTIVE)
        return roll_up(inboxes, thresholds=workspace.thresholds)


def _trouble(parts: Sequence[Any]) -> str:
    for part in parts:
        if isinstance(part, OutreachError):
            return f"The service: {part.message}"
        if isinstance(part, RecordsUnavailable):
            return str(part)
        if isinstance(part, BaseException):
            return "Something could not be asked now"
    return ""


async def called(client: AsyncWebClient, method: str, **body: Any) -> Mapping[str, Any]:
    """One call of the Web API. Raises what `NOT_ANSWERED` lists."""
    metrics.SLACK_CALLS.labels(method).inc()
    return cast("Mapping[str, Any]", (await client.api_call(method, json=body)).data)
