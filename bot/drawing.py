"""From posts as the ledger holds them to messages as Slack takes them. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from bot import alerts, blocks
from bot.alerts import Alert, Claim
from bot.ledger.painting import StormTally
from bot.ledger.posts import Post
from shared.api.events import Event, read_event
from shared.card import Card, Fact, Tone


def alert_of(post: Post, *, several: bool) -> Alert:
    """The alert of a post; one whose body was pruned still says what is known."""
    event = read_event(post.body or b"")
    return Alert(
        id=post.alert_id,
        event=event if isinstance(event, Event) else Event(kind="pruned"),
        received_at=moment(post.received_at),
        seen=post.seen,
        found=post.found,
        claim=Claim(name=post.claimed_name, at=moment(post.claimed_at)) if post.claimed_at else None,
        workspace=post.workspace if several else "",
    )


def moment(at: float) -> datetime:
    """Unix seconds as an aware time."""
    return datetime.fromtimestamp(at, UTC)


def card_of(post: Post, *, several: bool, tally: StormTally | None = None) -> Card:
    """What a post says."""
    if post.kind == "note":
        return read_note(post.note)
    if post.kind == "storm":
        return storm(tally)
    alert = alert_of(post, several=several)
    return alerts.again(alert, at=moment(post.created_at)) if post.kind == "again" else alerts.card(alert)


def message(posts: Sequence[Post], *, several: bool, tally: StormTally | None = None) -> blocks.Message:
    """One post as a whole card, or several as a list in which each keeps its own button."""
    if len(posts) == 1 and not posts[0].bundle:
        return blocks.render(card_of(posts[0], several=several, tally=tally))
    cards = [card_of(post, several=several) for post in posts]
    return blocks.render_list(cards)


def payload(posts: Sequence[Post]) -> dict[str, Any]:
    """The metadata by which the message is found again, and its alerts are known to others."""
    names = [post.alert_id for post in posts if post.kind == "alert"]
    found: dict[str, Any] = {"key": key(posts)}
    if names:
        found["alert_id"] = names[0]
    if len(names) > 1:
        found["alert_ids"] = names
    if posts[0].kind == "again":
        found["again_of"] = posts[0].alert_id
    return found


def key(posts: Sequence[Post]) -> str:
    """What tells this message from every other."""
    return posts[0].bundle or f"p{posts[0].id}"


def storm(tally: StormTally | None) -> Card:
    """The one card that heads a storm; the alerts themselves are in its thread."""
    if tally is None or not (tally.posted or tally.waiting):
        return Card(title="Many alerts at once", tone=Tone.WARN, text=("They follow in this thread.",))
    posted, waiting = (sum(n for _, n in counts) for counts in (tally.posted, tally.waiting))
    text = (
        "All of them are in this thread, interested replies first."
        if tally.over
        else f"{waiting} more are on their way into this thread, interested replies first."
    )
    totals: dict[str, int] = {}
    for kind, count in (*tally.posted, *tally.waiting):
        totals[kind] = totals.get(kind, 0) + count
    return Card(
        title=f"{posted + waiting} alerts at once",
        tone=Tone.INFO if tally.over else Tone.WARN,
        text=(text,),
        facts=tuple(Fact(label=str(count), value=alerts.title(kind)) for kind, count in totals.items()),
    )


def write_note(card: Card) -> str:
    """A Card of words alone, for the ledger."""
    return json.dumps({"title": card.title, "tone": card.tone, "text": card.text})


def read_note(note: str) -> Card:
    """The Card of `write_note`."""
    given = json.loads(note)
    return Card(title=given["title"], tone=Tone(given["tone"]), text=tuple(given["text"]))
