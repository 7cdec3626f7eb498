"""Renders stored posts as Slack messages: the card of an alert, or the texts that the store keeps with a post. Pure.

An alert's card depends only on the alert, so any process can render it at any time, and an update renders the same way
as the first post.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Any

from pydantic import PlainValidator, TypeAdapter
from pydantic_core import to_json

from bot.alerts import domains
from bot.alerts.cards import (
    PLAIN_CARDS,
    CardSettings,
    brief_card,
    listed,
    reply_card,
    stands,
    when,
)
from bot.blockkit import card_blocks
from bot.blockkit.actions import Perform, read_value, write_value
from bot.blockkit.card_blocks import Message
from shared.api.event_kinds import kind_of
from shared.commands import Invocation, UsageError
from shared.commands.undo import UNDO, UndoChange
from shared.domain.alert import Alert, domain_of
from shared.domain.card import Action, Button, Card, Tone, Typed
from shared.domain.wall_clock import moment
from shared.frozen import frozen
from shared.records.audit import AuditEntry
from shared.store import post_kinds
from shared.store.messages import Post
from shared.store.post_kinds import ALERT
from shared.text.formats import clip, show_number
from shared.text.slack_ids import is_user

MOST_OWNERS = 6
"""People that a list mentions: with them, the longest one is still short enough for Slack."""
SOON = timedelta(hours=18)
"""A time that is closer needs no day beside it."""
_CARDS: Mapping[str, Callable[[Alert], Card]] = {
    "reply": reply_card,
    "paused domain": domains.paused_card,
    "dns": domains.dns_card,
    "brief": brief_card,
}


def card(alert: Alert) -> Card:
    """The card of an alert, as the table of kinds of events names it."""
    return _CARDS[kind_of(alert.event.kind).card](alert)


def is_settled(post: Post) -> bool:
    """True for a message that asks for something about an alert, and asks for nothing any more."""
    alert, settled_by = post.alert, post_kinds.kind_of(post.kind).settled_by
    if alert is None or not settled_by:
        return False
    if settled_by == "acknowledgement":
        return alert.acked_at is not None or alert.recovered_at is not None
    if settled_by == "finish":
        return alert.handled_at is not None or alert.claimed_by != post.mention
    passed_on = settled_by == "turn" and is_user(post.mention) and alert.owner != post.mention
    return alert.waiting_since is None or passed_on


def _settled(alert: Alert) -> str:
    """The sentence of a reminder that asks for nothing any more."""
    if alert.acked_at is not None:
        return f"✓ Acknowledged by @{alert.acked_name}."
    if alert.recovered_at is not None:
        return "It has recovered."
    return f"{stands(alert) or 'No action needed'}."


def card_of(post: Post, settings: CardSettings = PLAIN_CARDS, *, in_list: bool = False) -> Card:
    """The card that a post shows."""
    draws = post_kinds.kind_of(post.kind).draws
    if draws == "note":
        note = read_note(post.note)
        return (
            Card(title=note.title, text=(_settled(post.alert),)) if post.alert and is_settled(post) else note
        )
    # One whose body was pruned still shows what was kept.
    kept = post.alert or Alert(id=post.alert_id, workspace=post.workspace, received_at=post.created_at)
    alert = settings.on_card(kept)
    if draws == "updated":  # for thread and channel, when the card of a reply shows more than it did
        whole, text = listed(card(alert)), ("Updated on the card above.",)
        return replace(whole, text=text, details=(), buttons=whole.buttons[:1])
    if draws == "again":
        again = when("Reported again", moment(post.created_at))
        return Card(
            title=f"Paused again: {domain_of(alert.event) or 'a domain'}",
            tone=Tone.BAD,
            facts=(again, when("First reported", alert.received)),
        )
    if in_list:
        is_reply = kind_of(alert.event.kind).card == "reply"
        return listed(reply_card(alert, in_list=True) if is_reply else card(alert))
    return listed(card(alert)) if post.condensed else card(alert)


def message(posts: Sequence[Post], settings: CardSettings = PLAIN_CARDS) -> Message:
    """One post as a whole card, or several as a list in which each keeps its own button."""
    first, in_list = posts[0], bool(posts[0].bundle) or len(posts) > 1
    draws = post_kinds.kind_of(first.kind).draws
    if first.change and draws == "history":
        return change_history(first.change)
    if first.change:
        workspace = first.workspace if settings.several else ""
        return change_message(first.change, read_note(first.note), workspace=workspace)
    if draws == "answer":
        stored = json.loads(first.note)
        return Message(text=stored["text"], blocks=stored["blocks"])
    drawn = [card_of(post, settings, in_list=in_list) for post in posts]
    if in_list:
        content = card_blocks.render_list(_summary([post.alert or Alert(id="") for post in posts]), drawn)
    elif first.condensed or drawn[0] == Card(title=drawn[0].title, notifies=drawn[0].notifies):
        content = card_blocks.render_condensed(drawn[0])
    else:
        content = card_blocks.render(drawn[0])
    called = filter(None, (_mention(post, in_list=in_list) for post in posts))
    mentions = " ".join(list(dict.fromkeys(called))[:MOST_OWNERS])
    return with_mention(content, mentions) if mentions else content


def _summary(alerts: Sequence[Alert]) -> str:
    """`12 interested replies, 9 unclaimed`: what a list has, once for all."""
    if not all(kind_of(alert.event.kind).claimable for alert in alerts):
        return show_number(len(alerts), "alert")
    unclaimed = sum(alert.state == "unclaimed" for alert in alerts)
    return f"{show_number(len(alerts), 'interested reply')}, {unclaimed or 'none'} unclaimed"


def _mention(post: Post, *, in_list: bool) -> str:
    """The people that the post calls, only while it needs them; in a list only those whose turn it still is."""
    alert = post.alert
    if post.kind != ALERT:
        return "" if is_settled(post) else post.mention
    if alert is None or alert.waiting_since is None:
        return ""
    passed_on = in_list and is_user(post.mention) and alert.owner != post.mention
    return "" if passed_on else post.mention


def with_mention(drawn: Message, mention: str) -> Message:
    """The message with a mention, or several with spaces between; they come from the settings and Slack, never from a lead."""
    forms = {who: f"<!subteam^{who}>" for who in mention.split() if who[0] == "S"} | {"here": "<!here>"}
    call = " ".join(forms.get(who, f"<@{who}>") for who in mention.split())
    context = {"type": "context", "elements": [{"type": "mrkdwn", "text": call}]}
    return Message(text=f"{call} {drawn.text}", blocks=[*drawn.blocks, context])


def payload(posts: Sequence[Post]) -> dict[str, Any]:
    """The metadata by which the message is found again, and its alerts are known to others."""
    of_alert = [post_kinds.kind_of(post.kind).of_alert for post in posts]
    alerts = [post.alert_id for post, of in zip(posts, of_alert, strict=True) if of == "card"]
    # The key finds a post whose outcome is unknown, before it is tried again.
    named: dict[str, Any] = {"key": posts[0].key}
    if alerts:
        named["alert_id"] = alerts[0]
    if len(alerts) > 1:
        named["alert_ids"] = alerts
    if of_alert[0] == "again":
        named["again_of"] = posts[0].alert_id
    return named


def _read_action(stored: dict[str, Any] | None) -> Action | None:
    """The action of a button; one whose line no longer means anything still shows it."""
    if stored is None:
        return None
    try:
        action = read_value(stored["line"])
    except UsageError:
        return Typed(stored["line"])
    if isinstance(action, Perform):
        return action.act
    return action.arguments if isinstance(action, Invocation) else action


@frozen
class _Button(Button):
    action: Annotated[Action | None, PlainValidator(_read_action)] = None


@frozen
class _Card(Card):
    buttons: tuple[_Button, ...] = ()


_CARD = TypeAdapter(_Card)


def write_note(card: Card) -> str:
    """The card as JSON, its buttons' actions as their values."""
    # As the value of a button in Slack, which every later version reads.
    buttons = (
        replace(button, action=Typed(write_value(button.action)) if button.action else None)
        for button in card.buttons
    )
    return to_json(replace(card, buttons=tuple(buttons))).decode()


