"""The Home tab: what it is for, the person's replies, three unclaimed ones, and what needs attention.

With several workspaces it shows all of them. Slack allows 100 blocks: each section shows the most urgent entries and
the number of others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

import structlog

from bot import blockkit
from bot.blockkit import OpenForm, ShowSample
from bot.cards import CardSettings
from bot.commands.context import WorkspaceCache
from bot.commands.dispatch import list_item
from bot.core import Core
from bot.slack.permissions import Reach, Standing
from bot.slack.web_api import SlackError
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
from shared.records import RecordsUnavailable
from shared.store.store import UnclaimedReplies
from shared.text.formats import show_number, show_span

BLOCKS = 100
UNCLAIMED, CLAIMS, DOMAINS, WORKSPACES = 3, 6, 5, 20
PURPOSE = (
    "Outreach tells this Slack workspace when a lead is interested, or a sending domain is in trouble, "
    "so that someone claims and answers within minutes."
)
LOADING = Card("Outreach", footer="Loading …")
"""Shown until everything is read for the first time, because an empty tab looks broken."""
_OUTSIDE = (
    "People from other organizations can't use this tab. Ask an admin of this Slack workspace for access."
)
_UNKNOWN_PERSON = "Slack didn't say who you are. Open this tab again in a minute."

log = structlog.get_logger("visits")
T = TypeVar("T")
View = dict[str, Any]


@frozen
class Place:
    """A workspace, named where there are several; None is unknown."""

    name: str
    unclaimed: UnclaimedReplies | None = None
    paused: Mapping[str, datetime]
    """The domains that the service paused, each with the moment since which it is."""
    domains: Sequence[DomainHealth] | None = None

    @property
    def troubled(self) -> list[DomainHealth]:
        """The domains that aren't paused, but have trouble."""
        bad = [domain for domain in self.domains or () if domain.tone in {Tone.BAD, Tone.WARN}]
        return [domain for domain in bad if domain.domain not in self.paused]


@frozen
class HomeState:
    """Everything that Home shows."""

    now: datetime
    places: Sequence[Place]
    waiting: Sequence[Alert]
    """The replies that have waited longest."""
    claims: Sequence[Alert]
    cards: CardSettings
    may_change: bool = True
    problem: str = ""


def view(state: HomeState) -> View:
    """The whole tab: its head, and each section with its items."""
    draw = partial(list_item, now=state.now, cards=state.cards, may_change=state.may_change)
    count = sum(place.unclaimed.count for place in state.places if place.unclaimed)
    stands = show_number(count, "unclaimed reply") if count else "No unclaimed replies"
    if any(place.unclaimed is None for place in state.places):
        stands = "The database isn't available, so replies can't be shown."
    mine = len(state.claims)
    blocks = [
        *_section(f"Yours · {mine}", map(draw, state.claims[:CLAIMS]), mine, "replies mine"),
        *_section(f"Unclaimed · {count}", map(draw, state.waiting), count, "replies"),
        *_section("Needs attention", *_attention(state), "domains"),
    ]
    if len(state.places) > 1:
        lines = sorted(map(_line, state.places), key=lambda fact: WORST_FIRST.index(fact.tone))
        card = Card(f"Outreach workspaces · {len(lines)}", facts=tuple(lines[:WORKSPACES]))
        blocks += [{"type": "divider"}, *blockkit.render(card).blocks]
    return _tab(_head(state, stands), *blocks)


def _tab(card: Card, *blocks: dict[str, Any]) -> View:
    drawn = [*blockkit.render(card).blocks, *blocks]
    return {"type": "home", "callback_id": "home", "blocks": drawn[:BLOCKS]}


def _head(state: HomeState, stands: str) -> Card:
    """Explain what this is, and how things stand, with the time at which that was so."""
    actions: dict[str, Action] = {"Status": Status()}
    if state.may_change:
        actions["Pause …"] = OpenForm(verb="pause")
    actions |= {"Show a sample card": ShowSample(), "Help": Help()}
    at = Fact("As of", f"{state.now:%H:%M} UTC", at=state.now, brief=True)
    text = (PURPOSE, stands, *([f"⚠ {state.problem}"] if state.problem else ()))
    buttons = tuple(Button(label, action) for label, action in actions.items())
    return Card("Outreach", text=text, buttons=buttons, details=(at,))


