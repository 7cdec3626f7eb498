"""The Home tab: what it is for, the person's replies, three unclaimed ones, and what needs attention.

With several workspaces it shows all of them, and a line for each. Slack allows 100 blocks: each section shows the most
urgent entries and the number of others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from typing import Any, TypeVar

import structlog

from bot.blockkit import card_blocks
from bot.blockkit.actions import OpenForm, ShowSample
from bot.commands.alerts.open_replies import ReplyItems
from bot.commands.canned_replies import OUTSIDE, UNKNOWN_PERSON
from bot.commands.context import CommandContexts, WorkspaceCache
from bot.slack.directory import UserDirectory
from bot.slack.permissions import Person, Reach, Standing
from bot.slack.web_api import SlackError, WebApi
from shared.api.errors import OutreachError
from shared.commands.away import Back
from shared.commands.base import DOMAIN
from shared.commands.domain import Domain
from shared.commands.help import Help
from shared.commands.pause import Pause
from shared.commands.status import Status
from shared.domain.card import Button, Card, Fact, Tone
from shared.domain.health import WORST_FIRST, DomainHealth, worst
from shared.domain.wall_clock import find_zone
from shared.frozen import frozen
from shared.records.records import RecordsUnavailable
from shared.records.replies import OpenReply
from shared.text.formats import show_exact_span, show_number, show_time

BLOCKS = 100
UNCLAIMED, CLAIMS, DOMAINS, WORKSPACES = 3, 6, 5, 20
MOST_VISITORS = 2_000
PURPOSE = (
    "Outreach tells this Slack workspace when a lead is interested, or a sending domain is in trouble, "
    "so that someone claims and answers within minutes."
)

log = structlog.get_logger("visits")
T = TypeVar("T")
Replies = Sequence[tuple[str, OpenReply]]
"""Each with its workspace."""


@frozen
class HomeState:
    """Everything that Home shows; None, or no entry for a workspace: unknown."""

    now: datetime
    workspaces: Sequence[str]
    waiting: Replies | None = None
    """The replies that have waited longest."""
    unclaimed: Mapping[str, int] = field(default_factory=dict)
    """The number of unclaimed replies in each workspace that has any."""
    claims: Replies = ()
    links: Mapping[str, str] = field(default_factory=dict)
    """The addresses of the cards, by alert."""
    lead_page: str = ""
    paused: Mapping[tuple[str, str], datetime] = field(default_factory=dict)
    """The moment since which a domain of a workspace is paused."""
    domains: Mapping[str, Sequence[DomainHealth]] = field(default_factory=dict)
    """The worst first."""
    absence: str = ""
    """The end of the person's absence in words; empty if they are here."""
    may_change: bool = True
    problem: str = ""

    def named(self, workspace: str) -> str:
        """The name of a workspace, where there are several."""
        return workspace if len(self.workspaces) > 1 else ""


def view(state: HomeState) -> dict[str, Any]:
    """The whole tab: its head, and each section with its items."""
    items = ReplyItems(
        now=state.now, links=state.links, lead_page=state.lead_page, may_change=state.may_change
    )
    waiting, own, count = state.waiting or (), state.claims[:CLAIMS], sum(state.unclaimed.values())
    unclaimed = [items.item(reply, workspace=state.named(name)) for name, reply in waiting[:UNCLAIMED]]
    mine = [items.item(reply, mine=True, workspace=state.named(name)) for name, reply in own]
    drawn = [
        *card_blocks.render(_head(state)).blocks,
        *_section(f"Yours · {len(state.claims)}", mine, len(state.claims), "`replies mine` lists all."),
        *_section(f"Unclaimed · {count}", unclaimed, count, "`replies` lists all."),
        *_attention(state),
        *(_workspaces(state) if len(state.workspaces) > 1 else ()),
    ]
    return {"type": "home", "callback_id": "home", "blocks": drawn[:BLOCKS]}


def plain(card: Card) -> dict[str, Any]:
    """A tab of one Card."""
    return {"type": "home", "callback_id": "home", "blocks": card_blocks.render(card).blocks}


LOADING = Card(title="Outreach", footer="Loading …")
"""Shown until everything is read for the first time, because an empty tab looks broken."""


