"""The view of the Home tab: unclaimed replies, the person's own, paused domains, inbox health and sequences. Pure.

With several workspaces, Home shows urgent things of all and a line for each, or everything of one.
Slack allows 100 blocks: each section shows the most urgent entries and the number of others.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from bot.alerts.interested import crm_button
from bot.blockkit import card_blocks, elements
from bot.blockkit.actions import OnAlert, OpenForm, ShowHome, write_value
from bot.blockkit.elements import LABEL, RUN, Block, cut, draw_button, plain
from bot.blockkit.tables import MARKS
from bot.interactions.home_tab.home_state import HomeState, Waiting
from shared.api.models import Sequence as Campaign
from shared.commands.away import Back
from shared.commands.base import DOMAIN
from shared.commands.help import Help
from shared.commands.inboxes import Inboxes
from shared.commands.pause import Pause
from shared.commands.resume import Resume
from shared.commands.running.subscriptions import show_next, show_times
from shared.commands.sequences import Sequences
from shared.commands.status import Status
from shared.domain.card import Button, Card, Tone
from shared.domain.health import WORST_FIRST, worst
from shared.text.formats import show_number, show_span
from shared.text.sanitize import visible

BLOCKS = 100
WAITING, DOMAINS, SEQUENCES, CLAIMS, WORKSPACES, DIGESTS = 8, 6, 14, 6, 40, 5
OPTIONS, LONGEST = 100, 140
NAME = 100


def view(standing: HomeState) -> dict[str, Any]:
    """The whole tab."""
    one = standing.viewed_workspace
    whole = [*_domains(standing, one), *_sequences(standing, one)] if one else _workspaces(standing)
    unclaimed, claims = sum(standing.unclaimed.values()), standing.claims or ()
    parts = [
        *_head(standing),
        *_waiting("Unclaimed replies", standing.waiting, standing, count=unclaimed, most=WAITING),
        *_waiting("Yours", claims, standing, count=len(claims), most=CLAIMS, mine=True),
        *_paused(standing),
        *whole,
        *_digests(standing),
    ]
    return {
        "type": "home",
        "callback_id": "home",
        "private_metadata": json.dumps({"workspace": one}),
        "blocks": parts[:BLOCKS],
    }


def loading() -> dict[str, Any]:
    """Shown until everything is read for the first time, because an empty tab looks broken."""
    return {"type": "home", "callback_id": "home", "blocks": [_header("Outreach"), _context("Loading …")]}


def closed(card: Card) -> dict[str, Any]:
    return {"type": "home", "callback_id": "home", "blocks": card_blocks.render(card).blocks}


def _head(standing: HomeState) -> list[Block]:
    one = standing.viewed_workspace
    acts = [Button(label="Refresh", action=ShowHome())]
    acts += [Button(label="Status", action=Status(), workspace=standing.named(one))] if one else []
    if standing.may_change:
        acts += [
            Button(label="Pause …", action=OpenForm(verb="pause", workspace=standing.named(one))),
            Button(label="Add a lead …", action=OpenForm(verb="add", workspace=standing.named(one))),
            Button(label="Subscribe …", action=OpenForm(verb="subscribe", workspace=standing.named(one))),
        ]
    acts.append(Button(label="Help", action=Help()))
    if standing.absence:
        acts.insert(0, Button(label="I'm back", action=Back(), tone=Tone.GOOD))
    away = [_context(f"You are away {standing.absence}: you get no turns.")] if standing.absence else []
    problem = [_context(f"⚠ {standing.problem}")] if standing.problem else []
    row = _dispatcher(f"head_{one}", acts)
    if standing.several:
        row["elements"].insert(0, _choice(standing))
    return [_header("Outreach"), _moment(_summary(standing), standing.now), *away, *problem, row]


def _choice(standing: HomeState) -> Block:
    names = [name for name in standing.workspaces if len(name) <= LONGEST][: OPTIONS - 1]
    offered = [
        {"text": plain(cut(label, LABEL)), "value": write_value(ShowHome(workspace=name))}
        for label, name in (("All outreach workspaces", ""), *zip(names, names, strict=True))
    ]
    value = write_value(ShowHome(workspace=standing.viewed_workspace))
    return {
        "type": "static_select",
        "action_id": f"{RUN}_workspace",
        "options": offered,
        "initial_option": next((one for one in offered if one["value"] == value), offered[0]),
    }


def _summary(standing: HomeState) -> str:
    waiting = standing.waiting
    if waiting is None:
        return "Alerts can't be shown: the database isn't available"
    if not waiting:
        return "No unclaimed replies"
    text = show_number(sum(standing.unclaimed.values()), "unclaimed reply")
    places = len(standing.unclaimed)
    return f"{text}{f' in {places} outreach workspaces' if places > 1 else ''}"


def _waiting(
    title: str,
    items: Sequence[Waiting] | None,
    standing: HomeState,
    *,
    count: int,
    most: int,
    mine: bool = False,
) -> list[Block]:
    if not items:
        return []
    drawn: list[Block] = [_divider(), _header(f"{title} · {count}")]
    for item in items[:most]:
        drawn += _reply(item, standing, mine=mine)
    return [*drawn, *_more(count - most, "`replies` lists all of them.")]


def _reply(item: Waiting, standing: HomeState, *, mine: bool) -> list[Block]:
    age = show_span(standing.now - item.since)
    elsewhere = item.workspace if item.workspace != standing.viewed_workspace and standing.several else ""
    parts = (elsewhere, visible(item.sequence), f"{f'claimed {age} ago' if mine else f'waiting {age}'}")
    words = f"“{visible(item.reply)}”" if item.reply else ""
    about = " · ".join(filter(None, parts))
    text = _entry(visible(item.lead) or "Someone", "\n".join(filter(None, (words, about))), bold=True)
    verbs = (("done", "Mark done"), ("release", "Release")) if mine else (("claim", "Claim"),)
    acts = [
        Button(
            label=label,
            action=OnAlert(verb=verb, alert=item.alert),
            tone=Tone.GOOD if number == 0 else Tone.INFO,
        )
        for number, (verb, label) in enumerate(verbs if standing.may_change else ())
    ]
    acts += [Button(label="Open card", url=item.link)] if item.link else []
    acts += [crm_button(item.page)] if item.page else []
    return [text, *([_dispatcher(item.alert, acts)] if acts else [])]


def _paused(standing: HomeState) -> list[Block]:
    if not standing.paused:
        return []
    drawn: list[Block] = [_divider(), _header(f"Paused domains · {len(standing.paused)}")]
    for one in standing.paused[:DOMAINS]:
        elsewhere = one.workspace if standing.several and not standing.viewed_workspace else ""
        text = " · ".join(filter(None, (elsewhere, f"paused {show_span(standing.now - one.since)} ago")))
        drawn.append(_entry(f"🔴 {visible(one.domain)}", text, bold=True))
        look = [
            Button(
                label="Show inboxes",
                action=Inboxes(filter=one.domain),
                workspace=standing.named(one.workspace),
            )
        ]
        if standing.may_change:
            pause = Pause(target=(f"{DOMAIN}{one.domain}",))
            look.append(
                Button(label="Pause sequences …", action=pause, workspace=standing.named(one.workspace))
            )
        drawn.append(_dispatcher(f"paused_{one.workspace}_{one.domain}", look))
    return [*drawn, *_more(len(standing.paused) - DOMAINS, "")]


def _workspaces(standing: HomeState) -> list[Block]:
    def urgency(name: str) -> tuple[int, int, str]:
        rank = WORST_FIRST.index(_tone(name, standing))
        return rank, -standing.unclaimed.get(name, 0), name.casefold()

    names = sorted(standing.workspaces, key=urgency)
    drawn: list[Block] = [_divider(), _header(f"Outreach workspaces · {len(names)}")]
    drawn += [_workspace(name, standing) for name in names[:WORKSPACES]]
    return [*drawn, *_more(len(names) - WORKSPACES, "The menu above lists all of them.")]


def _workspace(name: str, standing: HomeState) -> Block:
    known, domains = standing.sequences.get(name), standing.domains.get(name)
    waiting = standing.unclaimed.get(name, 0)
    paused = sum(one.workspace == name for one in standing.paused)
    troubled = [one for one in domains or () if one.tone is not Tone.GOOD]
    text = (
        f"{waiting} unclaimed" if waiting else "",
        f"{show_number(paused, 'domain')} paused" if paused else "",
        f"{show_number(len(troubled), 'domain')} at risk" if troubled else "",
        "inboxes unknown" if domains is None else "",
        _running(known),
    )
    line = f"{MARKS[_tone(name, standing)]}{name} · {' · '.join(filter(None, text))}"
    block: Block = {"type": "section", "block_id": f"home_of_{name}"[:255], "text": plain(line)}
    button = Button(label="Show", action=ShowHome(workspace=name))
    return block | {"accessory": draw_button(button, 0).to_dict()}


def _running(known: Sequence[Campaign] | None) -> str:
    if known is None:
        return "sequences unknown"
    active = sum(one.status == "active" for one in known)
    return f"{active} of {len(known)} sequences active" if known else "no sequences"


def _tone(name: str, standing: HomeState) -> Tone:
    """The worst of a workspace's domains; a paused one is bad, one that cannot be asked is unknown."""
    if any(one.workspace == name for one in standing.paused):
        return Tone.BAD
    domains = standing.domains.get(name)
    return Tone.UNKNOWN if domains is None else worst(one.tone for one in domains)


