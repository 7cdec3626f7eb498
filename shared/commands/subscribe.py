"""`subscribe`, `unsubscribe` and `subscriptions`: what posts to a channel, and where each of it comes from.

A channel's set comes from `subscribe`, from the rules of `[routes]`, and from being a workspace's alert channel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Self

from shared.api.event_kinds import EVENTS, NAME_OF, POSTED_AT_ONCE, kind_of, word_of
from shared.commands.base import (
    HERE,
    ArgumentError,
    ChangingCommand,
    Command,
    Data,
    InChannel,
    Result,
    Words,
    did_you_mean,
    mention_channel,
    need_channel,
    read_channel,
    refusal,
    write_channel,
)
from shared.commands.inboxes import need_inboxes
from shared.domain.card import Button, Card, Tone
from shared.text.formats import clip, plural, show_number
from shared.text.tokenize import quote

if TYPE_CHECKING:
    from shared.commands.run import CommandContext
    from shared.records.records import Subscription
    from shared.settings import Workspace

MOST_BUTTONS, MOST_IN_A_ROW, MOST_LINES = 5, 3, 15


class EventsInChannel(InChannel):
    """The kinds of events of `subscribe` and `unsubscribe`, and what they are filtered by."""

    events: tuple[str, ...]
    sequence: str = ""
    inbox: str = ""
    """An address or a domain."""
    condensed: bool = False

    @classmethod
    def read(cls, words: Words) -> Self:
        filters = {word.key: word.value for word in words if word.key in {"sequence", "inbox", "domain"}}
        naming: list[str] = []
        channel, condensed = HERE, False
        for word in words:
            if word.key in filters:
                continue
            if word.is_one_of("condensed", "full"):
                condensed = word.is_one_of("condensed")
            elif (named := read_channel(word)) is not None:
                channel = named
            else:
                naming.append(word.text)
        events = _read_events(" ".join(naming).lower())
        if not events:
            raise ArgumentError("Which events?", hint=f"One or more of: {', '.join(_WORDS)}, or all.")
        inbox, domain = filters.get("inbox", ""), filters.get("domain", "")
        if inbox and domain:
            raise ArgumentError("Filter by a domain or by an inbox, not by both.", hint="Remove one of them.")
        if "@" in domain:
            hint = f"For one inbox: inbox={clip(domain)}"
            raise ArgumentError(f"“{clip(domain)}” isn't a domain.", hint=hint)
        sequence = filters.get("sequence", "")
        return cls(
            events=events, channel=channel, condensed=condensed, sequence=sequence, inbox=inbox or domain
        )

    def write(self) -> Iterable[str]:
        *others, last = map(word_of, self.events)
        yield from (*(f"{word}," for word in others), last)
        filters = {"sequence": self.sequence, "inbox" if "@" in self.inbox else "domain": self.inbox}
        yield from (f"{key}={quote(value)}" for key, value in filters.items() if value)
        yield from write_channel(self.channel)
        if self.condensed:
            yield "condensed"


class Subscribe(EventsInChannel):
    """`subscribe EVENT… [sequence=…] [domain=…] [inbox=…] [here|#channel] [condensed]`."""

    verb = "subscribe"


class Unsubscribe(EventsInChannel):
    """`unsubscribe EVENT… [sequence=…] [domain=…] [inbox=…] [here|#channel]`."""

    verb = "unsubscribe"


class Subscriptions(InChannel):
    """`subscriptions [here|#channel]`."""

    verb = "subscriptions"

    @classmethod
    def read(cls, words: Words) -> Self:
        channel = read_channel(words[0]) if words else HERE
        if channel is None or words[1:]:
            wrong = words[1] if words[1:] else words[0]
            raise ArgumentError(f"“{clip(wrong.text)}” isn't a channel.", hint="Use here or #channel.")
        return cls(channel=channel)

    def write(self) -> Iterable[str]:
        return write_channel(self.channel)


_WORDS = tuple(map(word_of, EVENTS))


def _read_events(text: str) -> tuple[str, ...]:
    """The kinds that are named: by the name, the part after the dot, or plain words, as many as belong together."""
    kinds: dict[str, None] = {}
    # The longest first: `interested replies` is one kind, and `interested, replies` are two.
    names = "|".join(
        re.escape(name).replace("\\-", "[ -]") for name in sorted(NAME_OF, key=len, reverse=True)
    )
    for found in re.finditer(rf"(?:({names})|([^\s,]+))(?=[\s,]|$)", text):
        name, other = found.groups()
        if name:
            kinds[NAME_OF[name.replace(" ", "-")]] = None
        elif other in {"all", "*"}:
            kinds |= dict.fromkeys(EVENTS)
        else:
            hint = did_you_mean(other, (*_WORDS, *EVENTS, "all"))
            raise ArgumentError(f"“{clip(other)}” isn't an event.", hint=hint)
    return tuple(kinds)


# -- the whole set of a channel


class Line(Data):
    """One subscription of a channel."""

    workspace: str
    subscription: Subscription
    place: str = ""
    """The setting to change; empty if a command ends it."""
    mention: str = ""

    @property
    def filter(self) -> str:
        return " · ".join(filter(None, (self.subscription.sequence, self.subscription.inbox)))


async def list_sources(context: CommandContext, channel: str) -> Sequence[Line]:
    """All of a channel's subscriptions, in all workspaces. Raises `RecordsUnavailable`."""
    lines: list[Line] = []
    for workspace in list_workspaces(context):
        name = workspace.name
        typed = await context.records.subscriptions(name, channel)
        asked = [*(Line(workspace=name, subscription=one) for one in typed)]
        asked += _rules(context, name, channel)
        lines += (*asked, *_unasked(workspace, channel, context, [one.subscription for one in asked]))
    return lines


