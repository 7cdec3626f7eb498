"""`subscribe`, `unsubscribe`, `subscriptions` and `digest`: what posts to a channel, and where each of it comes from.

A channel's set comes from `subscribe`, from the rules of `[routes]`, and from being a workspace's alert channel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Literal, Self

from shared.commands.base import (
    ALL,
    HERE,
    ArgumentError,
    Changing,
    CommandContext,
    Data,
    InChannel,
    Result,
    Words,
    did_you_mean,
    mention_channel,
    need_channel,
    none_left,
    read_part,
    refusal,
    render,
    take_channel,
)
from shared.commands.inboxes import UNHEALTHY, Inboxes, need_inboxes
from shared.commands.replies import UNCLAIMED, Replies, unclaimed_fact
from shared.commands.sequences import resolve_sequence
from shared.commands.stats import TIME_TO_CLAIM, Stats, compare, show_waits, total_facts
from shared.commands.times import DayRange
from shared.domain import evidence
from shared.domain.card import Button, Card, Fact, Tone
from shared.domain.event_kinds import EVENTS, NAME_OF, POSTED_AT_ONCE, kind_of, word_of
from shared.domain.wall_clock import Recurrence, parse_recurrence
from shared.text.formats import clip, plural, show_number, show_some
from shared.text.tokenize import quote

if TYPE_CHECKING:
    from shared.records import Subscription
    from shared.settings import Settings, Workspace

MOST_BUTTONS = 5


class EventsInChannel(InChannel):
    """The kinds of events of `subscribe` and `unsubscribe`, and what they are filtered by."""

    events: tuple[str, ...]
    sequence: str = ""
    inbox: str = ""
    """An address or a domain."""
    condensed: bool = False

    @classmethod
    def read(cls, words: Words) -> Self:
        channel, words = take_channel(words)
        filters = {word.key: word.value for word in words if word.key in {"sequence", "inbox", "domain"}}
        if {"inbox", "domain"} <= filters.keys():
            raise ArgumentError("Filter by a domain or by an inbox, not by both.", hint="Remove one of them.")
        forms = [word for word in words if word.is_one_of("condensed", "full")]
        naming = (word.text for word in words if word.key not in filters and word not in forms)
        events = _read_events(" ".join(naming).lower())
        if not events:
            raise ArgumentError("Which events?", hint=f"One or more of: {', '.join(_WORDS)}, or all.")
        return cls(
            events=events,
            channel=channel,
            condensed=any(word.is_one_of("condensed") for word in forms),
            sequence=filters.get("sequence", ""),
            inbox=filters.get("inbox") or filters.get("domain", ""),
        )

    def write(self) -> Iterable[str]:
        yield ", ".join(map(word_of, self.events))
        filters = {"sequence": self.sequence, "inbox" if "@" in self.inbox else "domain": self.inbox}
        yield from (f"{key}={quote(value)}" for key, value in filters.items() if value)
        yield from super().write()
        if self.condensed:
            yield "condensed"


class Subscribe(EventsInChannel, Changing):
    """Choose which events post to a channel."""

    verb = "subscribe"
    usage = "EVENT… [sequence=…] [domain=…] [inbox=…] [here|#channel] [condensed]"
    examples = (
        "subscribe interested here",
        'subscribe bounces, opt-outs sequence="Q3 founders" #sales condensed',
        "subscribe bounces domain=mail.acme.com here",
    )

    async def run(self, context: CommandContext) -> Result:
        """Exactly what is listed."""
        from shared.records import Subscription

        records, name, channel = context.records, context.workspace.name, need_channel(self, context)
        sequence, inbox, kinds = "", self.inbox, self.events
        if self.sequence:
            match = resolve_sequence(await context.sequences(), [self.sequence])
            if not match.only:
                card = match.card(lambda known: replace(self, sequence=known))
                return refusal(card, why="no single sequence")
            sequence = match.only.label
        if inbox:  # a filter that no inbox fits would never let an alert through
            await need_inboxes(inbox, context)
        place = await context.need_place(channel)
        channel, condensed = place.channel, self.condensed
        one = Subscription(channel=channel, event="", sequence=sequence, inbox=inbox, condensed=condensed)
        wanted, only = [replace(one, event=kind) for kind in kinds], _filter(sequence, inbox)
        gets = f"{name_events(kinds)}{f' of {only}' if only else ''}"
        # The same again is an answer for one person, not a message for the channel.
        if {*wanted} <= {*await records.subscriptions(name, channel)}:
            return await _whole_set(f"{mention_channel(channel)} already gets {gets}", context, channel)
        await records.subscribe(name, wanted)
        title = f"{mention_channel(channel)} now gets {gets}"
        return _changed(await _whole_set(title, context, channel, place.note), channel, ", ".join(kinds))


class Unsubscribe(EventsInChannel, Changing):
    """Stop events from posting to a channel, or all of them."""

    verb = "unsubscribe"
    usage = "EVENT… [sequence=…] [domain=…] [inbox=…] [here|#channel]"
    examples = ("unsubscribe bounces here", "unsubscribe all #sales")

    async def run(self, context: CommandContext) -> Result:
        """`all` without a filter ends every one."""
        records, name, channel = context.records, context.workspace.name, need_channel(self, context)
        about = (self.sequence.casefold(), self.inbox.casefold())
        is_every = {*self.events} == {*EVENTS} and not any(about)
        ended = [
            one
            for one in await records.subscriptions(name, channel)
            if is_every
            or (one.event in self.events and (one.sequence.casefold(), one.inbox.casefold()) == about)
        ]
        where = mention_channel(channel)
        if not ended:  # no command made it: if the settings did, the set says which
            whole = await _whole_set(f"{where} doesn't have this subscription", context, channel)
            card = replace(whole.card, tone=Tone.WARN)
            return refusal(card, why="no such subscription")
        await records.unsubscribe(name, ended)
        await forget_if_unused(context, channel)
        kinds = name_events(tuple(dict.fromkeys(one.event for one in ended)))
        whole = await _whole_set(f"{where} is unsubscribed from {kinds}", context, channel)
        return _changed(whole, channel, f"{len(ended)} ended")


class Subscriptions(InChannel):
    """List the subscriptions of a channel."""

    verb = "subscriptions"
    usage = "[here|#channel]"
    examples = ("subscriptions", "subscriptions #sales")

    async def run(self, context: CommandContext) -> Result:
        channel, notes = need_channel(self, context), list[str]()
        if quiet := context.settings.routes.channel_policy(channel).quiet_hours:
            hours = f"{quiet.start:%H:%M} to {quiet.end:%H:%M} {quiet.zone}"
            notes.append(f"Quiet hours {hours}: non-urgent alerts are held, nobody is mentioned.")
        title = f"Subscriptions of {mention_channel(channel)}"
        return await _whole_set(title, context, channel, await show_digests(context, channel), *notes)


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
        elif other == ALL:
            kinds |= dict.fromkeys(EVENTS)
        else:
            hint = did_you_mean(other, (*_WORDS, *EVENTS, ALL))
            raise ArgumentError(f"“{clip(other)}” isn't an event.", hint=hint)
    return tuple(kinds)


def name_events(kinds: Sequence[str]) -> str:
    """`bounces, opt-outs and interested replies`."""
    if {*kinds} == {*EVENTS}:
        return "all events"
    *others, last = (plural(kind_of(kind).noun) for kind in kinds)
    return f"{', '.join(others)} and {last}" if others else last


# -- the whole set of a channel


class Line(Data):
    """One subscription of a channel."""

    workspace: str
    subscription: Subscription
    place: str = ""
    """The setting that it comes from; empty if a command made it."""

    @property
    def filter(self) -> str:
        return _filter(self.subscription.sequence, self.subscription.inbox)


def _filter(*names: str) -> str:
    return " · ".join(filter(None, names))


async def list_sources(context: CommandContext, channel: str) -> Sequence[Line]:
    """All of a channel's subscriptions, in all workspaces. Raises `RecordsUnavailable`."""
    lines: list[Line] = []
    for workspace in context.settings.workspaces.values():
        typed = await context.records.subscriptions(workspace.name, channel)
        lines += (Line(workspace=workspace.name, subscription=one) for one in typed)
        lines += _from_settings(workspace, channel, context.settings)
    return lines