def _domains(standing: HomeState, one: str) -> list[Block]:
    domains = standing.domains.get(one)
    if domains is None:
        return []
    troubled = [domain for domain in domains if domain.tone is not Tone.GOOD]
    drawn: list[Block] = [_divider(), _header("Inbox health")]
    total = sum(domain.inboxes for domain in domains)
    drawn.append(_context(f"{show_number(total, 'inbox')} on {show_number(len(domains), 'domain')}"))
    for domain in troubled[:DOMAINS]:
        text = "; ".join(domain.reasons)
        drawn.append(_entry(f"{MARKS[domain.tone]}{visible(domain.domain)}", visible(text), bold=True))
    if domains and not troubled:
        drawn.append(_entry(f"{MARKS[Tone.GOOD]}All domains are healthy", ""))
    more = Button(label="All inboxes", action=Inboxes(), workspace=standing.named(one))
    return [*drawn, *_more(len(troubled) - DOMAINS, ""), _dispatcher("inboxes", [more])]


def _sequences(standing: HomeState, one: str) -> list[Block]:
    known = standing.sequences.get(one)
    if known is None:
        return []
    order = {"paused": 0, "active": 1}
    shown = sorted(
        known, key=lambda campaign: (order.get(campaign.status or "", 2), campaign.label.casefold())
    )
    counts = [f"{sum(campaign.status == word for campaign in known)} {word}" for word in ("active", "paused")]
    drawn: list[Block] = [_divider(), _header("Sequences"), _context(", ".join(counts))]
    drawn += [_sequence(campaign, standing, one) for campaign in shown[:SEQUENCES]]
    more = [
        _dispatcher(
            "sequences", [Button(label="All sequences", action=Sequences(), workspace=standing.named(one))]
        )
    ]
    return [*drawn, *_more(len(shown) - SEQUENCES, ""), *(more if shown[SEQUENCES:] else [])]


