"""The Home tab: what it is for, the person's replies, three unclaimed ones, and what needs attention.

With several workspaces it shows all of them. Slack allows 100 blocks: each section shows the most urgent entries and
the number of others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

import structlog

from bot.blockkit import card_blocks
from bot.blockkit.actions import OpenForm, ShowSample
from bot.cards import PLAIN_CARDS, CardSettings, card_settings
from bot.commands.context import CommandContexts, WorkspaceCache
from bot.commands.replies import list_item
from bot.slack.directory import UserDirectory
from bot.slack.permissions import Reach, Standing
from bot.slack.web_api import SlackError, WebApi
from shared.api.errors import OutreachError
from shared.commands.base import DOMAIN
from shared.commands.help import Help
from shared.commands.inboxes import Domain
from shared.commands.pause import Pause
from shared.commands.status import Status
from shared.domain.alert import Alert
from shared.domain.card import Action, Button, Card, Fact, Tone
from shared.domain.health import WORST_FIRST, DomainHealth, roll_up, worst
from shared.frozen import frozen
from shared.records.records import RecordsUnavailable
from shared.text.formats import show_exact_span, show_number

BLOCKS = 100
UNCLAIMED, CLAIMS, DOMAINS, WORKSPACES = 3, 6, 5, 20
MOST_VISITORS = 2_000
PURPOSE = (
    "Outreach tells this Slack workspace when a lead is interested, or a sending domain is in trouble, "
    "so that someone claims and answers within minutes."
)
LOADING = Card(title="Outreach", footer="Loading …")
"""Shown until everything is read for the first time, because an empty tab looks broken."""
_OUTSIDE = (
    "People from other organizations can't use this tab. Ask an admin of this Slack workspace for access."
)
_UNKNOWN_PERSON = "Slack didn't say who you are. Open this tab again in a minute."

log = structlog.get_logger("visits")
T = TypeVar("T")
View = dict[str, Any]


@frozen
class HomeState:
    """Everything that Home shows; None, or no entry for a workspace: unknown."""

    now: datetime
    workspaces: Sequence[str] = ()
    waiting: Sequence[Alert] | None = None
    """The replies that have waited longest."""
    unclaimed: Mapping[str, int] = field(default_factory=dict)
    """The number of unclaimed replies in each workspace."""
    claims: Sequence[Alert] = ()
    cards: CardSettings = PLAIN_CARDS
    paused: Mapping[tuple[str, str], datetime] = field(default_factory=dict)
    """The moment since which a domain of a workspace is paused."""
    domains: Mapping[str, Sequence[DomainHealth]] = field(default_factory=dict)
    may_change: bool = True
    problem: str = ""

    def named(self, workspace: str) -> str:
        """The name of a workspace, where there are several."""
        return workspace if len(self.workspaces) > 1 else ""


def view(state: HomeState) -> View:
    """The whole tab: its head, and each section with its items."""
    draw = partial(list_item, now=state.now, cards=state.cards, may_change=state.may_change)
    mine, unclaimed = list(map(draw, state.claims[:CLAIMS])), list(map(draw, state.waiting or ()))
    attention, troubled = _attention(state)
    count = sum(state.unclaimed.values())
    sections = [
        _section(f"Yours · {len(state.claims)}", mine, len(state.claims), "replies mine"),
        _section(f"Unclaimed · {count}", unclaimed, count, "replies"),
        _section("Needs attention", attention, troubled, "domains"),
    ]
    if len(state.workspaces) > 1:
        sections.append([{"type": "divider"}, *card_blocks.render(_workspaces(state)).blocks])
    return _tab([*card_blocks.render(_head(state)).blocks, *(block for part in sections for block in part)])


def _tab(blocks: list[dict[str, Any]]) -> View:
    return {"type": "home", "callback_id": "home", "blocks": blocks[:BLOCKS]}


def _head(state: HomeState) -> Card:
    """Explain what this is, and how things stand, with the time at which that was so."""
    stands = "The database isn't available, so replies can't be shown."
    if state.waiting is not None:
        count = sum(state.unclaimed.values())
        stands = show_number(count, "unclaimed reply") if count else "No unclaimed replies"
    actions: dict[str, Action] = {"Status": Status()}
    if state.may_change:
        actions["Pause …"] = OpenForm(verb="pause")
    actions |= {"Show a sample card": ShowSample(), "Help": Help()}
    at = Fact(label="As of", value=f"{state.now:%H:%M} UTC", at=state.now, brief=True)
    text = (PURPOSE, stands, *([f"⚠ {state.problem}"] if state.problem else ()))
    buttons = tuple(Button(label=label, action=action) for label, action in actions.items())
    return Card(title="Outreach", text=text, buttons=buttons, details=(at,))


def _section(title: str, items: Sequence[Card], count: int, command: str) -> list[dict[str, Any]]:
    """The most urgent items, and the command that lists all `count` of them."""
    if not items:
        return []
    left = count - len(items)
    below = card_blocks.context(f"and {left} more: /outreach {command}" if left > 0 else "")
    return [{"type": "divider"}, *card_blocks.render_with(Card(title=title), items).blocks, *below]


def _attention(state: HomeState) -> tuple[list[Card], int]:
    """The domains that were paused first and the worst of the others, and the number of all in trouble."""
    troubled = [
        (name, domain)
        for name, domains in state.domains.items()
        for domain in domains
        if domain.tone in {Tone.BAD, Tone.WARN} and (name, domain.domain) not in state.paused
    ]
    troubled.sort(key=lambda pair: WORST_FIRST.index(pair[1].tone))
    items = []
    for (workspace, name), since in sorted(state.paused.items(), key=lambda pair: pair[1])[:DOMAINS]:
        text = f"paused {show_exact_span(state.now - since)} ago"
        items.append(_domain(name, Tone.BAD, text, state.named(workspace), may_pause=state.may_change))
    for workspace, domain in troubled[:1]:
        reasons = "; ".join(domain.reasons)
        items.append(_domain(domain.domain, domain.tone, reasons, state.named(workspace)))
    return items, len(state.paused) + len(troubled)


def _domain(name: str, tone: Tone, text: str, workspace: str, *, may_pause: bool = False) -> Card:
    buttons = [Button(label="Show domain", action=Domain(name=name), workspace=workspace)]
    if may_pause:
        pause = Pause(target=(f"{DOMAIN}{name}",))
        buttons.append(Button(label="Pause sequences …", action=pause, workspace=workspace))
    facts = tuple(Fact(label="", value=value) for value in (workspace, text) if value)
    return Card(title=name, tone=tone, facts=facts, buttons=tuple(buttons))


def _workspaces(state: HomeState) -> Card:
    """A line for each, those with problems first; domains that can't be read are unknown."""
    lines = []
    for name in state.workspaces:
        domains = state.domains.get(name, ())
        paused = sum(workspace == name for workspace, _ in state.paused)
        counts = {
            "unclaimed reply": state.unclaimed.get(name, 0),
            "paused domain": paused,
            "troubled domain": sum(domain.tone is not Tone.GOOD for domain in domains),
        }
        words = [show_number(count, noun) for noun, count in counts.items() if count]
        tone = worst(domain.tone for domain in domains) if name in state.domains else Tone.UNKNOWN
        value, tone = " · ".join(words) or "nothing to do", Tone.BAD if paused else tone
        lines.append(Fact(label=name, value=value, tone=tone))
    lines.sort(key=lambda fact: WORST_FIRST.index(fact.tone))
    left = len(lines) - WORKSPACES
    return Card(
        title=f"Outreach workspaces · {len(lines)}",
        facts=tuple(lines[:WORKSPACES]),
        footer=f"and {left} more" if left > 0 else "",
    )


