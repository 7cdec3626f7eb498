"""The Home tab: what it is for, the person's replies, three unclaimed ones, and what needs attention.

With several workspaces it shows all of them. Slack allows 100 blocks: each section shows the most urgent entries and
the number of others.
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
from bot.slack.permissions import Reach, Standing
from bot.slack.web_api import SlackError, WebApi
from shared.api.errors import OutreachError
from shared.commands.base import DOMAIN
from shared.commands.domain import Domain
from shared.commands.help import Help
from shared.commands.pause import Pause
from shared.commands.status import Status
from shared.domain.card import Button, Card, Fact, Tone
from shared.domain.health import WORST_FIRST, DomainHealth, worst
from shared.frozen import frozen
from shared.records.records import RecordsUnavailable
from shared.records.replies import OpenReply
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

log = structlog.get_logger("visits")
T = TypeVar("T")
Replies = Sequence[tuple[str, OpenReply]]
"""Each with its workspace."""


@frozen
class HomeState:
    """Everything that Home shows; None, or no entry for a workspace: unknown."""

    now: datetime
    workspaces: Sequence[str] = ()
    waiting: Replies | None = None
    """The replies that have waited longest."""
    unclaimed: Mapping[str, int] = field(default_factory=dict)
    """The number of unclaimed replies in each workspace."""
    claims: Replies = ()
    links: Mapping[str, str] = field(default_factory=dict)
    """The addresses of the cards, by alert."""
    lead_page: str = ""
    paused: Mapping[tuple[str, str], datetime] = field(default_factory=dict)
    """The moment since which a domain of a workspace is paused."""
    domains: Mapping[str, Sequence[DomainHealth]] = field(default_factory=dict)
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
    count, own = sum(state.unclaimed.values()), state.claims[:CLAIMS]
    mine = [items.item(reply, mine=True, workspace=state.named(name)) for name, reply in own]
    unclaimed = [items.item(reply, workspace=state.named(name)) for name, reply in state.waiting or ()]
    blocks = [
        *card_blocks.render(_head(state)).blocks,
        *_section(f"Yours · {len(state.claims)}", mine, len(state.claims), "`replies mine` lists all."),
        *_section(f"Unclaimed · {count}", unclaimed, count, "`replies` lists all."),
        *_attention(state),
        *(_workspaces(state) if len(state.workspaces) > 1 else ()),
    ]
    return {"type": "home", "callback_id": "home", "blocks": blocks[:BLOCKS]}


def _head(state: HomeState) -> Card:
    """Explain what this is, and how things stand, with the time at which that was so."""
    stands = "The database isn't available, so replies can't be shown."
    if state.waiting is not None:
        count = sum(state.unclaimed.values())
        stands = show_number(count, "unclaimed reply") if count else "No unclaimed replies"
    buttons = [Button(label="Status", action=Status())]
    if state.may_change:
        buttons.append(Button(label="Pause …", action=OpenForm(verb="pause")))
    buttons.append(Button(label="Show a sample card", action=ShowSample()))
    buttons.append(Button(label="Help", action=Help()))
    at = Fact(label="As of", value=f"{state.now:%H:%M} UTC", at=state.now, brief=True)
    text = (PURPOSE, stands, *([f"⚠ {state.problem}"] if state.problem else ()))
    return Card(title="Outreach", text=text, buttons=tuple(buttons), details=(at,))


def _section(title: str, items: Sequence[Card], count: int, more: str) -> list[dict[str, Any]]:
    if not items:
        return []
    left = count - len(items)
    below = card_blocks.context(f"and {left} more. {more}" if left > 0 else "")
    blocks = card_blocks.render_with(Card(title=title), items).blocks
    return [{"type": "divider"}, *blocks, *below]


def _attention(state: HomeState) -> list[dict[str, Any]]:
    """The paused domains, and the worst of the others."""
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
        items.append(_domain(name, Tone.BAD, text, workspace, state, is_paused=True))
    for workspace, domain in troubled[:1]:
        items.append(_domain(domain.domain, domain.tone, "; ".join(domain.reasons), workspace, state))
    count = len(state.paused) + len(troubled)
    return _section("Needs attention", items, count, "`domains` lists all.")


def _domain(
    name: str, tone: Tone, text: str, workspace: str, state: HomeState, *, is_paused: bool = False
) -> Card:
    own = state.named(workspace)
    buttons = [Button(label="Show domain", action=Domain(name=name), workspace=own)]
    if is_paused and state.may_change:
        pause = Pause(target=(f"{DOMAIN}{name}",))
        buttons.append(Button(label="Pause sequences …", action=pause, workspace=own))
    facts = tuple(Fact(label="", value=value) for value in (own, text) if value)
    return Card(title=name, tone=tone, facts=facts, buttons=tuple(buttons))


def _workspaces(state: HomeState) -> list[dict[str, Any]]:
    """A line for each, those with problems first; domains that can't be read are unknown."""
    lines = []
    for name in state.workspaces:
        domains = state.domains.get(name, ())
        counts = {
            "unclaimed reply": state.unclaimed.get(name, 0),
            "paused domain": sum(workspace == name for workspace, _ in state.paused),
            "troubled domain": sum(domain.tone is not Tone.GOOD for domain in domains),
        }
        words = [show_number(count, noun) for noun, count in counts.items() if count]
        tone = worst(domain.tone for domain in domains) if name in state.domains else Tone.UNKNOWN
        tone = Tone.BAD if counts["paused domain"] else tone
        lines.append(Fact(label=name, value=" · ".join(words) or "nothing to do", tone=tone))
    lines.sort(key=lambda fact: WORST_FIRST.index(fact.tone))
    left = len(lines) - WORKSPACES
    card = Card(
        title=f"Outreach workspaces · {len(lines)}",
        facts=tuple(lines[:WORKSPACES]),
        footer=f"and {left} more" if left > 0 else "",
    )
    return [{"type": "divider"}, *card_blocks.render(card).blocks]


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
            await self._publish(user, LOADING)
        if len(self._visitors) >= MOST_VISITORS:
            # Who comes again sees the placeholder once more: a bound on memory that costs nobody anything.
            self._visitors.clear()
        self._visitors.add(user)
        person = await self._directory.find(user)
        standing = Standing(person=person, rules=self._contexts.settings.roles)
        if standing.reach is Reach.EVERYTHING:
            if fresh:
                self._cache.forget()
            await self._publish(user, await self._read_state(standing))
        else:
            await self._publish(user, OUTSIDE if person.is_known else UNKNOWN_PERSON)

    async def refresh(self, user: str) -> None:
        """Publish it again to who has seen it since the bot started."""
        if user in self._visitors:
            await self.show(user)

    async def _publish(self, user: str, shown: HomeState | Card) -> None:
        if isinstance(shown, HomeState):
            tab = view(shown)
        else:
            tab = {"type": "home", "callback_id": "home", "blocks": card_blocks.render(shown).blocks}
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

        replies, *domains = await asyncio.gather(
            attempt(self._replies(standing.person.id)),
            *(attempt(self._cache.domains(workspace)) for workspace in settings.workspaces.values()),
        )
        readings = zip(settings.workspaces, domains, strict=True)
        return HomeState(
            now=datetime.now(UTC),
            workspaces=tuple(settings.workspaces),
            lead_page=settings.links.lead,
            **(replies or {}),
            domains={name: healths for name, healths in readings if healths is not None},
            may_change=standing.may("pause"),
            problem=problems[0] if problems else "",
        )

    async def _replies(self, user: str) -> dict[str, Any]:
        """The replies that have waited longest, the person's own, and the paused domains."""
        counts, paused, waiting = dict[str, int](), dict[tuple[str, str], datetime](), []
        for name in self._contexts.settings.workspaces:
            unclaimed = await self._store.records.open_replies(name, most=UNCLAIMED)
            waiting += [(name, reply) for reply in unclaimed.replies]
            # The list has three of them; the number counts all.
            counts[name] = unclaimed.count
            for row in await self._store.alerts.paused_domains(name):
                if row.domain:
                    paused.setdefault((name, row.domain), row.received)
        waiting = sorted(waiting, key=lambda pair: pair[1].received_at)[:UNCLAIMED]
        claims = [*reversed(await self._store.records.own_replies(user))]
        links = await self._links([reply.alert_id for _, reply in (*waiting, *claims[:CLAIMS])])
        return {"waiting": waiting, "unclaimed": counts, "claims": claims, "paused": paused, "links": links}