def list_workspaces(context: CommandContext) -> Sequence[Workspace]:
    return tuple(context.settings.workspaces.values()) if context.settings else (context.workspace,)


def _rules(context: CommandContext, workspace: str, channel: str) -> Iterable[Line]:
    """The subscriptions that the rules of `[routes]` give a channel."""
    settings = context.settings
    for number, rule in enumerate(settings.routes.rules if settings else (), start=1):
        if settings and rule.channel == channel and rule.concerns(workspace):
            file = settings.file.name if settings.file else "the settings"
            place = f"in {file}: [[routes.rules]] no. {number}"
            for one in rule.subscriptions:
                yield Line(workspace=workspace, subscription=one, place=place, mention=rule.mention)


def _unasked(
    workspace: Workspace, channel: str, context: CommandContext, asked: Sequence[Subscription]
) -> Iterable[Line]:
    """The events that an alert channel gets in any case; its own subscriptions decide on the form."""
    from shared.records.records import Subscription
    from shared.settings import DEFAULT

    place = "[routes] fallback"
    if workspace.alert_channel:
        is_only = workspace.name == DEFAULT
        place = "OUTREACH_ALERT_CHANNEL" if is_only else "alert_channel of the workspace"
    fallback = context.settings.routes.fallback if context.settings else None
    for kind in POSTED_AT_ONCE if channel == (workspace.alert_channel or fallback) else ():
        whole = [one for one in asked if one.event in {kind, "*"} and not (one.sequence or one.inbox)]
        condensed = bool(whole) and all(one.condensed for one in whole)
        own = Subscription(channel=channel, event=kind, condensed=condensed)
        yield Line(workspace=workspace.name, subscription=own, place=f"the setting {place}")