def read_note(note: str) -> Card:
    """The Card of `write_note`."""
    return _CARD.validate_json(note)


def write_answer(message: Message) -> str:
    return json.dumps({"text": message.text, "blocks": message.blocks})


def restated(note: str) -> Card | None:
    """The Card of a message about a setting that was changed again; None: it stays as it was."""
    title = json.loads(note).get("title")
    return Card(title=title) if title else None


# -- the message of a pause or resumption: one line that says how its sequences are now

# It is drawn from the change in the audit, which knows what became of each sequence since, and so says the same after an
# Undo, the end of a timed pause, and whatever another person or program did.


def change_message(entry: AuditEntry, card: Card, *, workspace: str = "") -> Message:
    """The line, with its Undo while that takes something back; `card` has what else was said, and other buttons.

    `workspace` is the one that the buttons mean, where there are several.
    """
    is_rule, stands = entry.actor.face == "bot", not (entry.undone_by or entry.overtaken_by)
    buttons = [button for button in card.buttons if not isinstance(button.action, UndoChange)]
    said = list(card.text)
    if stands:
        buttons.insert(0, Button(label=UNDO, action=UndoChange(change=entry.number), workspace=workspace))
        said += [f"{fact.label}: {fact.value}" for fact in card.facts if fact.at is None]
    elif is_rule:
        said.insert(0, f"{_rule(entry)} paused it.")
    if is_rule and entry.undone_by:
        said.append("The rule is snoozed for 24 h.")
    if stands or is_rule:  # else it tells of an end that may be another by now
        said.append(card.footer)
    return card_blocks.render_line(_title(entry), " · ".join(filter(None, said)), buttons=buttons)