def _sequence(campaign: Campaign, standing: HomeState, one: str) -> Block:
    mark = {"active": "🟢", "paused": "🟠"}.get(campaign.status or "", "⚪")
    steps = f" · {show_number(campaign.steps, 'step')}" if campaign.steps is not None else ""
    name = cut(visible(campaign.label).strip(), NAME)
    text = f"{mark} {name} · {visible(campaign.status or 'unknown')}{steps}"
    block: Block = {"type": "section", "text": plain(text)}
    kinds: dict[str, type[Pause | Resume]] = {"active": Pause, "paused": Resume}
    kind = kinds.get(campaign.status or "")
    if kind and standing.may_change:
        action = kind(target=(campaign.id,))
        button = Button(label=kind.verb.capitalize(), action=action, workspace=standing.named(one))
        block["accessory"] = draw_button(button, 0).to_dict()
    return block


def _digests(standing: HomeState) -> list[Block]:
    if not standing.digests:
        return []
    drawn: list[Block] = [_divider(), _header("Digests")]
    for channel, at in standing.digests:
        text = f"{show_times(at)}, next {show_next(at, now=standing.now, zone=standing.zone)}"
        drawn.append(_entry(visible(channel), text[:1].upper() + text[1:], bold=True))
    return drawn


def _entry(title: str, text: str, *, bold: bool = False) -> Block:
    words = [
        elements.text_element(cut(title, NAME), bold=True)
        if bold
        else elements.text_element(cut(title, NAME))
    ]
    words += [elements.text_element(f"\n{cut(text, 200)}")] if text else []
    return elements.rich({"type": "rich_text_section", "elements": words})


def _header(text: str) -> Block:
    return {"type": "header", "text": plain(text)}


def _divider() -> Block:
    return {"type": "divider"}


def _context(text: str) -> Block:
    return {"type": "context", "elements": [plain(cut(visible(text), 500))]}


def _moment(text: str, now: datetime) -> Block:
    at = f"<!date^{int(now.timestamp())}^as of {{time}}|as of {now:%H:%M} UTC>"
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": f"{card_blocks.escape(text)} · {at}"}]}


def _dispatcher(name: str, buttons: Sequence[Button]) -> Block:
    return {
        "type": "actions",
        "block_id": f"home_{name}"[:255],
        "elements": [draw_button(button, number).to_dict() for number, button in enumerate(buttons)],
    }


def _more(count: int, where: str) -> list[Block]:
    return [_context(f"and {count} more. {where}".strip().replace("`", ""))] if count > 0 else []
