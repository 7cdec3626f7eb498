"""What a channel is told of, and when its digest comes (the bot's records)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from shared.api.models import EVENT_KINDS
from shared.api.pacing import Priority
from shared.card import Button, Card, Column, Row, Table, Tone
from shared.commands import COMMANDS, Invocation, render
from shared.desk import Desk
from shared.operations.digest import digest_card
from shared.operations.outcome import Outcome, need_records, refused
from shared.records import Subscription
from shared.resolve import Picked, pick_sequence

COLUMNS = tuple(Column(title=title) for title in ("Event", "Sequence", "Inbox", "Form", "To undo"))
MOST_UNDO_BUTTONS = 5


def _channel(values: Mapping[str, Any], desk: Desk) -> str:
    return values["channel"] or desk.actor.channel


def _nowhere() -> Outcome:
    return refused(
        "Which channel?", "There is no “here” here: name a channel, like #sales.", why="no channel"
    )


async def subscriptions(invocation: Invocation, desk: Desk) -> Card:
    """`subscriptions [here|#channel]`."""
    channel = _channel(invocation.values, desk)
    if not channel:
        return _nowhere().card
    known = await need_records(desk).subscriptions(desk.workspace.name, channel)
    digest_at = await need_records(desk).digest_at(desk.workspace.name, channel)
    card = _channel_card(f"What {_said(channel)} is told of", known, channel=channel)
    extra = f"The digest comes at {digest_at}." if digest_at else "There is no digest."
    return replace(card, text=(*card.text, extra), data=tuple(map(_data, known)))


async def subscribe(invocation: Invocation, desk: Desk) -> Outcome:
    """`subscribe EVENT… [sequence=…] [inbox=…] [here|#channel] [condensed]`: exactly what is listed."""
    values, records = invocation.values, need_records(desk)
    channel = _channel(values, desk)
    if not channel:
        return _nowhere()
    named = await _sequence_name(invocation, desk)
    if isinstance(named, Card):
        return Outcome(card=named, result="refused: no single sequence")
    wanted = [
        Subscription(
            channel=channel, event=kind, sequence=named, inbox=values["inbox"], condensed=values["condensed"]
        )
        for kind in values["events"]
    ]
    await records.subscribe(desk.workspace.name, wanted)
    known = await records.subscriptions(desk.workspace.name, channel)
    card = _channel_card(f"{_said(channel)} is now told of", known, channel=channel)
    return Outcome(card=replace(card, tone=Tone.GOOD), result=f"{channel}: {', '.join(values['events'])}")


async def _sequence_name(invocation: Invocation, desk: Desk) -> str | Card:
    """The name that deliveries carry, or the question which sequence is meant."""
    said = invocation.values["sequence"]
    if not said:
        return ""
    found = pick_sequence(await desk.client.list_sequences(priority=Priority.INTERACTIVE), [said])
    if isinstance(found, Picked):
        return found.sequence.label
    return found.card(
        lambda known: render(replace(invocation, values={**invocation.values, "sequence": known}))
    )


async def unsubscribe(invocation: Invocation, desk: Desk) -> Outcome:
    """`unsubscribe EVENT… [sequence=…] [inbox=…] [here|#channel]`; `all` without a filter ends every one."""
    values, records = invocation.values, need_records(desk)
    channel = _channel(values, desk)
    if not channel:
        return _nowhere()
    known = await records.subscriptions(desk.workspace.name, channel)
    ended = [one for one in known if _meant(one, values)]
    count = await records.unsubscribe(desk.workspace.name, ended) if ended else 0
    left = await records.subscriptions(desk.workspace.name, channel)
    if not count:
        card = _channel_card(f"{_said(channel)} has no such subscription", left, channel=channel)
        return Outcome(card=replace(card, tone=Tone.WARN), result="refused: no such subscription")
    noun = "subscription" if count == 1 else "subscriptions"
    card = _channel_card(f"{count} {noun} ended; {_said(channel)} is now told of", left, channel=channel)
    return Outcome(card=replace(card, tone=Tone.GOOD), result=f"{channel}: {count} ended")


def _meant(one: Subscription, values: Mapping[str, Any]) -> bool:
    if set(values["events"]) == set(EVENT_KINDS) and not values["sequence"] and not values["inbox"]:
        return True
    filters = ((one.sequence, values["sequence"]), (one.inbox, values["inbox"]))
    return one.event in values["events"] and all(kept.casefold() == said.casefold() for kept, said in filters)


def _said(channel: str) -> str:
    return channel if channel.startswith("#") else f"<#{channel}>"


def _channel_card(title: str, known: Sequence[Subscription], *, channel: str) -> Card:
    """The channel's whole set, each with the line that undoes it."""
    undo = [_undo(one, channel=channel) for one in known]
    rows = tuple(
        Row(
            cells=(
                x.event,
                x.sequence or "all",
                x.inbox or "all",
                "condensed" if x.condensed else "full",
                line,
            )
        )
        for x, line in zip(known, undo, strict=True)
    )
    nothing = "Nothing of its own. Interested replies and paused domains go to the alert channel in any case."
    return Card(
        title=title,
        text=() if known else (nothing,),
        table=Table(columns=COLUMNS, rows=rows) if rows else None,
        buttons=tuple(
            Button(label=f"End {x.event}", command=line, menu=True)
            for x, line in zip(known, undo, strict=True)
        )[:MOST_UNDO_BUTTONS],
    )


def _undo(one: Subscription, *, channel: str) -> str:
    values = {"events": (one.event,), "sequence": one.sequence, "inbox": one.inbox, "channel": channel}
    return render(Invocation(command=COMMANDS["unsubscribe"], values={**values, "condensed": False}))


def _data(one: Subscription) -> dict[str, object]:
    return {"channel": one.channel, "event": one.event, "sequence": one.sequence, "inbox": one.inbox}


async def digest(invocation: Invocation, desk: Desk) -> Outcome:
    """`digest now|at 09:00|off`; without a word it tells when the digest comes."""
    action = invocation.values["action"]
    if action == "now":
        return Outcome(card=await digest_card(desk))
    channel = _channel(invocation.values, desk)
    if not channel:
        return _nowhere()
    records = need_records(desk)
    if action == "show":
        return Outcome(
            card=_digest_times(await records.digest_at(desk.workspace.name, channel), channel=channel)
        )
    at = invocation.values["at"]
    await records.set_digest(desk.workspace.name, channel, at)
    card = _digest_times(await records.digest_at(desk.workspace.name, channel), channel=channel)
    return Outcome(
        card=replace(card, tone=Tone.GOOD), result=f"{channel}: digest {f'at {at}' if at else 'off'}"
    )


def _often(rhythm: str) -> str:
    """`every day at 09:00`, `on mondays at 09:00 Europe/Berlin`."""
    day, _, rest = rhythm.partition(" ")
    return f"every day at {rhythm}" if day[:1].isdigit() else f"on {day} at {rest}"


def _digest_times(at: str | None, *, channel: str) -> Card:
    times = " and ".join(_often(one) for one in at.split(" and ")) if at else ""
    said = f"{_said(channel)} has its digest {times}" if at else f"{_said(channel)} has no digest"
    off = Invocation(command=COMMANDS["digest"], values={"action": "off", "at": None, "channel": channel})
    after = (Button(label="End it", command=render(off)),) if at else ()
    return Card(title=said, buttons=(Button(label="Show it now", command="digest now"), *after))
