"""Renders stored posts as Slack messages. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bot.alerts import changes, kinds, notes
from bot.alerts.links import Links
from bot.alerts.notes import read_note
from bot.alerts.wording import answer_link
from bot.blockkit import card_blocks
from shared.domain.alert import Alert
from shared.domain.card import Card
from shared.domain.wall_clock import moment
from shared.store import post_kinds
from shared.store.messages import Post
from shared.store.post_kinds import ALERT
from shared.text.slack_ids import is_user

MOST_OWNERS = 6
"""People that a list mentions: with them, the longest one is still short enough for Slack."""


NO_LINKS = Links()


def on_card(alert: Alert, *, several: bool, links: Links = NO_LINKS) -> Alert:
    """The alert as its card shows it: with its workspace where there are several, and with links."""
    # The link's thirty days begin again with each change of hands.
    since = max(alert.received_at, alert.claimed_at or 0.0, alert.waiting_since or 0.0)
    return replace(
        alert,
        workspace=alert.workspace if several else "",
        lead_link=links.to_lead(alert.event.lead.email),
        mail_link=links.to_mail(alert.id, since=since) if answer_link(alert.event) else "",
    )


def card_of(post: Post, *, several: bool, links: Links = NO_LINKS) -> Card:
    """The card that a post shows."""
    kind = post_kinds.kind_of(post.kind)
    if kind.draws == "note":
        card = read_note(post.note)
        if post.alert is None or not is_settled(post):
            return card
        acknowledged = (
            f"✓ Acknowledged by @{post.alert.acked_name}." if post.alert.acked_at else "It has recovered."
        )
        text = acknowledged if kind.settled_by == "acknowledgement" else _settled(post.alert)
        return Card(title=card.title, text=(text,))
    # One whose body was pruned still shows what was kept.
    kept = post.alert or Alert(id=post.alert_id, workspace=post.workspace, received_at=post.created_at)
    alert = on_card(kept, several=several, links=links)
    if kind.draws == "updated":
        return kinds.turned(alert)
    if kind.draws == "again":
        return kinds.again(alert, at=moment(post.created_at))
    return kinds.condensed(alert) if post.condensed else kinds.card(alert)


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
    """The sentence of a reminder whose reply was claimed, done or snoozed."""
    if alert.handled_at is not None and alert.closed_reason:
        return f"Closed by @{alert.handled_name}: not interested ({alert.closed_reason})."
    if alert.handled_at is not None:
        return f"✓ Done by @{alert.handled_name}."
    if alert.claimed_at is not None and alert.assigned_name:
        return f"✓ Assigned to @{alert.claimed_name} by @{alert.assigned_name}."
    if alert.claimed_at is not None:
        return f"✓ Claimed by @{alert.claimed_name}."
    if alert.waiting_since is None:
        return f"Snoozed by @{alert.snoozed_name}." if alert.snoozed_until else "No action needed."
    name = alert.owner_name or alert.owner
    return f"Passed on to @{name}." if name else "Passed on: anyone can claim it."


def message(posts: Sequence[Post], *, several: bool, links: Links = NO_LINKS) -> card_blocks.Message:
    """One post as a whole card, or several as a list in which each keeps its own button."""
    first = posts[0]
    draws = post_kinds.kind_of(first.kind).draws
    if first.change and draws == "history":
        return changes.history(first.change)
    if first.change:
        workspace = first.workspace if several else ""
        return changes.message(first.change, read_note(first.note), workspace=workspace)
    if draws == "answer":
        return notes.read_answer(first.note)
    cards = [card_of(post, several=several, links=links) for post in posts]
    is_list = bool(first.bundle) or len(posts) > 1
    if is_list:
        drawn = card_blocks.render_list([kinds.listed(card) for card in cards])
    elif first.condensed or cards[0] == Card(title=cards[0].title, notifies=cards[0].notifies):
        drawn = card_blocks.render_condensed(cards[0])
    else:
        drawn = card_blocks.render(cards[0])
    called = filter(None, (_mention(post, is_list=is_list) for post in posts))
    mentions = " ".join(list(dict.fromkeys(called))[:MOST_OWNERS])
    return with_mention(drawn, mentions) if mentions else drawn


def _mention(post: Post, *, is_list: bool) -> str:
    """The people that the post calls, only while it needs them; in a list only those whose turn it still is."""
    alert = post.alert
    if not post.mention:
        return ""
    if post.kind == ALERT:
        if alert is None or alert.waiting_since is None:
            return ""
        passed_on = is_list and is_user(post.mention) and alert.owner != post.mention
        return "" if passed_on else post.mention
    return "" if is_settled(post) else post.mention


def with_mention(drawn: card_blocks.Message, mention: str) -> card_blocks.Message:
    """The message with a mention, or several with spaces between; they come from the settings and Slack, never from a lead."""
    forms = {who: f"<!subteam^{who}>" for who in mention.split() if who[0] == "S"} | {"here": "<!here>"}
    call = " ".join(forms.get(who, f"<@{who}>") for who in mention.split())
    context = {"type": "context", "elements": [{"type": "mrkdwn", "text": call}]}
    return card_blocks.Message(text=f"{call} {drawn.text}", blocks=[*drawn.blocks, context])


def payload(posts: Sequence[Post]) -> dict[str, Any]:
    """The metadata by which the message is found again, and its alerts are known to others."""
    of_alert = [post_kinds.kind_of(post.kind).of_alert for post in posts]
    alerts = [post.alert_id for post, of in zip(posts, of_alert, strict=True) if of == "card"]
    named: dict[str, Any] = {"key": posts[0].key}
    if alerts:
        named["alert_id"] = alerts[0]
    if len(alerts) > 1:
        named["alert_ids"] = alerts
    if of_alert[0] == "again":
        named["again_of"] = posts[0].alert_id
    return named