def _from_settings(workspace: Workspace, channel: str, settings: Settings) -> Iterable[Line]:
    """The subscriptions by the rules of `[routes]`, and the events that an alert channel gets in any case."""
    from shared.records import Subscription

    own, place = workspace.alert_channel, "alert_channel"
    for number, rule in enumerate(settings.routes.rules, start=1):
        if rule.channel == channel and rule.concerns(workspace.name):
            for one in rule.subscriptions:
                place_of_rule = f"[[routes.rules]] no. {number}"
                yield Line(workspace=workspace.name, subscription=one, place=place_of_rule)
    if not own:
        own, place = settings.routes.fallback, "[routes] fallback"
    for kind in POSTED_AT_ONCE if channel == own else ():
        one = Subscription(channel=channel, event=kind)
        yield Line(workspace=workspace.name, subscription=one, place=place)


async def _whole_set(title: str, context: CommandContext, channel: str, *notes: str) -> Result:
    """The channel's set: `Bounces: only for Spring, condensed. To remove: unsubscribe bounces sequence=Spring`.

    Each part of it that a command ends has a button.
    """
    lines, is_one = await list_sources(context, channel), len(context.settings.workspaces) == 1
    groups: dict[Line, list[str]] = {}  # lines that differ by their event alone are one sentence
    for line in lines:
        common = replace(line, subscription=replace(line.subscription, event=""))
        groups.setdefault(common, []).append(line.subscription.event)
    text, buttons = [], []
    for line, events in groups.items():
        one, where = line.subscription, "" if is_one else line.workspace
        parts = (
            f"only for {line.filter}" if line.filter else "",
            f"in {where}" if where else "",
            "condensed" if one.condensed else "",
        )
        gets, how = name_events(events), ", ".join(filter(None, parts))
        told = f"{gets[:1].upper()}{gets[1:]}{f': {how}' if how else ''}. To remove:"
        if line.place:
            text.append(f"{told} the setting {line.place}")
            continue
        back = Unsubscribe(events=tuple(events), sequence=one.sequence, inbox=one.inbox, channel=channel)
        typed = replace(back, channel=HERE) if channel == context.actor.channel else back
        text.append(f"{told} {render(typed, workspace=where)}")
        words = ALL if {*events} == {*EVENTS} else ", ".join(map(word_of, events))
        buttons.append(Button(f"Unsubscribe {_filter(words, line.filter, where)}", back, workspace=where))
    rows = [
        {**asdict(line.subscription), "workspace": line.workspace, "origin": line.place or "subscribe"}
        for line in lines
    ]
    text = text or ["This channel has no subscriptions."]
    return Result(Card(title, text=(*text, *notes), buttons=buttons[:MOST_BUTTONS]), rows=rows)


