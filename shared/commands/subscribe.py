"""`subscribe`, `unsubscribe`, `subscriptions` and `digest`: what posts to a channel, and where each of it comes from.

A channel's set comes from `subscribe`, from the rules of `[routes]`, and from being a workspace's alert channel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Literal, Self

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
    none_left,
    read_channel,
    read_part,
    refusal,
    write_channel,
)
from shared.commands.inboxes import UNHEALTHY, Inboxes, need_inboxes
from shared.commands.replies import LATE_SECONDS, UNCLAIMED, Replies, unclaimed_fact
from shared.commands.stats import TIME_TO_CLAIM, Stats, compare, show_waits, total_facts
from shared.commands.times import DAYS, DayRange
from shared.domain.card import Button, Card, Fact, Tone
from shared.domain.wall_clock import WEEKDAYS, Recurrence, parse_recurrence
from shared.text.formats import clip, plural, show_number, show_some
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


# -- digests

CLAIM_DAYS = 30
"""An older claim that isn't done is forgotten rather than open."""
PEOPLE_NAMED, DOMAINS_NAMED = 8, 2
HINT = "Use now, today (the day so far), at 09:00, weekdays at 09:00, mon,thu at 09:00 Europe/Berlin, or off."


class Digest(InChannel):
    """`digest now|today|[weekdays|mon,thu] at 09:00 [ZONE]|off [here|#channel]`."""

    verb = "digest"
    action: Literal["show", "now", "today", "off", "at"] = "show"
    at: str | None = None
    """The recurrence of `at`, as `09:00 Europe/Berlin`."""

    @classmethod
    def read(cls, words: Words) -> Self:
        channel = HERE
        if words and (found := read_channel(words[-1])) is not None:
            channel, words = found, words[:-1]
        if not words:
            return cls(channel=channel)
        for action in ("now", "today", "off"):
            if words[0].is_one_of(action):
                none_left(words[1:])
                return cls(action=action, channel=channel)
        return cls(action="at", at=str(_read_recurrence(words)), channel=channel)

    def write(self) -> Iterable[str]:
        action = () if self.action in {"show", "at"} else (self.action,)
        at = ("at", *self.at.split()) if self.at else ()
        return (*action, *at, *write_channel(self.channel))


def _read_recurrence(words: Words) -> Recurrence:
    typed = [word.text for word in words]
    if typed[-1].lower() in {"am", "pm"}:
        typed[-2:] = ["".join(typed[-2:])]
    if typed == ["at"]:
        raise ArgumentError("At what time?", hint=HINT)
    found = parse_recurrence(typed)
    if isinstance(found, str):
        kind = "time of day" if found[:1].isdigit() else "weekday or time zone"
        near = did_you_mean(found, ("now", "today", "off", "at", "weekdays", *DAYS))
        hint = f"{near} {HINT}" if near.startswith("Did") else HINT
        raise ArgumentError(f"“{clip(found)}” isn't a {kind}.", hint=hint)
    return found


async def _digest(arguments: Digest, context: CommandContext) -> Result:
    """Show a digest or the schedule; or change the schedule, which the channel sees only where that is news."""
    if arguments.action in {"now", "today"}:
        return Result(await digest_card(context, so_far=arguments.action == "today"))
    channel = need_channel(arguments, context)
    records, name, note = context.records, context.workspace.name, ""
    before = at = await records.digest_at(name, channel)
    if arguments.action == "off":
        at = None
    elif arguments.at:
        place = await context.need_place(channel)
        channel, note = place.channel, place.note
        zone = str(getattr(context.zone, "key", "UTC"))  # the person's, where none was named
        at = " and ".join(str(replace(one, zone=one.zone or zone)) for one in _recurrences(arguments.at))
    where = mention_channel(channel)
    title, is_new = f"Digests of {where}", at != before
    if is_new:
        title = f"{where} now gets a digest {_show_times(at)}" if at else f"{where} no longer gets a digest"
        await records.set_digest(name, channel, at)
    if is_new and at is None:
        await forget_if_unused(context, channel)
    buttons = [Button("Show now", Digest(action="now")), Button("Today so far", Digest(action="today"))]
    if at:
        buttons.append(Button("Turn off", Digest(action="off", channel=channel)))
    text, tone = (await show_digests(context, channel), note), Tone.GOOD if is_new else Tone.INFO
    card = Card(title, tone=tone, text=text, buttons=buttons)
    if not is_new:  # it isn't news: only the person sees it
        return Result(card)
    audit = f"{channel}: digest {f'at {at}' if at else 'off'}"
    return Result(card, audit=audit, setting=f"digest {channel}", about=channel)


async def show_digests(context: CommandContext, channel: str) -> str:
    """All digests of a channel, in a sentence; it may have those of several workspaces."""
    names = [one.name for one in list_workspaces(context)]
    now, texts = context.now(), []
    for name in names:
        if at := await context.records.digest_at(name, channel):
            whose = f" for {name}" if len(names) > 1 else ""
            following = context.show(min(one.next_after(now) for one in _recurrences(at)))
            texts.append(f"{_show_times(at)}{whose}, next {following}")
    return f"Digest: {'; '.join(texts)}." if texts else "No digest is scheduled."


