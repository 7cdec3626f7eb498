"""`subscribe`, `unsubscribe` and `subscriptions`: what posts to a channel, and where each of it comes from.

A channel's set comes from `subscribe`, from the rules of `[routes]`, and from being a workspace's alert channel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
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
    read_channel,
    refusal,
    refused,
    write_channel,
)
from shared.domain.card import Button, Card, Tone
from shared.text.formats import clip, plural, show_number
from shared.text.tokenize import Word, quote

if TYPE_CHECKING:
    from shared.commands.run import CommandContext
    from shared.records.records import Subscription
    from shared.settings import Workspace

MOST_BUTTONS, MOST_IN_A_ROW, MOST_WORKSPACES, MOST_LINES = 5, 3, 6, 15


class EventsInChannel(InChannel):
    """The kinds of events of `subscribe` and `unsubscribe`, and what they are filtered by."""

    events: tuple[str, ...]
    sequence: str = ""
    inbox: str = ""
    """An address or a domain."""
    condensed: bool = False

    @classmethod
    def read(cls, words: Words) -> Self:
        naming: list[Word] = []
        filters, channel, condensed = {"sequence": "", "inbox": "", "domain": ""}, HERE, False
        for word in words:
            if word.key in filters:
                filters[word.key] = word.value
            elif word.is_one_of("condensed", "full"):
                condensed = word.is_one_of("condensed")
            elif (named := read_channel(word)) is not None:
                channel = named
            else:
                naming.append(word)
        events = _read_events(naming)
        if not events:
            raise ArgumentError("Which events?", hint=f"One or more of: {', '.join(_WORDS)}, or all.")
        inbox, domain = filters["inbox"], filters["domain"]
        if inbox and domain:
            raise ArgumentError("Filter by a domain or by an inbox, not by both.", hint="Remove one of them.")
        if "@" in domain:
            hint = f"For one inbox: inbox={clip(domain)}"
            raise ArgumentError(f"“{clip(domain)}” isn't a domain.", hint=hint)
        return cls(
            events=events,
            channel=channel,
            condensed=condensed,
            sequence=filters["sequence"],
            inbox=inbox or domain,
        )

    def write(self) -> Iterable[str]:
        filters = {"sequence": self.sequence, "inbox" if "@" in self.inbox else "domain": self.inbox}
        *others, last = map(word_of, self.events)
        return (
            *(f"{word}," for word in others),
            last,
            *(f"{key}={quote(value)}" for key, value in filters.items() if value),
            *write_channel(self.channel),
            *(("condensed",) if self.condensed else ()),
        )


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
_LONGEST = max(word.count("-") for word in NAME_OF) + 1
"""Words that name a kind together: `out of office replies`."""


def _read_events(words: Sequence[Word]) -> tuple[str, ...]:
    """The kinds that the words name, each by its name, the part after the dot, or plain words: `interested replies`."""
    found: dict[str, None] = {}
    start = 0
    while start < len(words):
        kinds, start = _kinds_at(words, start)
        found.update(dict.fromkeys(kinds))
    return tuple(found)


def _kinds_at(words: Sequence[Word], start: int) -> tuple[tuple[str, ...], int]:
    """The kinds that most words from `start` on name together, and where the next begins; a comma separates."""
    names = [word.text.lower().strip(",").replace(" ", "-") for word in words[start : start + _LONGEST]]
    for count in range(len(names), 0, -1):
        if any(word.text.endswith(",") for word in words[start : start + count - 1]):
            continue
        if kind := NAME_OF.get("-".join(names[:count])):
            return (kind,), start + count
    if names[0] in {"all", "*"}:
        return tuple(EVENTS), start + 1
    hint = did_you_mean(names[0], (*_WORDS, *EVENTS, "all"))
    raise ArgumentError(f"“{clip(words[start].text)}” isn't an event.", hint=hint)


# -- the whole set of a channel


class Line(Data):
    """One subscription of a channel, and its source."""

    workspace: str
    subscription: Subscription
    origin: str
    place: str = ""
    """What to change in the settings; empty if a command undoes it."""
    mention: str = ""

    @property
    def filter(self) -> str:
        return " · ".join(filter(None, (self.subscription.sequence, self.subscription.inbox)))

    @property
    def group(self) -> tuple[object, ...]:
        """What lines have in common that are told together: all but the event and, in settings, the workspace."""
        one, own = self.subscription, "" if self.place else self.workspace
        return (own, one.sequence, one.inbox, one.condensed, self.origin, self.place, self.mention)


async def list_sources(context: CommandContext, channel: str) -> tuple[Line, ...]:
    """All of a channel's subscriptions, in all workspaces. Raises `RecordsUnavailable`."""
    lines: list[Line] = []
    for workspace in list_workspaces(context):
        name = workspace.name
        typed = await context.need_records().subscriptions(name, channel)
        rules = channel_rules(context, workspace, channel)
        lines += (Line(workspace=name, subscription=one, origin="subscribe") for one in typed)
        lines += rules
        lines += _unasked(workspace, channel, context, [*typed, *(rule.subscription for rule in rules)])
    return tuple(lines)


