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


def alert_of(post: Post, *, several: bool, links: Links = NO_LINKS) -> Alert:
    """The alert of a post; one whose body was pruned still shows what was kept."""
    row = post.alert or AlertRow(id=post.alert_id, workspace=post.workspace, received_at=post.created_at)
    return alert_of_row(row, several=several, links=links)


def alert_of_row(row: AlertRow, *, several: bool, links: Links = NO_LINKS) -> Alert:
    """The alert as its card shows it."""
    email = row.event.lead.email
    # The link's thirty days begin anew with each change of hands.
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
        return settled_card(card, post) if is_settled(post) else card
    alert = alert_of(post, several=several, links=links)
    if kind.draws == "updated":
        return kinds.turned(alert)
    if kind.draws == "again":
        return kinds.again(alert, at=moment(post.created_at))
    return kinds.condensed(alert) if post.condensed else kinds.card(alert)


def is_settled(post: Post) -> bool:
    """Whether a message that asks for something about an alert asks for nothing any more."""
    if (alert := post.alert) is None:
        return False
    match post_kinds.kind_of(post.kind).settled_by:
        case "acknowledgement":
            return alert.acked_at is not None or alert.recovered_at is not None
        case "finish":
            return alert.handled_at is not None or alert.claimed_by != post.mention
        case "turn":
            passed_on = is_user(post.mention) and alert.owner != post.mention
            return alert.waiting_since is None or passed_on
        case "claim":
            return alert.waiting_since is None
    return False


def settled_card(card: Card, post: Post) -> Card:
    """The text of a reminder after its reply was claimed, done or snoozed, or its domain acknowledged."""
    if (alert := post.alert) is None:
        return card
    if post_kinds.kind_of(post.kind).settled_by == "acknowledgement":
        text = f"✓ Acknowledged by @{alert.acked_name}." if alert.acked_at else "It has recovered."
    elif alert.handled_at is not None and alert.closed_reason:
        text = f"Closed by @{alert.handled_name}: not interested ({alert.closed_reason})."
    elif alert.handled_at is not None:
        text = f"✓ Done by @{alert.handled_name}."
    elif alert.claimed_at is not None:
        by = f" by @{alert.assigned_name}" if alert.assigned_name else ""
        text = f"✓ Assigned to @{alert.claimed_name}{by}." if by else f"✓ Claimed by @{alert.claimed_name}."
    elif alert.waiting_since is not None:
        name = alert.owner_name or alert.owner
        text = f"Passed on to @{name}." if name else "Passed on: anyone can claim it."
    else:
        text = f"Snoozed by @{alert.snoozed_name}." if alert.snoozed_until else "No action needed."
    return Card(title=card.title, text=(text,))


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
    if len(posts) == 1 and not posts[0].bundle:
        card = card_of(posts[0], several=several, links=links)
        drawn = card_blocks.render_condensed(card) if posts[0].condensed else card_blocks.render(card)
        return with_mention(drawn, posts[0].mention if _calls(posts[0]) else "")
    cards = [kinds.listed(card_of(post, several=several, links=links)) for post in posts]
    return with_mention(card_blocks.render_list(cards), _called(posts))


def _called(posts: Sequence[Post]) -> str:
    """Whom the replies of a list call: those whose turn it is, and the groups that the settings name."""
    named = (one for one in posts if one.mention and not (is_user(one.mention) and _passed_on(one)))
    called = (one.mention for one in named if _calls(one))
    return " ".join(list(dict.fromkeys(called))[:MOST_OWNERS])


def _passed_on(post: Post) -> bool:
    """It is somebody else's turn by now."""
    return post.alert is None or post.alert.owner != post.mention


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
    names = [post.alert_id for post in posts if post_kinds.kind_of(post.kind).of_alert == "card"]
    found: dict[str, Any] = {"key": posts[0].key}
    if names:
        found["alert_id"] = names[0]
    if len(names) > 1:
        found["alert_ids"] = names
    if post_kinds.kind_of(posts[0].kind).of_alert == "again":
        found["again_of"] = posts[0].alert_id
    return found