def _rule(entry: AuditEntry) -> str:
    """`Guardrail bounces-3`."""
    return entry.actor.name[:1].upper() + entry.actor.name[1:]


def _title(entry: AuditEntry) -> str:
    states = {name: entry.state_of(name) for name in entry.undoable}
    paused = {name: state for name, state in states.items() if state.status == "paused"}
    some = paused or states
    labels = [entry.undoable[name].label for name in some]
    # Names come from outside, and Slack reads this line: none of them styles it or mentions anybody.
    what = card_blocks.escape_marks(
        clip(labels[0]) if len(labels) == 1 else show_number(len(labels), "sequence")
    )
    makers = {state.by for state in some.values()}
    by = card_blocks.escape_marks(makers.pop()) if len(makers) == 1 else ""
    if entry.undone_by and all(before.later is None for before in entry.undoable.values()):
        by = by and f"undone by {by}"
    by = by and f" · {by}"
    if not paused:
        return f"▶ {what} {'is' if len(states) == 1 else 'are'} sending again{by}"
    until = _until(entry, {state.ends_at for state in paused.values()})
    if len(paused) < len(states):
        what = f"{len(paused)} of {show_number(len(states), 'sequence')}"
    elif entry.actor.face == "bot" and {state.by for state in paused.values()} == {entry.actor.name}:
        return f"⏸ {card_blocks.escape_marks(_rule(entry))} paused {what}{until}"
    return f"⏸ {what} paused{until}{by}"


def _until(entry: AuditEntry, ends: Collection[float | None]) -> str:
    """` until 16:31` in the reader's time zone; empty where they have no end, or several."""
    end = moment(next(iter(ends))) if len(ends) == 1 else None
    return f" until {card_blocks.date(end, with_day=end - entry.at > SOON)}" if end else ""


def change_history(entry: AuditEntry) -> Message:
    """The message in the thread of an earlier change: who changed its sequences again, and why."""
    who = card_blocks.escape_marks(entry.actor.shown)
    who = f"{who[:1].upper()}{who[1:]}"
    did = f"{who} resumed it."
    if entry.undoes:
        did = f"{who} undid this."
    elif entry.effect == "paused":
        until = _until(entry, {before.new_end for before in entry.undoable.values()})
        did = f"{who} paused it{until}."
    elif entry.actor.face == "bot":
        did = "The pause ended."
    return card_blocks.render_line(did, f"Reason: {clip(entry.reason)}" if entry.reason else "")