def list_workspaces(context: CommandContext) -> Sequence[Workspace]:
    return tuple(context.settings.workspaces.values()) if context.settings else (context.workspace,)


def channel_rules(context: CommandContext, workspace: Workspace, channel: str) -> list[Line]:
    """The subscriptions that the rules of `[routes]` give a channel."""
    from shared.settings.sections import place_of_rule

    settings = context.settings
    if settings is None:
        return []
    file = settings.file.name if settings.file else "the settings"
    return [
        Line(
            workspace=workspace.name,
            subscription=one,
            origin=file,
            place=f"in {file}: {place_of_rule(number)}",
            mention=rule.mention,
        )
        for number, rule in enumerate(settings.routes.rules, start=1)
        if rule.channel == channel and rule.concerns(workspace.name)
        for one in rule.subscriptions
    ]


def _unasked(
    workspace: Workspace, channel: str, context: CommandContext, asked: Sequence[Subscription]
) -> Iterable[Line]:
    """What an alert channel gets in any case; what it asked for itself decides on the form."""
    from shared.records.records import Subscription
    from shared.settings import DEFAULT

    fallback = context.settings.routes.fallback if context.settings else None
    if channel != (workspace.alert_channel or fallback):
        return
    origin, place = "fallback channel", "the setting [routes] fallback"
    if workspace.alert_channel:
        is_only = workspace.name == DEFAULT
        name = "OUTREACH_ALERT_CHANNEL" if is_only else "alert_channel of the workspace"
        origin, place = "alert channel", f"the setting {name}"
    for kind in POSTED_AT_ONCE:
        whole = [one for one in asked if one.event in {kind, "*"} and not (one.sequence or one.inbox)]
        condensed = bool(whole) and all(one.condensed for one in whole)
        subscription = Subscription(channel=channel, event=kind, condensed=condensed)
        yield Line(workspace=workspace.name, subscription=subscription, origin=origin, place=place)


def _grouped(lines: Sequence[Line]) -> list[list[Line]]:
    """Lines that are told together, in the order of their first ones."""
    groups: dict[tuple[object, ...], list[Line]] = {}
    for line in lines:
        groups.setdefault(line.group, []).append(line)
    return list(groups.values())


def _back(lines: Sequence[Line], channel: str) -> Unsubscribe:
    """The command that ends them."""
    one = lines[0].subscription
    return Unsubscribe(events=_events(lines), sequence=one.sequence, inbox=one.inbox, channel=channel)


def _events(lines: Sequence[Line]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line.subscription.event for line in lines))