async def _whole_set(title: str, context: CommandContext, channel: str, *, is_public: bool = True) -> Result:
    """The channel's set: `Bounces: only for Spring, condensed. To remove: unsubscribe bounces sequence=Spring`.

    Each part of it that a command ends has a button.
    """
    from shared.commands import render

    lines, is_one = await list_sources(context, channel), len(list_workspaces(context)) == 1
    groups: dict[Line, dict[str, None]] = {}  # lines that differ by their event alone are told together
    for line in lines:
        common = replace(line, subscription=replace(line.subscription, event=""))
        groups.setdefault(common, {})[line.subscription.event] = None
    text, buttons = [], []
    for line, kinds in groups.items():
        one, events, where = line.subscription, tuple(kinds), "" if is_one else line.workspace
        parts = (
            f"only for {line.filter}" if line.filter else "",
            f"in {where}" if where else "",
            "condensed" if one.condensed else "",
            f"mentions {await context.display_name(line.mention)}" if line.mention else "",
        )
        gets, how = name_events(events), ", ".join(filter(None, parts))
        told = f"{gets[:1].upper()}{gets[1:]}{f': {how}' if how else ''}."
        if line.place:
            # Where settings are, and what they are called, is nothing for a whole channel.
            text.append(f"{told} Set by an admin." if is_public else f"{told} To remove: {line.place}")
            continue
        back = Unsubscribe(events=events, sequence=one.sequence, inbox=one.inbox, channel=channel)
        typed = replace(back, channel=HERE) if channel == context.actor.channel else back
        text.append(f"{told} To remove: {render(typed, workspace=where or None)}")
        words = "all" if {*events} == {*EVENTS} else ", ".join(map(word_of, events))
        label = f"Unsubscribe {' · '.join(filter(None, (words, line.filter, where)))}"
        buttons.append(Button(label, back, workspace=where))
    if len(text) > MOST_LINES:
        more = f"and {len(text) - MOST_LINES} more. `subscriptions --json` in a shell lists all."
        text[MOST_LINES:] = [more]
    if len(buttons) > MOST_IN_A_ROW:
        buttons = [replace(button, menu=True) for button in buttons[:MOST_BUTTONS]]
    always = " Interested replies always go to the alert channel." if context.workspace.alert_channel else ""
    rows = [
        {**asdict(line.subscription), "workspace": line.workspace, "origin": line.place or "subscribe"}
        for line in lines
    ]
    text = text or [f"This channel has no subscriptions.{always}"]
    return Result(Card(title, text=text, buttons=buttons), rows=rows)


def name_events(kinds: Sequence[str]) -> str:
    """`bounces, opt-outs and interested replies`."""
    if {*kinds} == {*EVENTS} or "*" in kinds:
        return "all events"
    *others, last = (plural(kind_of(kind).noun) for kind in kinds)
    return f"{', '.join(others)} and {last}" if others else last


# -- the commands


async def _subscriptions(arguments: Subscriptions, context: CommandContext) -> Result:
    from shared.commands.digest import show_digests
    from shared.settings.sections import Routing

    channel = need_channel(arguments, context)
    title = f"Subscriptions of {mention_channel(channel)}"
    whole = await _whole_set(title, context, channel, is_public=False)
    routes = context.settings.routes if context.settings else Routing()
    own = routes.channel_policy(channel)
    more = [await show_digests(context, channel)]
    if quiet := own.quiet_hours:
        hours = f"{quiet.start:%H:%M} to {quiet.end:%H:%M} {quiet.zone}"
        more.append(f"Quiet hours {hours}: non-urgent alerts are held, nobody is mentioned.")
    if own.mention:
        more.append(f"Interested replies mention {await context.display_name(own.mention)}.")
    if routes.fallback == channel:
        more.append("This is the fallback channel: it is notified when another channel rejects alerts.")
    return replace(whole, card=replace(whole.card, text=(*whole.card.text, *more)))


async def _subscribe(arguments: Subscribe, context: CommandContext) -> Result:
    """Exactly what is listed."""
    from shared.records.records import Subscription

    records, name, channel = context.records, context.workspace.name, need_channel(arguments, context)
    sequence, inbox, kinds = "", arguments.inbox, arguments.events
    if arguments.sequence:
        match = await context.find_sequence([arguments.sequence])
        if not match.only:
            card = match.card(lambda known: replace(arguments, sequence=known))
            return refusal(card, why="no single sequence", argument="sequence")
        sequence = match.only.label
    if inbox:  # a filter that no inbox fits would never let an alert through
        await need_inboxes(inbox, context, argument="inbox")
    place = await context.need_place(channel)
    channel = place.channel
    one = Subscription(
        channel=channel, event="", sequence=sequence, inbox=inbox, condensed=arguments.condensed
    )
    wanted = [replace(one, event=kind) for kind in kinds]
    only, where = " · ".join(filter(None, (sequence, inbox))), mention_channel(channel)
    gets = f"{name_events(kinds)}{f' of {only}' if only else ''}"
    # The same again is an answer for one person, not a message for the channel.
    if {*wanted} <= {*await records.subscriptions(name, channel)}:
        return await _whole_set(f"{where} already gets {gets}", context, channel, is_public=False)
    await records.subscribe(name, wanted)
    title, what = f"{where} now gets {gets}", ", ".join(kinds)
    return await _changed(title, what, context, channel, note=place.note)