# -- the commands


def _changed(whole: Result, channel: str, what: str) -> Result:
    card, setting = replace(whole.card, tone=Tone.GOOD), f"subscriptions {channel}"
    return replace(whole, card=card, audit=f"{channel}: {what}", setting=setting, about=channel)


async def forget_if_unused(context: CommandContext, channel: str) -> None:
    """Drop the rejected messages of a channel that gets nothing any more, and clear its error."""
    records = context.records
    digests = [await records.digest_at(name, channel) for name in context.settings.workspaces]
    if not any(digests) and not await list_sources(context, channel):
        await records.give_up_channel(channel)


# -- digests

DOMAINS_NAMED = 2
HINT = "Use now, today, at 09:00, weekdays at 09:00, mon,thu at 09:00 Europe/Berlin, or off."


class Digest(InChannel, Changing):
    """Show a summary of yesterday or of today so far, schedule it for the days you choose, or turn it off."""

    verb = "digest"
    usage = "now|today|[weekdays|mon,thu] at 09:00 [ZONE]|off [here|#channel]"
    examples = (
        "digest now",
        "digest today",
        "digest at 09:00 Europe/Berlin",
        "digest weekdays at 08:30",
        "digest mon,thu at 08:30",
        "digest off",
    )

    action: Literal["", "now", "today", "off"] = ""
    """Empty: it is shown, or with `at` scheduled."""
    at: str = ""
    """The recurrence, as `09:00 Europe/Berlin`."""

    @classmethod
    def read(cls, words: Words) -> Self:
        channel, words = take_channel(words)
        if not words:
            return cls(channel=channel)
        for action in ("now", "today", "off"):
            if words[0].is_one_of(action):
                none_left(words[1:])
                return cls(action=action, channel=channel)
        return cls(at=str(_read_recurrence(words)), channel=channel)

    def write(self) -> Iterable[str]:
        at = f"at {self.at}" if self.at else self.action
        return (*at.split(), *super().write())

    @property
    def only_reads(self) -> bool:
        return self.action in {"now", "today"}

    async def run(self, context: CommandContext) -> Result:
        """Show a digest or the schedule; or change the schedule, which the channel sees only where that is news."""
        if self.action in {"now", "today"}:
            return Result(await digest_card(context, so_far=self.action == "today"))
        channel = need_channel(self, context)
        records, name, note = context.records, context.workspace.name, ""
        before = at = await records.digest_at(name, channel)
        if self.action == "off":
            at = None
        elif self.at:
            place = await context.need_place(channel)
            channel, note = place.channel, place.note
            zone = str(getattr(context.zone, "key", "UTC"))  # the person's, where none was named
            (wanted,) = _recurrences(self.at)
            at = str(replace(wanted, zone=wanted.zone or zone))
        where = mention_channel(channel)
        title, is_new = f"Digests of {where}", at != before and at not in str(before).split(" and ")
        if is_new:
            title = f"{where} now gets a digest: {at}" if at else f"{where} no longer gets a digest"
            await records.set_digest(name, channel, at)
        if is_new and at is None:
            await forget_if_unused(context, channel)
        buttons = [Button("Show now", Digest(action="now")), Button("Today so far", Digest(action="today"))]
        if at:
            buttons.append(Button("Turn off", Digest(action="off", channel=channel)))
        text, tone = (await show_digests(context, channel), note), Tone.GOOD if is_new else Tone.INFO
        result = Result(Card(title, tone=tone, text=text, buttons=buttons))
        if not is_new:  # it isn't news: only the person sees it
            return result
        return replace(
            result, audit=f"{channel}: digest {at or 'off'}", setting=f"digest {channel}", about=channel
        )