async def _sentence(lines: Sequence[Line], context: CommandContext, *, channel: str, is_public: bool) -> str:
    """`Bounces: only for Spring, condensed. To remove: unsubscribe bounces sequence=Spring`."""
    from shared.commands import render

    line, count = lines[0], len(list_workspaces(context))
    names = list(dict.fromkeys(one.workspace for one in lines))
    more = f" and {len(names) - MOST_WORKSPACES} more" if len(names) > MOST_WORKSPACES else ""
    parts = (
        f"only for {line.filter}" if line.filter else "",
        f"in {', '.join(names[:MOST_WORKSPACES])}{more}" if len(names) < count else "",
        "condensed" if line.subscription.condensed else "",
        f"mentions {await context.display_name(line.mention)}" if line.mention else "",
    )
    gets, how = name_events(_events(lines)), ", ".join(filter(None, parts))
    told = f"{gets[:1].upper()}{gets[1:]}{f': {how}' if how else ''}."
    # Where settings are, and what they are called, is nothing for a whole channel.
    if line.place:
        return f"{told} Set by an admin." if is_public else f"{told} To remove: {line.place}"
    back = _back(lines, HERE if channel == context.actor.channel else channel)
    return f"{told} To remove: {render(back, workspace=line.workspace if count > 1 else None)}"


async def _whole_set(title: str, context: CommandContext, channel: str, *, is_public: bool = True) -> Result:
    """The channel's set, with a button for each part of it that a command ends."""
    lines = await list_sources(context, channel)
    groups, several = _grouped(lines), len(list_workspaces(context)) > 1
    typed = [group for group in groups if not group[0].place]
    text = [
        await _sentence(group, context, channel=channel, is_public=is_public) for group in groups[:MOST_LINES]
    ]
    if len(groups) > MOST_LINES:
        text.append(f"and {len(groups) - MOST_LINES} more. `subscriptions --json` in a shell lists all.")
    always = " Interested replies always go to the alert channel." if context.workspace.alert_channel else ""
    buttons = []
    for group in typed[:MOST_BUTTONS]:
        back, where = _back(group, channel), group[0].workspace if several else ""
        words = "all" if {*back.events} == {*EVENTS} else ", ".join(map(word_of, back.events))
        label = f"Unsubscribe {' · '.join(filter(None, (words, group[0].filter, where)))}"
        is_menu = len(typed) > MOST_IN_A_ROW
        buttons.append(Button(label, back, workspace=where, menu=is_menu))
    return Result(
        Card(
            title,
            text=tuple(text) or (f"This channel has no subscriptions.{always}",),
            buttons=tuple(buttons),
        ),
        rows=tuple(
            {
                "channel": one.subscription.channel,
                "event": one.subscription.event,
                "sequence": one.subscription.sequence,
                "inbox": one.subscription.inbox,
                "condensed": one.subscription.condensed,
                "workspace": one.workspace,
                "origin": one.origin,
            }
            for one in lines
        ),
    )


def name_events(kinds: Sequence[str]) -> str:
    """`bounces, opt-outs and interested replies`."""
    if {*kinds} == {*EVENTS} or "*" in kinds:
        return "all events"
    *others, last = (plural(kind_of(kind).noun) for kind in kinds)
    return f"{', '.join(others)} and {last}" if others else last


def nowhere() -> Result:
    hint = "“here” works only in Slack. Name a channel, like '#sales'."
    return refused("Which channel?", hint, why="no channel", argument="channel")


# -- the commands


async def _subscriptions(arguments: Subscriptions, context: CommandContext) -> Result:
    from shared.commands.digest import show_digests
    from shared.settings.sections import Routing

    channel = arguments.channel or context.actor.channel
    if not channel:
        return replace(nowhere(), audit="")
    found = await _whole_set(
        f"Subscriptions of {mention_channel(channel)}", context, channel, is_public=False
    )
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
    return replace(found, card=replace(found.card, text=(*found.card.text, *more)))