def _head(state: HomeState) -> Card:
    """Explain what this is, and how things stand, with the time at which that was so."""
    stands = "The database isn't available, so replies can't be shown."
    if state.waiting is not None:
        count, places = sum(state.unclaimed.values()), len(state.unclaimed)
        where = f" in {places} outreach workspaces" if places > 1 else ""
        stands = f"{show_number(count, 'unclaimed reply')}{where}" if count else "No unclaimed replies"
    text = [PURPOSE, stands]
    text += [f"You are away {state.absence}: you get no turns."] if state.absence else []
    text += [f"⚠ {state.problem}"] if state.problem else []
    buttons = [Button(label="I'm back", action=Back(), tone=Tone.GOOD)] if state.absence else []
    buttons.append(Button(label="Status", action=Status()))
    if state.may_change:
        buttons.append(Button(label="Pause …", action=OpenForm(verb="pause")))
    buttons.append(Button(label="Show a sample card", action=ShowSample()))
    buttons.append(Button(label="Help", action=Help()))
    at = Fact(label="As of", value=f"{state.now:%H:%M} UTC", at=state.now, brief=True)
    return Card(title="Outreach", text=tuple(text), buttons=tuple(buttons), details=(at,))


def _section(title: str, items: Sequence[Card], count: int, more: str) -> list[dict[str, Any]]:
    if not items:
        return []
    left = count - len(items)
    footer = f"and {left} more. {more}" if left > 0 else ""
    drawn = card_blocks.render_with(Card(title=title), items).blocks
    below = card_blocks.context(footer)
    return [{"type": "divider"}, *drawn, *([below] if below else [])]


def _attention(state: HomeState) -> list[dict[str, Any]]:
    """The paused domains, and the worst of the others."""
    troubled = [
        (name, domain)
        for name, domains in state.domains.items()
        for domain in domains
        if domain.tone in {Tone.BAD, Tone.WARN} and (name, domain.domain) not in state.paused
    ]
    troubled.sort(key=lambda pair: WORST_FIRST.index(pair[1].tone))
    paused = sorted(state.paused.items(), key=lambda pair: pair[1])[:DOMAINS]
    items = []
    for (workspace, name), since in paused:
        text = f"paused {show_exact_span(state.now - since)} ago"
        items.append(_domain(Tone.BAD, name, text, workspace, state, is_paused=True))
    for workspace, domain in troubled[:1]:
        items.append(_domain(domain.tone, domain.domain, "; ".join(domain.reasons), workspace, state))
    count = len(state.paused) + len(troubled)
    return _section("Needs attention", items, count, "`domains` lists all.")


def _domain(
    tone: Tone, name: str, text: str, workspace: str, state: HomeState, *, is_paused: bool = False
) -> Card:
    own = state.named(workspace)
    buttons = [Button(label="Show domain", action=Domain(name=name), workspace=own)]
    if is_paused and state.may_change:
        pause = Pause(target=(f"{DOMAIN}{name}",))
        buttons.append(Button(label="Pause sequences …", action=pause, workspace=own))
    facts = tuple(Fact(label="", value=value) for value in (own, text) if value)
    return Card(title=name, tone=tone, facts=facts, buttons=tuple(buttons))


def _workspaces(state: HomeState) -> list[dict[str, Any]]:
    """A line for each, that in trouble first."""

    def urgency(fact: Fact) -> tuple[int, int, str]:
        name = fact.label
        return WORST_FIRST.index(fact.tone), -state.unclaimed.get(name, 0), name.casefold()

    lines = sorted((_workspace(name, state) for name in state.workspaces), key=urgency)
    left = len(lines) - WORKSPACES
    card = Card(
        title=f"Outreach workspaces · {len(lines)}",
        facts=tuple(lines[:WORKSPACES]),
        footer=f"and {left} more" if left > 0 else "",
    )
    return [{"type": "divider"}, *card_blocks.render(card).blocks]


def _workspace(name: str, state: HomeState) -> Fact:
    """The state of a workspace: a paused domain is bad, and domains that can't be read are unknown."""
    domains, waiting = state.domains.get(name), state.unclaimed.get(name, 0)
    paused = sum(workspace == name for workspace, _ in state.paused)
    troubled = [domain for domain in domains or () if domain.tone is not Tone.GOOD]
    parts = (
        f"{waiting} unclaimed" if waiting else "",
        f"{show_number(paused, 'domain')} paused" if paused else "",
        f"{show_number(len(troubled), 'domain')} at risk" if troubled else "",
        "inboxes unknown" if domains is None else "",
    )
    tone = Tone.BAD
    if not paused:
        tone = Tone.UNKNOWN if domains is None else worst(domain.tone for domain in domains)
    return Fact(label=name, value=" · ".join(filter(None, parts)) or "nothing to do", tone=tone)