def _section(title: str, items: Iterable[Card], count: int, command: str) -> list[dict[str, Any]]:
    """The most urgent items, and the command that lists all `count` of them."""
    shown = list(items)
    if not shown:
        return []
    left = count - len(shown)
    below = blockkit.context(f"and {left} more: /outreach {command}" if left > 0 else "")
    return [{"type": "divider"}, *blockkit.render(Card(title), shown).blocks, *below]


def _attention(state: HomeState) -> tuple[list[Card], int]:
    """The domains that were paused first and the worst of the others, and the number of all in trouble."""
    paused, troubled = [], []
    for place in state.places:
        for name, since in place.paused.items():
            buttons = [Button("Show domain", Domain(name=name), workspace=place.name)]
            if state.may_change:
                pause = Pause(target=(f"{DOMAIN}{name}",))
                buttons.append(Button("Pause sequences …", pause, workspace=place.name))
            text = f"paused {show_span(state.now - since)} ago"
            card = Card(name, tone=Tone.BAD, facts=_facts(place.name, text), buttons=buttons)
            paused.append((since, card))
        for domain in place.troubled:
            show = Button("Show domain", Domain(name=domain.domain), workspace=place.name)
            facts = _facts(place.name, "; ".join(domain.reasons))
            troubled.append(Card(domain.domain, tone=domain.tone, facts=facts, buttons=(show,)))
    paused.sort(key=lambda entry: entry[0])
    troubled.sort(key=lambda card: WORST_FIRST.index(card.tone))
    first = [card for _, card in paused[:DOMAINS]]
    return [*first, *troubled[:1]], len(paused) + len(troubled)


def _facts(*values: str) -> list[Fact]:
    return [Fact("", value) for value in values if value]


def _line(place: Place) -> Fact:
    """How a workspace stands, in a line."""
    counts = {
        "unclaimed reply": place.unclaimed.count if place.unclaimed else 0,
        "paused domain": len(place.paused),
        "troubled domain": len(place.troubled),
    }
    words = [show_number(count, noun) for noun, count in counts.items() if count]
    tone = Tone.UNKNOWN if place.domains is None else worst(domain.tone for domain in place.domains)
    fine = "domains unknown" if place.domains is None else "nothing to do"
    return Fact(place.name, " · ".join(words) or fine, tone=Tone.BAD if place.paused else tone)


class HomeTab:
    """`show` the current Home tab to a person."""

    def __init__(self, core: Core, *, cache: WorkspaceCache) -> None:
        self._core, self._settings, self._cache = core, core.settings, cache
        self.visitors = set[str]()
        """Who has seen it since the bot started."""

    async def show(self, user: str) -> None:
        """Publish it as it is now."""
        if user not in self.visitors:
            await self._publish(user, _tab(LOADING))
            self.visitors.add(user)
        person = await self._core.directory.find(user)
        standing = Standing(person=person, rules=self._settings.roles)
        if standing.reach is Reach.EVERYTHING:
            await self._publish(user, view(await self._read_state(standing)))
        else:
            why = _OUTSIDE if person.is_known else _UNKNOWN_PERSON
            await self._publish(user, _tab(Card("Outreach", text=(why,))))

    async def _publish(self, user: str, tab: View) -> None:
        try:
            await self._core.slack.call("views.publish", user_id=user, view=tab)
        except SlackError as error:
            log.warning("home not shown", error=str(error)[:200])

    async def _read_state(self, standing: Standing) -> HomeState:
        """Read everything at once; what can't be read is unknown, and the first reason for it is shown."""
        problems = list[str]()
        workspaces, store = self._settings.workspaces, self._core.store

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

        async def read(name: str) -> Place:
            place = workspaces[name]
            unclaimed, paused, inboxes = await asyncio.gather(
                attempt(store.open_replies(name, most=UNCLAIMED)),
                attempt(store.alerts.paused_domains(name)),
                attempt(self._cache.read("list_inboxes", name)),
            )
            return Place(
                name=name if len(workspaces) > 1 else "",
                unclaimed=unclaimed,
                paused={row.domain: row.received for row in reversed(paused or ()) if row.domain},
                domains=None if inboxes is None else roll_up(inboxes, thresholds=place.thresholds),
            )

        places = await asyncio.gather(*map(read, workspaces))
        waiting = [reply for place in places if place.unclaimed for reply in place.unclaimed.replies]
        return HomeState(
            now=datetime.now(UTC),
            places=places,
            waiting=sorted(waiting, key=lambda reply: reply.received_at)[:UNCLAIMED],
            claims=await attempt(store.own_replies(standing.person.id)) or (),
            cards=self._core.contexts.cards,
            may_change=standing.may("pause"),
            problem=problems[0] if problems else "",
        )
