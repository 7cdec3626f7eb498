"""`preferences`: what a person chooses for themselves, and how that reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, tzinfo

from bot.blockkit.actions import OpenForm
from bot.commands.answer import Answer
from bot.slack.permissions import Person
from bot.store import Store
from shared.commands.preferences import OFF, Preferences
from shared.domain.card import Button, Card, Fact, Tone
from shared.domain.personal import PersonalSettings
from shared.domain.wall_clock import Recurrence, parse_recurrence
from shared.operations.context import CommandContext
from shared.operations.subscriptions.commands import show_recurrence
from shared.text.formats import show_time
from shared.text.slack_ids import bare

WAYS = {
    "mention": "the message mentions you",
    "message": "you get it as a direct message, and no mention",
    "nothing": "neither a mention nor a direct message",
}
EDIT = Button(label="Change …", action=OpenForm(verb="preferences"))
_HELD = "In your quiet hours nothing mentions you, and direct messages wait until they end."


class OwnPreferences:
    """`run` the command for a person; `channel_of` returns their direct messages with the bot, where it is known."""

    def __init__(self, store: Store, *, channel_of: Callable[[str], str]) -> None:
        self._store, self._channel_of = store, channel_of

    async def run(self, asked: Preferences, context: CommandContext, person: Person) -> Answer:
        if asked.forget:
            had = await self._store.people.forget(person.id)
            title = "Your preferences were erased" if had else "You have chosen nothing"
            return Answer(
                card=Card(title=title, tone=Tone.GOOD, text=("The defaults count: alerts mention you.",))
            )
        settings = await self._store.people.find(person.id)
        if asked.shows:
            return Answer(card=_card(settings, context, title="Your preferences"))
        settings = chosen(settings, asked, zone=str(getattr(context.zone, "key", "UTC")))
        here = context.actor.channel
        channel = here if bare(here).startswith("D") else self._channel_of(person.id)
        await self._store.people.choose(person.id, settings, channel=channel)
        return Answer(
            card=replace(_card(settings, context, title="Your preferences were saved"), tone=Tone.GOOD)
        )


def chosen(settings: PersonalSettings, asked: Preferences, *, zone: str) -> PersonalSettings:
    """With what was asked, in the person's zone where none was named; the rest stays. Pure."""
    if asked.notify:
        settings = replace(settings, notify=asked.notify)
    if asked.quiet:
        settings = replace(settings, quiet="" if asked.quiet == OFF else asked.quiet, zone=zone)
    if asked.digest:
        found = None if asked.digest == OFF else parse_recurrence(asked.digest.split())
        at = str(replace(found, zone=found.zone or zone)) if isinstance(found, Recurrence) else ""
        settings = replace(settings, digest=at)
    return settings


def facts_of(settings: PersonalSettings, *, now: datetime, zone: tzinfo) -> tuple[Fact, ...]:
    """The settings as people read them."""
    recurrence = settings.recurrence
    digest = "off"
    if recurrence:
        digest = (
            f"{show_recurrence(recurrence)}, next {show_time(recurrence.next_after(now), now=now, zone=zone)}"
        )
    return (
        Fact(label="Alerts for you", value=WAYS[settings.notify]),
        Fact(label="Quiet hours", value=f"{settings.quiet} {settings.zone}" if settings.quiet else "none"),
        Fact(label="Digest of your replies", value=digest),
    )


def _card(settings: PersonalSettings, context: CommandContext, *, title: str) -> Card:
    return Card(
        title=title,
        facts=facts_of(settings, now=context.now(), zone=context.zone),
        text=(_HELD,) if settings.quiet else (),
        buttons=(EDIT,),
        footer="`preferences forget` erases them.",
    )
