"""The view of the Home tab: what it is for, the person's replies, three unclaimed ones, and what needs attention. Pure.

With several workspaces, Home shows all of them, and a line for each, or one. Slack allows 100 blocks: each section shows
the most urgent entries and the number of others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bot.alerts.interested import crm_button
from bot.blockkit import card_blocks, elements
from bot.blockkit.actions import OnAlert, OpenForm, ShowHome, ShowSample, write_value
from bot.blockkit.elements import LABEL, RUN, Block, cut, draw_button, plain
from bot.blockkit.tables import MARKS
from shared.commands.away import Back
from shared.commands.base import DOMAIN
from shared.commands.domain import Domain
from shared.commands.help import Help
from shared.commands.pause import Pause
from shared.commands.status import Status
from shared.domain.card import Button, Card, Tone
from shared.domain.health import WORST_FIRST, DomainHealth, worst
from shared.text.formats import show_exact_span, show_number
from shared.text.sanitize import visible

BLOCKS = 100
UNCLAIMED, CLAIMS, DOMAINS, WORKSPACES = 3, 6, 5, 40
OPTIONS, LONGEST_OPTION, NAME, WORDS = 100, 140, 100, 200
PURPOSE = (
    "Outreach tells this Slack workspace when a lead is interested, or a sending domain is in trouble, "
    "so that someone claims and answers within minutes."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """An interested reply: unclaimed, or this person's."""

    alert: str
    lead: str
    sequence: str
    since: datetime
    workspace: str
    link: str = ""
    """To its card."""
    reply: str = ""
    """The beginning of what the lead wrote."""
    page: str = ""
    """The lead's CRM page, if configured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused:
    """A domain that the service paused and that has not recovered."""

    domain: str
    since: datetime
    workspace: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeState:
    """Everything that Home shows; None, or no entry for a workspace: unknown."""

    now: datetime
    workspaces: Sequence[str]
    """All configured workspaces."""
    viewed_workspace: str = ""
    """The one that is shown; empty: all."""
    waiting: Sequence[Waiting] | None = None
    """The replies that have waited longest."""
    unclaimed: Mapping[str, int] = field(default_factory=dict)
    """How many wait in each workspace, where any do."""
    claims: Sequence[Waiting] | None = None
    paused: Sequence[Paused] = ()
    domains: Mapping[str, Sequence[DomainHealth]] = field(default_factory=dict)
    """The worst first."""
    absence: str = ""
    """Until when the person is away, where they said so."""
    may_change: bool = True
    problem: str = ""

    @property
    def several(self) -> bool:
        return len(self.workspaces) > 1

    def named(self, workspace: str) -> str:
        """The workspace of a button, where there are several."""
        return workspace if self.several else ""

    def elsewhere(self, workspace: str) -> str:
        """The workspace of an entry, where several are shown."""
        return workspace if self.several and not self.viewed_workspace else ""


def viewed_workspace(view: Mapping[str, Any] | None) -> str:
    """The workspace that a Home shows, from its view."""
    try:
        metadata = json.loads((view or {}).get("private_metadata") or "{}")
    except ValueError:
        return ""
    return str(metadata.get("workspace") or "") if isinstance(metadata, dict) else ""


def view(state: HomeState) -> dict[str, Any]:
    """The whole tab."""
    unclaimed, claims = sum(state.unclaimed.values()), state.claims or ()
    blocks = [
        *_head(state),
        *_replies("Yours", claims, state, count=len(claims), most=CLAIMS),
        *_replies("Unclaimed", state.waiting or (), state, count=unclaimed, most=UNCLAIMED),
        *_attention(state),
        *(_workspaces(state) if state.several and not state.viewed_workspace else ()),
    ]
    home = {"type": "home", "callback_id": "home", "blocks": blocks[:BLOCKS]}
    return {**home, "private_metadata": json.dumps({"workspace": state.viewed_workspace})}


def loading() -> dict[str, Any]:
    """Shown until everything is read for the first time, because an empty tab looks broken."""
    return {"type": "home", "callback_id": "home", "blocks": [_header("Outreach"), _context("Loading …")]}


def closed(card: Card) -> dict[str, Any]:
    return {"type": "home", "callback_id": "home", "blocks": card_blocks.render(card).blocks}


def _head(state: HomeState) -> list[Block]:
    own = state.named(state.viewed_workspace)
    acts = [Button(label="I'm back", action=Back(), tone=Tone.GOOD)] if state.absence else []
    acts.append(Button(label="Status", action=Status(), workspace=own))
    if state.may_change:
        acts.append(Button(label="Pause …", action=OpenForm(verb="pause", workspace=own)))
        acts.append(Button(label="Subscribe …", action=OpenForm(verb="subscribe", workspace=own)))
    acts += [
        Button(label="Show a sample card", action=ShowSample()),
        Button(label="Help", action=Help()),
    ]
    row = _actions(f"head_{state.viewed_workspace}", acts)
    if state.several:
        row["elements"].insert(0, _choice(state))
    away = [_context(f"You are away {state.absence}: you get no turns.")] if state.absence else []
    problem = [_context(f"⚠ {state.problem}")] if state.problem else []
    return [_header("Outreach"), _purpose(state), *away, *problem, row]


def _purpose(state: HomeState) -> Block:
    """What this is, and how things stand, with the time at which that was so."""
    stands = "The database isn't available, so replies can't be shown."
    if state.waiting is not None:
        count, places = sum(state.unclaimed.values()), len(state.unclaimed)
        where = f" in {places} outreach workspaces" if places > 1 else ""
        stands = f"{show_number(count, 'unclaimed reply')}{where}" if count else "No unclaimed replies"
    at = f"<!date^{int(state.now.timestamp())}^as of {{time}}|as of {state.now:%H:%M} UTC>"
    text = f"{PURPOSE}\n{card_blocks.escape(stands)} · {at}"
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": text}]}


def _choice(state: HomeState) -> Block:
    names = [name for name in state.workspaces if len(name) <= LONGEST_OPTION][: OPTIONS - 1]
    offered = [
        {"text": plain(cut(label, LABEL)), "value": write_value(ShowHome(workspace=name))}
        for label, name in (("All outreach workspaces", ""), *zip(names, names, strict=True))
    ]
    value = write_value(ShowHome(workspace=state.viewed_workspace))
    return {
        "type": "static_select",
        "action_id": f"{RUN}_workspace",
        "options": offered,
        "initial_option": next((one for one in offered if one["value"] == value), offered[0]),
    }


def _replies(title: str, items: Sequence[Waiting], state: HomeState, *, count: int, most: int) -> list[Block]:
    if not items:
        return []
    drawn: list[Block] = [_divider(), _header(f"{title} · {count}")]
    for item in items[:most]:
        drawn += _reply(item, state, mine=title == "Yours")
    return [*drawn, *_more(count - most, "replies lists all of them.")]


def _reply(item: Waiting, state: HomeState, *, mine: bool) -> list[Block]:
    age = show_exact_span(state.now - item.since)
    waits = f"claimed {age} ago" if mine else f"waiting {age}"
    about = " · ".join(filter(None, (state.elsewhere(item.workspace), visible(item.sequence), waits)))
    words = f"“{visible(item.reply)}”" if item.reply else ""
    text = _entry(visible(item.lead) or "Someone", "\n".join(filter(None, (words, about))))
    verbs = (("done", "Mark done"), ("release", "Release")) if mine else (("claim", "Claim"),)
    acts = [
        Button(label=label, action=OnAlert(verb=verb, alert=item.alert), tone=tone)
        for (verb, label), tone in zip(verbs, (Tone.GOOD, Tone.INFO), strict=False)
        if state.may_change
    ]
    acts += [Button(label="Open card", url=item.link)] if item.link else []
    acts += [crm_button(item.page)] if item.page else []
    return [text, *([_actions(item.alert, acts)] if acts else [])]


def _attention(state: HomeState) -> list[Block]:
    """The paused domains, and the worst of the others."""
    paused = {(one.workspace, one.domain) for one in state.paused}
    troubled = [
        (name, one)
        for name, domains in state.domains.items()
        for one in domains
        if one.tone in {Tone.BAD, Tone.WARN} and (name, one.domain) not in paused
    ]
    troubled.sort(key=lambda pair: WORST_FIRST.index(pair[1].tone))
    if not state.paused and not troubled:
        return []
    drawn: list[Block] = [_divider(), _header("Needs attention")]
    for one in state.paused[:DOMAINS]:
        since = f"paused {show_exact_span(state.now - one.since)} ago"
        drawn += _domain(Tone.BAD, one.domain, since, one.workspace, state, is_paused=True)
    for name, domain in troubled[:1]:
        drawn += _domain(domain.tone, domain.domain, "; ".join(domain.reasons), name, state)
    left = len(state.paused[DOMAINS:]) + len(troubled[1:])
    return [*drawn, *_more(left, "domains lists all of them.")]


def _domain(
    tone: Tone, domain: str, text: str, workspace: str, state: HomeState, *, is_paused: bool = False
) -> list[Block]:
    own = state.named(workspace)
    acts = [Button(label="Show domain", action=Domain(name=domain), workspace=own)]
    if is_paused and state.may_change:
        pause = Pause(target=(f"{DOMAIN}{domain}",))
        acts.append(Button(label="Pause sequences …", action=pause, workspace=own))
    about = " · ".join(filter(None, (state.elsewhere(workspace), visible(text))))
    entry = _entry(f"{MARKS[tone]}{visible(domain)}", about)
    return [entry, _actions(f"domain_{workspace}_{domain}", acts)]


def _workspaces(state: HomeState) -> list[Block]:
    """A line for each, that in trouble first."""

    def urgency(name: str) -> tuple[int, int, str]:
        return WORST_FIRST.index(_tone(name, state)), -state.unclaimed.get(name, 0), name.casefold()

    names = sorted(state.workspaces, key=urgency)
    drawn: list[Block] = [_divider(), _header(f"Outreach workspaces · {len(names)}")]
    drawn += [_workspace(name, state) for name in names[:WORKSPACES]]
    return [*drawn, *_more(len(names) - WORKSPACES, "The menu above lists all of them.")]


def _workspace(name: str, state: HomeState) -> Block:
    domains, waiting = state.domains.get(name), state.unclaimed.get(name, 0)
    paused = sum(one.workspace == name for one in state.paused)
    troubled = [one for one in domains or () if one.tone is not Tone.GOOD]
    parts = (
        f"{waiting} unclaimed" if waiting else "",
        f"{show_number(paused, 'domain')} paused" if paused else "",
        f"{show_number(len(troubled), 'domain')} at risk" if troubled else "",
        "inboxes unknown" if domains is None else "",
    )
    stands = " · ".join(filter(None, parts)) or "nothing to do"
    block: Block = {
        "type": "section",
        "block_id": f"home_of_{name}"[:255],
        "text": plain(f"{MARKS[_tone(name, state)]}{name} · {stands}"),
    }
    button = Button(label="Show", action=ShowHome(workspace=name))
    return block | {"accessory": draw_button(button, 0)}


def _tone(name: str, state: HomeState) -> Tone:
    """The worst of a workspace's domains; a paused one is bad, one that cannot be asked is unknown."""
    if any(one.workspace == name for one in state.paused):
        return Tone.BAD
    domains = state.domains.get(name)
    return Tone.UNKNOWN if domains is None else worst(one.tone for one in domains)


def _entry(title: str, text: str) -> Block:
    words = [elements.text_element(cut(title, NAME), bold=True)]
    words += [elements.text_element(f"\n{cut(text, WORDS)}")] if text else []
    return elements.rich({"type": "rich_text_section", "elements": words})


def _header(text: str) -> Block:
    return {"type": "header", "text": plain(text)}


def _divider() -> Block:
    return {"type": "divider"}


def _context(text: str) -> Block:
    return {"type": "context", "elements": [plain(cut(visible(text), 500))]}


def _actions(name: str, buttons: Sequence[Button]) -> Block:
    drawn = [draw_button(button, number) for number, button in enumerate(buttons)]
    return {"type": "actions", "block_id": f"home_{name}"[:255], "elements": drawn}


def _more(count: int, where: str) -> list[Block]:
    return [_context(f"and {count} more. {where}")] if count > 0 else []