class HomeTab:
    """`show` the current Home tab to a person."""

    def __init__(
        self,
        contexts: CommandContexts,
        directory: UserDirectory,
        slack: WebApi,
        *,
        cache: WorkspaceCache,
        links: Callable[[Sequence[str]], Awaitable[Mapping[str, str]]],
    ) -> None:
        self._contexts, self._directory, self._slack = contexts, directory, slack
        self._cache, self._links, self._store = cache, links, contexts.store
        self._visitors: set[str] = set()

    async def show(self, user: str, *, fresh: bool = False) -> None:
        """Publish it; `fresh`: the person sees it already, and wants to know what is so now."""
        if not fresh and user not in self._visitors:
            await self._publish(user, plain(LOADING))
        if len(self._visitors) >= MOST_VISITORS:
            self._visitors.clear()
        self._visitors.add(user)
        person = await self._directory.find(user)
        standing = Standing(person=person, rules=self._contexts.settings.roles)
        if standing.reach is Reach.EVERYTHING:
            await self._publish(user, view(await self._read_state(standing, fresh=fresh)))
        else:
            await self._publish(user, plain(OUTSIDE if person.is_known else UNKNOWN_PERSON))

    async def refresh(self, user: str) -> None:
        """Publish it again to who has seen it since the bot started."""
        if user in self._visitors:
            await self.show(user)

    async def _publish(self, user: str, drawn: Mapping[str, Any]) -> None:
        try:
            await self._slack.call("views.publish", user_id=user, view=drawn)
        except SlackError as error:
            log.warning("home not shown", error=str(error)[:200])

    async def _read_state(self, standing: Standing, *, fresh: bool) -> HomeState:
        settings, problems = self._contexts.settings, list[BaseException]()
        person = standing.person
        workspaces = settings.workspaces
        for workspace in workspaces.values() if fresh else ():
            self._cache.forget(workspace)

        async def attempt(reading: Awaitable[T]) -> T | None:
            try:
                return await reading
            except (OutreachError, RecordsUnavailable, TimeoutError) as error:
                problems.append(error)
                return None

        own, absence, domains = await asyncio.gather(
            attempt(self._replies(person)),
            attempt(self._absence(person)),
            asyncio.gather(*(attempt(self._cache.domains(workspace)) for workspace in workspaces.values())),
        )
        return HomeState(
            now=datetime.now(UTC),
            workspaces=tuple(workspaces),
            lead_page=settings.links.lead,
            **(own or {}),
            domains={
                name: healths
                for name, healths in zip(workspaces, domains, strict=True)
                if healths is not None
            },
            absence=absence or "",
            may_change=standing.may("pause"),
            problem=_describe(problems),
        )

    async def _replies(self, person: Person) -> dict[str, Any]:
        """The replies that have waited longest, the person's own, and the paused domains."""
        counts, paused, waiting = dict[str, int](), dict[tuple[str, str], datetime](), []
        for name in self._contexts.settings.workspaces:
            unclaimed = await self._store.records.open_replies(name, most=UNCLAIMED)
            waiting += [(name, reply) for reply in unclaimed.replies]
            counts |= {name: unclaimed.count} if unclaimed.count else {}
            for row in await self._store.alerts.paused_domains(name):
                if row.domain:
                    paused.setdefault((name, row.domain), row.received)
        waiting = sorted(waiting, key=lambda pair: pair[1].received_at)[:UNCLAIMED]
        claims = [*reversed(await self._store.records.own_replies(person.id))]
        links = await self._links([reply.alert_id for _, reply in (*waiting, *claims[:CLAIMS])])
        return {"waiting": waiting, "unclaimed": counts, "claims": claims, "paused": paused, "links": links}

    async def _absence(self, person: Person) -> str:
        away = [absence for absence in await self._store.turns.absences() if absence.person == person.id]
        if not away:
            return ""
        until, zone = away[0].until, find_zone(person.zone) or UTC
        if until is None:
            return "until you are back"
        return f"until {show_time(until, now=self._contexts.now(), zone=zone)}"


def _describe(problems: Sequence[BaseException]) -> str:
    """The first problem, and how many more there are."""
    if not problems:
        return ""
    first, more = problems[0], f" (and {len(problems) - 1} more)" if problems[1:] else ""
    if isinstance(first, OutreachError):
        return f"The service: {first.message}{more}"
    if isinstance(first, RecordsUnavailable):
        return f"{first}{more}"
    return f"The outreach service didn't respond in time{more}"