async def _changed(title: str, what: str, context: CommandContext, channel: str, *, note: str = "") -> Result:
    """The channel's set after a change of it."""
    card = (await _whole_set(title, context, channel)).card
    card = replace(card, tone=Tone.GOOD, text=(*card.text, note))
    setting = f"subscriptions {channel}"
    return Result(card, audit=f"{channel}: {what}", setting=setting, about=channel)


async def _unsubscribe(arguments: Unsubscribe, context: CommandContext) -> Result:
    """`all` without a filter ends every one."""
    records, name, channel = context.records, context.workspace.name, need_channel(arguments, context)
    where = mention_channel(channel)
    ended = [one for one in await records.subscriptions(name, channel) if _is_meant(one, arguments)]
    count = await records.unsubscribe(name, ended) if ended else 0
    if not count:  # no command made it; if the settings did, they have to be changed
        title = f"{where} doesn't have this subscription"
        card = (await _whole_set(title, context, channel, is_public=False)).card
        rules = _rules(context, name, channel)
        places = sorted({rule.place for rule in rules if _is_meant(rule.subscription, arguments)})
        why = f"It comes from the settings, {' and '.join(places)}. Change it there." if places else ""
        card = replace(card, tone=Tone.WARN, text=(why, *card.text))
        return refusal(card, why="no such subscription", argument="events")
    await forget_if_unused(context, channel)
    left = {line.subscription.event for line in await list_sources(context, channel)}
    gone = tuple(dict.fromkeys(one.event for one in ended if one.event not in left))
    removed = f"Removed {show_number(count, 'subscription')} of {where}"
    title = f"{where} no longer gets {name_events(gone)}" if gone else removed
    return await _changed(title, f"{count} ended", context, channel)


def _is_meant(subscription: Subscription, arguments: Unsubscribe) -> bool:
    from shared.text.sanitize import visible

    given = (arguments.sequence, arguments.inbox)
    if {*arguments.events} == {*EVENTS} and not any(given):
        return True
    kept = (visible(one).casefold() for one in (subscription.sequence, subscription.inbox))
    return subscription.event in arguments.events and all(
        one == visible(other).casefold() for one, other in zip(kept, given, strict=True)
    )


async def forget_if_unused(context: CommandContext, channel: str) -> None:
    """Drop the rejected messages of a channel that gets nothing any more, and clear its error."""
    records = context.records
    digests = [await records.digest_at(one.name, channel) for one in list_workspaces(context)]
    if not any(digests) and not await list_sources(context, channel):
        await records.give_up_channel(channel)


FAMILY = (
    ChangingCommand(
        arguments=Subscribe,
        run=_subscribe,
        rank=140,
        usage="EVENT… [sequence=…] [domain=…] [inbox=…] [here|#channel] [condensed]",
        summary="Choose which events post to a channel",
        examples=(
            "subscribe interested here",
            'subscribe bounces, opt-outs sequence="Q3 founders" #sales condensed',
            "subscribe bounces domain=mail.acme.com here",
        ),
    ),
    ChangingCommand(
        arguments=Unsubscribe,
        run=_unsubscribe,
        rank=150,
        usage="EVENT… [sequence=…] [domain=…] [inbox=…] [here|#channel]",
        summary="Stop events from posting to a channel, or all of them",
        examples=("unsubscribe bounces here", "unsubscribe all #sales"),
    ),
    Command(
        arguments=Subscriptions,
        run=_subscriptions,
        rank=160,
        usage="[here|#channel]",
        summary="List the subscriptions of a channel",
        examples=("subscriptions", "subscriptions #sales"),
    ),
)