class HomeTab:
    """`show` the current Home tab to a person."""

    def __init__(
        self,
        contexts: CommandContexts,
        directory: UserDirectory,
        slack: WebApi,
        *,
        cache: WorkspaceCache,
    ) -> None:
        self._contexts, self._directory, self._slack = contexts, directory, slack
        self._cache, self._store = cache, contexts.store
        self._visitors: set[str] = set()

    async def show(self, user: str, *, fresh: bool = False) -> None:
        """Publish it; `fresh`: the person sees it already, and wants to know what is so now."""
        if not fresh and user not in self._visitors:
            await self._publish(user, _tab(card_blocks.render(LOADING).blocks))
        if len(self._visitors) >= MOST_VISITORS:
            # Who comes again sees the placeholder once more: a bound on memory that costs nobody anything.
            self._visitors.clear()
        self._visitors.add(user)
        person = await self._directory.find(user)
        standing = Standing(person=person, rules=self._contexts.settings.roles)
        if standing.reach is Reach.EVERYTHING:
            if fresh:
                self._cache.forget()
            await self._publish(user, view(await self._read_state(standing)))
        else:
            why = _OUTSIDE if person.is_known else _UNKNOWN_PERSON
            await self._publish(user, _tab(card_blocks.render(Card(title="Outreach", text=(why,))).blocks))

    async def refresh(self, user: str) -> None:
        """Publish it again to who has seen it since the bot started."""
        if user in self._visitors:
            await self.show(user)

    async def _publish(self, user: str, tab: View) -> None:
        try:
            await self._slack.call("views.publish", user_id=user, view=tab)
        except SlackError as error:
            log.warning("home not shown", error=str(error)[:200])

    async def _read_state(self, standing: Standing) -> HomeState:
        """Read everything at once; what can't be read is unknown, and the first reason for it is shown."""
        settings, problems = self._contexts.settings, list[str]()

        async def attempt(reading: Awaitable[T]) -> T | None:
            try:
                return await reading
            except OutreachError as error:
                problems.append(f"The service: {error.message}")
            except RecordsUnavailable as error:
                problems.append(str(error))
            except TimeoutError:
                problems.append("The outreach service didn't respond in time")
            return None

        places = settings.workspaces.values()
        replies, *inboxes = await asyncio.gather(
            attempt(self._replies(standing.person.id)),
            *(attempt(self._cache.read("list_inboxes", place)) for place in places),
        )
        return HomeState(
            now=datetime.now(UTC),
            workspaces=tuple(settings.workspaces),
            cards=card_settings(settings),
            **(replies or {}),
            domains={
                place.name: roll_up(boxes, thresholds=place.thresholds)
                for place, boxes in zip(places, inboxes, strict=True)
                if boxes is not None
            },
            may_change=standing.may("pause"),
            problem=problems[0] if problems else "",
        )

    async def _replies(self, user: str) -> dict[str, Any]:
        """The replies that have waited longest, the person's own, and the paused domains."""
        counts, paused, waiting = dict[str, int](), dict[tuple[str, str], datetime](), list[Alert]()
        for name in self._contexts.settings.workspaces:
            unclaimed = await self._store.records.open_replies(name, most=UNCLAIMED)
            waiting += unclaimed.replies
            counts[name] = unclaimed.count
            for row in await self._store.alerts.paused_domains(name):
                if row.domain:
                    paused.setdefault((name, row.domain), row.received)
        return {
            "waiting": sorted(waiting, key=lambda reply: reply.received_at)[:UNCLAIMED],
            "claims": await self._store.records.own_replies(user),
            "unclaimed": counts,
            "paused": paused,
        }
