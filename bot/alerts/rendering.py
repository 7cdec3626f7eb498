"""Renders stored posts as Slack messages. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bot.alerts import answers, changes, kinds, rota
from bot.alerts.links import Links
from bot.alerts.model import Alert, Mark
from bot.alerts.notes import read_note
from bot.alerts.wording import answer_link
from bot.blockkit import card_blocks
from shared.domain.card import Card
from shared.domain.wall_clock import moment
from shared.store import post_kinds
from shared.store.messages import Post
from shared.store.post_kinds import ALERT
from shared.store.rows import AlertRow
from shared.text.slack_ids import is_user

MOST_OWNERS = 6
"""People that a list mentions: with them, the longest one is still short enough for Slack."""


NO_LINKS = Links()


def alert_of_row(row: AlertRow, *, several: bool, links: Links = NO_LINKS) -> Alert:
    """The alert as its card shows it."""
    email = row.event.lead.email
    # The link's thirty days begin again with each change of hands.
    since = max(row.received_at, row.claimed_at or 0.0, row.waiting_since or 0.0)
    return Alert(
        id=row.id,
        event=row.event,
        received_at=row.received,
        seen=row.seen,
        found=row.found,
        claim=_mark(row.claimed_name, row.claimed_at),
        assigned_by=row.assigned_name,
        turn=rota.status_line(row),
        handled=_mark(row.handled_name, row.handled_at),
        closed_reason=row.closed_reason,
        snooze=_mark(row.snoozed_name, row.snoozed_until),
        nudges=row.nudges if row.waiting_since is not None else 0,
        standing=json.loads(row.standing) if row.standing else {},
        recovered_at=moment(row.recovered_at),
        acknowledged=_mark(row.acked_name, row.acked_at),
        workspace=row.workspace if several else "",
        lead_link=links.to_lead(email),
        mail_link=links.to_mail(row.id, since=since) if answer_link(row.event) else "",
    )


def _mark(name: str, at: float | None) -> Mark | None:
    return None if at is None else Mark(name=name, at=moment(at))


def card_of(post: Post, *, several: bool, links: Links = NO_LINKS) -> Card:
    """What a post says."""
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
    row = post.alert or AlertRow(id=post.alert_id, workspace=post.workspace, received_at=post.created_at)
    alert = alert_of_row(row, several=several, links=links)
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


def _settled(alert: AlertRow) -> str:
    """What a reminder says after its reply was claimed, done or snoozed."""
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
    if first.change and post_kinds.kind_of(first.kind).draws == "history":
        return changes.history(first.change)
    if first.change:
        shown = first.workspace if several else ""
        return changes.message(first.change, read_note(first.note), workspace=shown)
    if post_kinds.kind_of(first.kind).draws == "answer":
        return answers.read(first.note)
    if len(posts) == 1 and not first.bundle:
        card = card_of(posts[0], several=several, links=links)
        is_line = first.condensed or card == Card(title=card.title, notifies=card.notifies)
        drawn = card_blocks.render_condensed(card) if is_line else card_blocks.render(card)
        return with_mention(drawn, first.mention if _calls(first) else "")
    cards = [kinds.listed(card_of(post, several=several, links=links)) for post in posts]
    return with_mention(card_blocks.render_list(cards), _called(posts))


def _called(posts: Sequence[Post]) -> str:
    """Whom the replies of a list call: those whose turn it still is, and the groups that the settings name."""
    called = []
    for post in posts:
        passed_on = is_user(post.mention) and (post.alert is None or post.alert.owner != post.mention)
        if post.mention and not passed_on and _calls(post):
            called.append(post.mention)
    return " ".join(list(dict.fromkeys(called))[:MOST_OWNERS])


def _calls(post: Post) -> bool:
    """Whether the post calls whom it mentions: only while it is needed."""
    if post.kind == ALERT:
        return post.alert is not None and post.alert.waiting_since is not None
    return not is_settled(post)


def with_mention(drawn: card_blocks.Message, mention: str) -> card_blocks.Message:
    """The message with a mention, or several with spaces between; they come from the settings and Slack, never from a lead."""
    if not mention:
        return drawn
    call = " ".join(map(_call, mention.split()))
    context = {"type": "context", "elements": [{"type": "mrkdwn", "text": call}]}
    return card_blocks.Message(text=f"{call} {drawn.text}", blocks=[*drawn.blocks, context])


def _call(who: str) -> str:
    if who == "here":
        return "<!here>"
    return f"<!subteam^{who}>" if who.startswith("S") else f"<@{who}>"


def broadcasts(posts: Sequence[Post]) -> bool:
    return post_kinds.kind_of(posts[0].kind).broadcast


def payload(posts: Sequence[Post]) -> dict[str, Any]:
    """The metadata by which the message is found again, and its alerts are known to others."""
    shown = [post.alert_id for post in posts if post_kinds.kind_of(post.kind).of_alert == "card"]
    named: dict[str, Any] = {"key": posts[0].key}
    if shown:
        named["alert_id"] = shown[0]
    if len(shown) > 1:
        named["alert_ids"] = shown
    if post_kinds.kind_of(posts[0].kind).of_alert == "again":
        named["again_of"] = posts[0].alert_id
    return named
