"""`digest`: the day or the week in one message, now or at a time; the bot posts the same card."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Literal, Self

from shared.api.event_kinds import EVENTS
from shared.commands.base import (
    HERE,
    ArgumentError,
    ChangingCommand,
    InChannel,
    Result,
    Words,
    did_you_mean,
    mention_channel,
    need_channel,
    none_left,
    read_channel,
    read_part,
    write_channel,
)
from shared.commands.inboxes import UNHEALTHY, Inboxes
from shared.commands.replies import LATE_SECONDS, UNCLAIMED, Replies, unclaimed_fact
from shared.commands.stats import TIME_TO_CLAIM, Stats, compare, show_waits, total_facts
from shared.commands.subscribe import forget_if_unused, list_workspaces
from shared.commands.times import DAYS, DayRange
from shared.domain.card import Button, Card, Fact, Tone
from shared.domain.wall_clock import WEEKDAYS, Recurrence, parse_recurrence
from shared.text.formats import clip, show_number, show_some

if TYPE_CHECKING:
    from shared.commands.run import CommandContext

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
        if len(words) == 2 and {word.text.lower() for word in words} == {"today", "now"}:
            words = tuple(word for word in words if word.is_one_of("today"))
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


async def _run(arguments: Digest, context: CommandContext) -> Result:
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
    card = Card(title, tone=tone, text=text, buttons=tuple(buttons))
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


COMMAND = ChangingCommand(
    arguments=Digest,
    run=_run,
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
)