def _recurrences(at: str) -> list[Recurrence]:
    found = (parse_recurrence(one.split()) for one in at.split(" and "))
    return [one for one in found if isinstance(one, Recurrence)]


def _show_times(at: str) -> str:
    """`every day at 09:00 UTC and every Monday and Thursday at 09:00 Europe/Berlin`."""
    texts = []
    for one in _recurrences(at):
        names = [WEEKDAYS[day].removesuffix("s").capitalize() for day in one.days]
        days = " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else "day"
        days = "weekday" if one.days == (0, 1, 2, 3, 4) else days
        texts.append(f"every {days} at {one.at:%H:%M} {one.zone or 'UTC'}")
    return " and ".join(texts)


# -- the card


async def digest_card(context: CommandContext, *, length: int = 1, so_far: bool = False) -> Card:
    """The days that ended yesterday, at most seven, or today so far, against the same weekdays a week before."""
    import asyncio

    from shared.domain.workspace_verdict import judge

    last = context.today if so_far else context.today - timedelta(days=1)
    days = DayRange(start=last - timedelta(days=length - 1), end=last)
    change, inboxes, recorded = await asyncio.gather(
        read_part(compare(days, context)),
        read_part(context.client.list_inboxes()),
        read_part(_recorded(days, context)),
    )
    counted = change.value
    # A day that isn't over has fewer of everything than a whole one.
    compared = counted if counted and counted.is_known and not so_far else None
    against = f"Compared with {days.before} ({'same weekday' if length == 1 else 'same weekdays'})."
    if so_far:
        against = "Today isn't over, so it isn't compared."
    elif not compared:
        against = f"Not compared: the counts of {days.before} are incomplete."
    facts = total_facts([counted.now], compared) if counted else [change.unknown("Numbers")]
    facts += recorded.value or map(recorded.unknown, ("New events", UNCLAIMED))
    is_clear = any(fact.label == UNCLAIMED and fact.tone is Tone.GOOD for fact in facts)
    buttons = [] if is_clear else [Button("Show unclaimed", Replies())]
    buttons.append(Button("Stats", Stats()))
    verdict = judge(inboxes.value or (), thresholds=context.workspace.thresholds)
    domains, tone = inboxes.unknown("Domains"), Tone.UNKNOWN
    # Without an answer no domain is called healthy.
    if inboxes.value is not None:
        bad = [domain.domain for domain in verdict.domains if domain.tone is not Tone.GOOD]
        # On a phone the reasons would be most of the digest; a button leads to them.
        listed = f": {show_some(bad, DOMAINS_NAMED)}" if bad else ""
        domains, tone = Fact("Domains", verdict.text + listed, tone=verdict.tone), verdict.tone
        if bad:
            buttons.append(Button("Unhealthy inboxes", Inboxes(filter=UNHEALTHY)))
    if not so_far:
        buttons.append(Button("Today so far", Digest(action="today")))
    title = f"{context.titled('Digest')}, {'today so far' if so_far else days}"
    return Card(title, tone=tone, text=(against,), facts=(*facts, domains), buttons=buttons)


async def _recorded(days: DayRange, context: CommandContext) -> list[Fact]:
    """The time to claim, the events of the days against those of the days before, and the replies that wait or are claimed."""
    from shared.domain import evidence

    records, name, now, facts = context.records, context.workspace.name, context.now(), []
    if waits := await records.claim_times(name, *days.moments(UTC), late=LATE_SECONDS):
        facts.append(Fact(TIME_TO_CLAIM, show_waits(waits[0])))
    start, end = days.before.moments(UTC)
    heard = await records.guardrails.heard_since(name)
    is_known = heard is not None and heard <= start.timestamp() and days.end < context.today
    came = await records.arrivals(name, *days.moments(UTC))
    before = await records.arrivals(name, start, end) if is_known else {}
    counts = []
    for kind in sorted(came, key=lambda kind: (-came[kind], kind)):
        moved = evidence.show_count_change(came[kind], before.get(kind))
        counted = show_number(came[kind], EVENTS[kind].noun if kind in EVENTS else kind)
        counts.append(f"{counted} ({moved})" if moved else counted)
    facts.append(Fact("New events", ", ".join(counts) or "none"))
    waiting, is_running = await records.open_replies(name, most=0), await records.bot_is_running()
    facts.append(unclaimed_fact(waiting.count, waiting.oldest_at, is_running=is_running, now=now))
    if held := await records.claim_counts(name, now - timedelta(days=CLAIM_DAYS)):
        people = [f"@{person} {count:,}" for person, count in held.items()]
        facts.append(Fact("Claimed, not done", show_some(people, PEOPLE_NAMED)))
    return facts


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
    ChangingCommand(
        arguments=Digest,
        run=_digest,
        rank=170,
        usage="now|today|[weekdays|mon,thu] at 09:00 [ZONE]|off [here|#channel]",
        summary="Show a summary of yesterday or of today so far, schedule it for the days you choose, or turn it off",
        examples=(
            "digest now",
            "digest today",
            "digest at 09:00 Europe/Berlin",
            "digest weekdays at 08:30",
            "digest mon,thu at 08:30",
            "digest off",
        ),
    ),
)
