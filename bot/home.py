"""The Home tab: what waits, what is paused, what runs, how the inboxes are, what this person has. Pure.

Slack takes 100 blocks; each part shows the most urgent and says how many more there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot import blocks, spans
from bot.blocks import Block, cut, plain
from shared.api.models import Sequence as Campaign
from shared.card import Button, Tone
from shared.health import DomainHealth
from shared.plain import visible
from shared.reports import show_number, show_span
from shared.words import join

BLOCKS = 100
WAITING, DOMAINS, SEQUENCES, CLAIMS = 8, 6, 14, 6
NAME = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """An interested reply: unclaimed, or this person's."""

    alert: str
    lead: str
    sequence: str
    since: datetime
    link: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Everything that Home shows; None: it could not be asked."""

    now: datetime
    workspace: str
    waiting: Sequence[Waiting] | None = None
    claims: Sequence[Waiting] | None = None
    paused: Sequence[tuple[str, datetime]] = ()
    """Domains that the service paused and that have not recovered, and since when."""
    domains: Sequence[DomainHealth] | None = None
    sequences: Sequence[Campaign] | None = None
    may_change: bool = True
    trouble: str = ""


def view(standing: Standing) -> dict[str, Any]:
    """The whole tab."""
    parts = [
        *_head(standing),
        *_waiting("Waiting for somebody", standing.waiting, standing, most=WAITING, mine=False),
        *_waiting("Yours", standing.claims, standing, most=CLAIMS, mine=True),
        *_paused(standing),
        *_domains(standing),
        *_sequences(standing),
    ]
    return {"type": "home", "callback_id": "home", "blocks": parts[:BLOCKS]}


def _head(standing: Standing) -> list[Block]:
    acts = [Button(label="Refresh", command="home"), Button(label="Status", command="status")]
    if standing.may_change:
        acts += [
            Button(label="Pause …", command="form pause"),
            Button(label="Add a lead …", command="form add"),
            Button(label="Subscribe …", command="form subscribe"),
        ]
    acts.append(Button(label="Help", command="help"))
    said = f"{_summary(standing)} · workspace {standing.workspace}"
    trouble = [_context(f"⚠ {standing.trouble}")] if standing.trouble else []
    return [_header("Outreach"), _moment(said, standing.now), *trouble, _acts("head", acts)]


def _summary(standing: Standing) -> str:
    waiting = standing.waiting
    if waiting is None:
        return "How alerts stand is not known now"
    if not waiting:
        return "Nobody waits for an answer"
    return (
        f"{show_number(len(waiting), 'reply')} waiting"
        if len(waiting) == 1
        else f"{len(waiting)} replies waiting"
    )


def _waiting(
    title: str, items: Sequence[Waiting] | None, standing: Standing, *, most: int, mine: bool
) -> list[Block]:
    if not items:
        return []
    drawn: list[Block] = [_divider(), _header(f"{title} · {len(items)}")]
    for item in items[:most]:
        age = show_span(standing.now - item.since)
        said = " · ".join(
            filter(None, (visible(item.sequence), f"{'yours since' if mine else 'waiting'} {age}"))
        )
        drawn.append(_entry(visible(item.lead) or "Somebody", said, bold=True))
        verbs = (("release", "Release"), ("handled", "Mark as handled")) if mine else (("claim", "Claim"),)
        acts = [
            Button(
                label=label, command=f"{verb} {item.alert}", tone=Tone.GOOD if verb == "claim" else Tone.INFO
            )
            for verb, label in verbs
        ]
        link = [Button(label="Open the card", command="", url=item.link)] if item.link else []
        if standing.may_change or link:
            drawn.append(_acts(item.alert, [*(acts if standing.may_change else ()), *link]))
    return [*drawn, *_more(len(items) - most, "`open` lists them all.")]


def _paused(standing: Standing) -> list[Block]:
    if not standing.paused:
        return []
    drawn: list[Block] = [_divider(), _header(f"Paused domains · {len(standing.paused)}")]
    for domain, since in standing.paused[:DOMAINS]:
        drawn.append(
            _entry(f"🔴 {visible(domain)}", f"paused {show_span(standing.now - since)} ago", bold=True)
        )
        look = [Button(label="Its inboxes", command=join("inboxes", domain))]
        if standing.may_change:
            look.append(Button(label="Pause its sequences …", command=f"pause domain:{domain}"))
        drawn.append(_acts(f"paused_{domain}", look))
    return [*drawn, *_more(len(standing.paused) - DOMAINS, "")]


def _domains(standing: Standing) -> list[Block]:
    domains = standing.domains
    if domains is None:
        return []
    troubled = [one for one in domains if one.tone is not Tone.GOOD]
    drawn: list[Block] = [_divider(), _header("Inbox health")]
    total = sum(one.inboxes for one in domains)
    drawn.append(_context(f"{show_number(total, 'inbox')} on {show_number(len(domains), 'domain')}"))
    for one in troubled[:DOMAINS]:
        said = "; ".join(one.reasons)
        drawn.append(_entry(f"{blocks.MARKS[one.tone]}{visible(one.domain)}", visible(said), bold=True))
    if not troubled:
        drawn.append(_entry(f"{blocks.MARKS[Tone.GOOD]}Every domain is healthy", ""))
    more = Button(label="All inboxes", command="inboxes")
    return [*drawn, *_more(len(troubled) - DOMAINS, ""), _acts("inboxes", [more])]


def _sequences(standing: Standing) -> list[Block]:
    known = standing.sequences
    if known is None:
        return []
    order = {"paused": 0, "active": 1}
    shown = sorted(known, key=lambda one: (order.get(one.status or "", 2), one.label.casefold()))
    counts = [f"{sum(one.status == word for one in known)} {word}" for word in ("active", "paused")]
    drawn: list[Block] = [_divider(), _header("Sequences"), _context(", ".join(counts))]
    drawn += [_sequence(one, may_change=standing.may_change) for one in shown[:SEQUENCES]]
    return [*drawn, *_more(len(shown) - SEQUENCES, "`sequences` lists them all.")]


def _sequence(one: Campaign, *, may_change: bool) -> Block:
    mark = {"active": "🟢", "paused": "🟠"}.get(one.status or "", "⚪")
    steps = f" · {show_number(one.steps, 'step')}" if one.steps is not None else ""
    said = f"{mark} {cut(visible(one.label).strip(), NAME)} · {visible(one.status or 'unknown')}{steps}"
    block: Block = {"type": "section", "text": plain(said)}
    verb = {"active": "pause", "paused": "resume"}.get(one.status or "")
    if verb and may_change:
        button = Button(label=verb.capitalize(), command=join(verb, one.id))
        block["accessory"] = blocks.draw_button(button, 0)
    return block


def _entry(title: str, said: str, *, bold: bool = False) -> Block:
    words = [spans.text(cut(title, NAME), bold=True) if bold else spans.text(cut(title, NAME))]
    words += [spans.text(f"\n{cut(said, 200)}")] if said else []
    return blocks.rich({"type": "rich_text_section", "elements": words})


def _header(text: str) -> Block:
    return {"type": "header", "text": plain(text)}


def _divider() -> Block:
    return {"type": "divider"}


def _context(text: str) -> Block:
    return {"type": "context", "elements": [plain(cut(visible(text), 500))]}


def _moment(said: str, now: datetime) -> Block:
    """Slack shows the time in the reader's zone; what is ours alone may be parsed."""
    at = f"<!date^{int(now.timestamp())}^as of {{time}}|as of {now:%H:%M} UTC>"
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": f"{blocks.escape(said)} · {at}"}]}


def _acts(name: str, buttons: Sequence[Button]) -> Block:
    return {
        "type": "actions",
        "block_id": f"home_{name}"[:255],
        "elements": [blocks.draw_button(button, number) for number, button in enumerate(buttons)],
    }


def _more(count: int, where: str) -> list[Block]:
    return [_context(f"and {count} more. {where}".strip().replace("`", ""))] if count > 0 else []