def _read_recurrence(words: Words) -> Recurrence:
    typed = [word.text for word in words]
    if typed[-1].lower() in {"am", "pm"}:
        typed[-2:] = ["".join(typed[-2:])]
    if typed == ["at"]:
        raise ArgumentError("At what time?", hint=HINT)
    found = parse_recurrence(typed)
    if isinstance(found, str):
        raise ArgumentError(f"“{clip(found)}” isn't a time of day, weekday or time zone.", hint=HINT)
    return found


async def show_digests(context: CommandContext, channel: str) -> str:
    """All digests of a channel, in a sentence; it may have those of several workspaces."""
    texts, workspaces = [], context.settings.workspaces
    for name in workspaces:
        if at := await context.records.digest_at(name, channel):
            following = min(one.next_after(context.now()) for one in _recurrences(at))
            whose = f" for {name}" if len(workspaces) > 1 else ""
            texts.append(f"{at}{whose}, next {context.show(following)}")
    return f"Digest: {'; '.join(texts)}." if texts else "No digest is scheduled."


def _recurrences(at: str) -> list[Recurrence]:
    found = (parse_recurrence(one.split()) for one in at.split(" and "))
    return [one for one in found if isinstance(one, Recurrence)]


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
    unknown = [recorded.unknown(label) for label in ("New events", UNCLAIMED)]
    known, is_clear = recorded.value or (unknown, False)
    facts += known
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


async def _recorded(days: DayRange, context: CommandContext) -> tuple[list[Fact], bool]:
    """The time to claim, the events of the days against those of the days before, and the replies that wait.

    With them, True where it is certain that no reply waits.
    """
    records, name, facts = context.records, context.workspace.name, []
    waits, *_ = await records.claim_times(name, *days.moments(UTC))
    if waits.count:
        facts.append(Fact(TIME_TO_CLAIM, show_waits(waits)))
    start, end = days.before.moments(UTC)
    heard = await records.guardrails.heard_since(name)
    is_known = heard is not None and heard <= start.timestamp() and days.end < context.today
    came = await records.delivery_counts(name, *days.moments(UTC))
    before = await records.delivery_counts(name, start, end) if is_known else {}
    counts = []
    for kind in sorted(came, key=lambda kind: (-came[kind], kind)):
        moved = evidence.show_count_change(came[kind], before.get(kind))
        counted = show_number(came[kind], EVENTS[kind].noun if kind in EVENTS else kind)
        counts.append(f"{counted} ({moved})" if moved else counted)
    facts.append(Fact("New events", ", ".join(counts) or "none"))
    waiting, is_running = await records.open_replies(name, most=0), await records.bot_is_running()
    facts.append(unclaimed_fact(waiting.count, waiting.oldest_at, is_running=is_running, now=context.now()))
    return facts, is_running and not waiting.count
