"""`subscribe`, `unsubscribe`, `subscriptions` and `digest`."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, tzinfo

from shared.api.event_kinds import EVENTS
from shared.api.pace import Priority
from shared.commands.base import Result, clip, did_you_mean, refusal, refused
from shared.commands.channels import InChannel
from shared.commands.digest import Digest
from shared.commands.resolve import Resolved
from shared.commands.run import CommandContext, Place
from shared.commands.running import sources
from shared.commands.running.digest_card import digest_card
from shared.commands.running.subscription_card import card_of, name_events, policy
from shared.commands.subscribe import Subscribe, Subscriptions, Unsubscribe
from shared.domain.card import Button, Card, Tone
from shared.domain.wall_clock import WEEKDAYS, Recurrence, parse_recurrence
from shared.records.records import Subscription
from shared.text.formats import show_number, show_time
from shared.text.sanitize import visible


def _channel(arguments: InChannel, context: CommandContext) -> str:
    return arguments.channel or context.actor.channel


def _nowhere() -> Result:
    return refused(
        "Which channel?",
        "“here” works only in Slack. Name a channel, like '#sales'.",
        why="no channel",
        argument="channel",
    )


async def subscriptions(arguments: Subscriptions, context: CommandContext) -> Result:
    """`subscriptions [here|#channel]`."""
    channel = _channel(arguments, context)
    if not channel:
        return replace(_nowhere(), audit="")
    lines = await sources.list_sources(context, channel)
    found = await card_of(
        f"Subscriptions of {_mention_channel(channel)}", lines, context=context, channel=channel
    )
    more = (await _digests(context, channel), *await policy(context, channel=channel))
    return replace(found, card=replace(found.card, text=(*found.card.text, *more)))


async def _digests(context: CommandContext, channel: str) -> str:
    names = [workspace.name for workspace in sources.list_workspaces(context)]
    times = [(name, await context.need_records().digest_at(name, channel)) for name in names]
    texts = [
        f"{show_times(at)}{f' for {name}' if len(names) > 1 else ''}, next {_next(at, context)}"
        for name, at in times
        if at
    ]
    return f"Digest: {'; '.join(texts)}." if texts else "No digest is scheduled."


async def subscribe(arguments: Subscribe, context: CommandContext) -> Result:
    """`subscribe EVENT… [sequence=…] [inbox=…] [here|#channel] [condensed]`: exactly what is listed."""
    records = context.need_records()
    channel = _channel(arguments, context)
    if not channel:
        return _nowhere()
    named = await _sequence_name(arguments, context)
    if isinstance(named, Result):
        return named
    if problem := await _inbox_problem(arguments, context):
        return problem
    place = await context.find_place(channel)
    if place.refusal:
        return _no_place(place)
    channel = place.channel
    wanted = [
        Subscription(
            channel=channel, event=kind, sequence=named, inbox=arguments.inbox, condensed=arguments.condensed
        )
        for kind in arguments.events
    ]
    await records.subscribe(context.workspace.name, wanted)
    only = " · ".join(filter(None, (named, arguments.inbox)))
    gets = f"{name_events(arguments.events)}{f' of {only}' if only else ''}"
    card = await _whole_set(f"{_mention_channel(channel)} now gets {gets}", context, channel)
    return Result(
        card=_noted(replace(card, tone=Tone.GOOD), place), audit=f"{channel}: {', '.join(arguments.events)}"
    )


def _noted(card: Card, place: Place) -> Card:
    return replace(card, text=(*card.text, place.note)) if place.note else card


def _no_place(place: Place) -> Result:
    return refused(place.refusal, place.fix, why=place.refusal, argument="channel")


async def _whole_set(title: str, context: CommandContext, channel: str) -> Card:
    lines = await sources.list_sources(context, channel)
    return (await card_of(title, lines, context=context, channel=channel)).card


async def _sequence_name(arguments: Subscribe, context: CommandContext) -> str | Result:
    if not arguments.sequence:
        return ""
    found = await context.find_sequence([arguments.sequence])
    if isinstance(found, Resolved):
        return found.sequence.label
    card = found.card(lambda known: replace(arguments, sequence=known))
    return refusal(card, why="no single sequence", argument="sequence")


async def _inbox_problem(arguments: Subscribe, context: CommandContext) -> Result | None:
    """A filter that no inbox fits would never let an alert through."""
    if not arguments.inbox:
        return None
    inboxes = await context.client.list_inboxes(priority=Priority.INTERACTIVE)
    known = {name.casefold() for one in inboxes for name in (one.email, one.domain) if name}
    if not known or arguments.inbox.casefold() in known:
        return None
    return refused(
        f"No inbox matches “{clip(arguments.inbox)}”",
        f"Nothing was subscribed. {did_you_mean(arguments.inbox, sorted(known))}",
        why="no such inbox",
        argument="inbox",
    )


async def unsubscribe(arguments: Unsubscribe, context: CommandContext) -> Result:
    """`unsubscribe EVENT… [sequence=…] [inbox=…] [here|#channel]`; `all` without a filter ends every one."""
    records = context.need_records()
    channel = _channel(arguments, context)
    if not channel:
        return _nowhere()
    known = await records.subscriptions(context.workspace.name, channel)
    ended = [one for one in known if _meant(one, arguments)]
    count = await records.unsubscribe(context.workspace.name, ended) if ended else 0
    if not count:
        return await _not_ended(arguments, context, channel)
    await _forget_if_unused(context, channel)
    lines = await sources.list_sources(context, channel)
    left = {line.subscription.event for line in lines}
    gone = tuple(dict.fromkeys(one.event for one in ended if one.event not in left))
    where = _mention_channel(channel)
    removed = f"Removed {show_number(count, 'subscription')} of {where}"
    title = f"{where} no longer gets {name_events(gone)}" if gone else removed
    card = (await card_of(title, lines, context=context, channel=channel)).card
    return Result(card=replace(card, tone=Tone.GOOD), audit=f"{channel}: {count} ended")


async def _forget_if_unused(context: CommandContext, channel: str) -> None:
    """Nothing is posted to the channel any more: rejected messages are dropped, and its error is cleared."""
    records = context.need_records()
    names = [workspace.name for workspace in sources.list_workspaces(context)]
    digests = [await records.digest_at(name, channel) for name in names]
    if not any(digests) and not await sources.list_sources(context, channel):
        await records.give_up_channel(channel)


async def _not_ended(arguments: Unsubscribe, context: CommandContext, channel: str) -> Result:
    """No command made it. If the settings did, they have to be changed."""
    card = await _whole_set(f"{_mention_channel(channel)} doesn't have this subscription", context, channel)
    rules = sources.channel_rules(context.settings, context.workspace, channel)
    held = sorted({rule.place for rule in rules if _meant(rule.subscription, arguments)})
    texts = (f"It comes from the settings, {' and '.join(held)}. Change it there.",) if held else ()
    return refusal(
        replace(card, tone=Tone.WARN, text=(*texts, *card.text)),
        why="no such subscription",
        argument="events",
    )


def _meant(one: Subscription, arguments: Unsubscribe) -> bool:
    if set(arguments.events) == set(EVENTS) and not arguments.sequence and not arguments.inbox:
        return True
    filters = ((one.sequence, arguments.sequence), (one.inbox, arguments.inbox))
    return one.event in arguments.events and all(
        visible(kept).casefold() == visible(texts).casefold() for kept, texts in filters
    )


def _mention_channel(channel: str) -> str:
    return channel if channel.startswith("#") else f"<#{channel}>"


async def digest(arguments: Digest, context: CommandContext) -> Result:
    """`digest now|today|at 09:00|off`; alone, it shows the schedule."""
    action = arguments.action
    if action in {"now", "today"}:
        return Result(card=await digest_card(context, so_far=action == "today"))
    channel = _channel(arguments, context)
    if not channel:
        return _nowhere()
    records, at = context.need_records(), arguments.at
    before = await records.digest_at(context.workspace.name, channel)
    place = Place(channel=channel)
    if action == "at":
        place = await context.find_place(channel)
        if place.refusal:
            return _no_place(place)
        channel = place.channel
    if action != "show":
        at = _with_zone(at, context) if at else None
        await records.set_digest(context.workspace.name, channel, at)
    if action == "off":
        await _forget_if_unused(context, channel)
    card = _digest_times(
        await records.digest_at(context.workspace.name, channel), channel=channel, context=context
    )
    if action != "show":
        where = _mention_channel(channel)
        title = f"{where} now gets a digest {show_times(at)}" if at else f"{where} no longer gets a digest"
        if at or before:
            card = replace(card, title=title, tone=Tone.GOOD)
        audit = f"{channel}: digest {f'at {at}' if at else 'off'}"
        return Result(card=_noted(card, place), audit=audit)
    if len(sources.list_workspaces(context)) > 1:  # a channel may have the digests of several
        title = f"Digests of {_mention_channel(channel)}"
        card = replace(card, title=title, text=(await _digests(context, channel),))
    return Result(card=card)


def _recurrences(at: str) -> list[Recurrence]:
    found = (parse_recurrence(one.split()) for one in at.split(" and "))
    return [one for one in found if isinstance(one, Recurrence)]


def _with_zone(at: str, context: CommandContext) -> str:
    """In the zone of the person who asks, where none was named."""
    zone = str(getattr(context.zone, "key", "UTC"))
    return " and ".join(str(replace(one, zone=one.zone or zone)) for one in _recurrences(at))


def show_times(at: str) -> str:
    """`every day at 09:00 UTC and every Monday at 09:00 Europe/Berlin`."""
    return " and ".join(map(show_recurrence, _recurrences(at)))


def show_recurrence(one: Recurrence) -> str:
    """`every Monday and Thursday at 09:00 Europe/Berlin`."""
    return f"every {_named_days(one)} at {one.at:%H:%M} {one.zone or 'UTC'}"


def _named_days(one: Recurrence) -> str:
    """`day`, `weekday`, `Monday and Thursday`."""
    if not one.days:
        return "day"
    if one.days == (0, 1, 2, 3, 4):
        return "weekday"
    *others, last = (WEEKDAYS[day].removesuffix("s").capitalize() for day in one.days)
    return f"{', '.join(others)} and {last}" if others else last


def _next(at: str, context: CommandContext) -> str:
    return show_next(at, now=context.now(), zone=context.zone)


def show_next(at: str, *, now: datetime, zone: tzinfo) -> str:
    """When the next of these digests comes."""
    return show_time(min(one.next_after(now) for one in _recurrences(at)), now=now, zone=zone)


_SHOW = (
    Button(label="Show now", action=Digest(action="now")),
    Button(label="Today so far", action=Digest(action="today")),
)


def _digest_times(at: str | None, *, channel: str, context: CommandContext) -> Card:
    where = _mention_channel(channel)
    title = f"{where} gets a digest {show_times(at)}" if at else f"No digest is scheduled in {where}"
    text = (f"Next: {_next(at, context)}.",) if at else ()
    after = (Button(label="Turn off", action=Digest(action="off", channel=channel)),) if at else ()
    return Card(title=title, text=text, buttons=(*_SHOW, *after))