async def _subscribe(arguments: Subscribe, context: CommandContext) -> Result:
    """Exactly what is listed."""
    from shared.records.records import Subscription

    records, name = context.need_records(), context.workspace.name
    channel = arguments.channel or context.actor.channel
    if not channel:
        return nowhere()
    sequence = ""
    if arguments.sequence:
        found = await context.find_sequence([arguments.sequence])
        if not found.only:
            card = found.card(lambda known: replace(arguments, sequence=known))
            return refusal(card, why="no single sequence", argument="sequence")
        sequence = found.only.label
    if problem := await _inbox_problem(arguments, context):
        return problem
    place = await context.find_place(channel)
    if place.refusal:
        return refused(place.refusal, place.fix, why=place.refusal, argument="channel")
    channel, inbox, condensed = place.channel, arguments.inbox, arguments.condensed
    wanted = [
        Subscription(channel=channel, event=kind, sequence=sequence, inbox=inbox, condensed=condensed)
        for kind in arguments.events
    ]
    only = " · ".join(filter(None, (sequence, inbox)))
    gets = f"{name_events(arguments.events)}{f' of {only}' if only else ''}"
    if {*wanted} <= {*await records.subscriptions(name, channel)}:  # no news for the channel
        return await _whole_set(
            f"{mention_channel(channel)} already gets {gets}", context, channel, is_public=False
        )
    await records.subscribe(name, wanted)
    card = (await _whole_set(f"{mention_channel(channel)} now gets {gets}", context, channel)).card
    text = (*card.text, place.note) if place.note else card.text
    audit = f"{channel}: {', '.join(arguments.events)}"
    setting = f"subscriptions {channel}"
    return Result(replace(card, tone=Tone.GOOD, text=text), audit=audit, setting=setting)


async def _inbox_problem(arguments: Subscribe, context: CommandContext) -> Result | None:
    """A filter that no inbox fits would never let an alert through."""
    if not arguments.inbox:
        return None
    inboxes = await context.inboxes()
    known = {name.casefold() for one in inboxes for name in (one.email, one.domain) if name}
    if not known or arguments.inbox.casefold() in known:
        return None
    title = f"No inbox matches “{clip(arguments.inbox)}”"
    hint = f"Nothing was subscribed. {did_you_mean(arguments.inbox, sorted(known))}"
    return refused(title, hint, why="no such inbox", argument="inbox")


async def _unsubscribe(arguments: Unsubscribe, context: CommandContext) -> Result:
    """`all` without a filter ends every one."""
    records, name = context.need_records(), context.workspace.name
    channel = arguments.channel or context.actor.channel
    if not channel:
        return nowhere()
    known, where = await records.subscriptions(name, channel), mention_channel(channel)
    ended = [one for one in known if _is_meant(one, arguments)]
    count = await records.unsubscribe(name, ended) if ended else 0
    if not count:  # no command made it; if the settings did, they have to be changed
        title = f"{where} doesn't have this subscription"
        card = (await _whole_set(title, context, channel, is_public=False)).card
        rules = channel_rules(context, context.workspace, channel)
        places = sorted({rule.place for rule in rules if _is_meant(rule.subscription, arguments)})
        why = f"It comes from the settings, {' and '.join(places)}. Change it there."
        card = replace(card, tone=Tone.WARN, text=(*((why,) if places else ()), *card.text))
        return refusal(card, why="no such subscription", argument="events")
    await forget_if_unused(context, channel)
    left = {line.subscription.event for line in await list_sources(context, channel)}
    gone = tuple(dict.fromkeys(one.event for one in ended if one.event not in left))
    removed = f"Removed {show_number(count, 'subscription')} of {where}"
    title = f"{where} no longer gets {name_events(gone)}" if gone else removed
    card = (await _whole_set(title, context, channel)).card
    audit, setting = f"{channel}: {count} ended", f"subscriptions {channel}"
    return Result(replace(card, tone=Tone.GOOD), audit=audit, setting=setting)


def _is_meant(one: Subscription, arguments: Unsubscribe) -> bool:
    from shared.text.sanitize import visible

    if {*arguments.events} == {*EVENTS} and not (arguments.sequence or arguments.inbox):
        return True
    filters = ((one.sequence, arguments.sequence), (one.inbox, arguments.inbox))
    return one.event in arguments.events and all(
        visible(kept).casefold() == visible(given).casefold() for kept, given in filters
    )


async def forget_if_unused(context: CommandContext, channel: str) -> None:
    """Where nothing is posted to a channel any more, drop its rejected messages, and clear its error."""
    records = context.need_records()
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
