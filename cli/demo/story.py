"""The demo's story: scripted people type and click, and mail bounces, while a sentence for each says what to look at.

The bot knows nothing of it: everything goes through the Slack stand-in, as a person's act, and through the service.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import aiohttp

from cli.demo.setup import ACCOUNT, Installation
from sandbox.slack import seed as people
from sandbox.slack.model import User

SCENARIO = "calm-week"
"""The only scenario with a story: in the others the account itself has enough to tell."""
DOMAIN, SEQUENCE = "useacme.example", "Fintech ops leaders"
GUARDRAIL = f'pause sequence "{SEQUENCE}" for 2h when bounces > 5 in 1h as bad-list'

CALM_SECONDS = 45.0
READING_SECONDS = 10.0
"""The time to read a sentence before the next thing happens."""
ENOUGH_BOUNCES = 8
"""More than the guardrail allows."""
BOUNCES_AT_ONCE, BOUNCES_EVERY, MOST_ROUNDS = 2, 4.0, 20
PATIENCE_SECONDS = 45.0
"""A person waits so long for a card: guardrails look at the account every 30 seconds."""
LOOK_EVERY = 0.5

Tell = Callable[[str], None]
Card = Mapping[str, Any]


class Missing(Exception):
    """A card or a button that the story waited for didn't come."""


class Story:
    """`play` it once; `tell` is called with each sentence."""

    def __init__(self, installation: Installation, tell: Tell) -> None:
        self._installation = installation
        self._tell = tell
        self._page = installation.announcement["slack_page"]
        self._channel = installation.announcement["slack_alert_channel"]

    async def play(self) -> None:
        """Play it to the end. Where something didn't come it says so, and the demo goes on without the story."""
        try:
            await self._calm_minute()
            await self._domain_sinks()
            await self._reply_is_claimed()
            await self._guardrail_pauses()
        except Missing as missing:
            self._tell(f"The story stops here: {missing} didn't come. The demo goes on.")
        except (aiohttp.ClientError, TimeoutError) as error:
            self._tell(f"The story stops here: {type(error).__name__}. The demo goes on.")

    async def _calm_minute(self) -> None:
        self._tell(
            f"A calm minute: Acme's inboxes send, and the dashboard's verdict says so. Open {self._page} beside it, "
            "and type /outreach status there."
        )
        await asyncio.sleep(READING_SECONDS)
        question = await self._type(people.DEV, f"/outreach guardrails add {GUARDRAIL}")
        await self._press(people.DEV, question, "Turn on")
        self._tell(
            f"Dev added a guardrail: {SEQUENCE} will be paused when its mail bounces. "
            "Type /outreach guardrails to see all rules."
        )
        await asyncio.sleep(CALM_SECONDS)

    async def _domain_sinks(self) -> None:
        self._tell(
            f"A bought list goes out from {DOMAIN}, and its mail bounces. The domain climbs to the top of the "
            "dashboard: press enter on it to see why."
        )
        for _ in range(MOST_ROUNDS):
            await self._bounce(BOUNCES_AT_ONCE, domain=DOMAIN)
            await asyncio.sleep(BOUNCES_EVERY)
            state = await self._installation.service("/state")
            if {"name": DOMAIN, "state": "paused"} in state["domains"]:
                break
        self._tell(
            f"The service paused {DOMAIN}. Its card in #outreach-alerts says why, and what to do next: "
            "press Acknowledge on it."
        )
        await asyncio.sleep(READING_SECONDS)

    async def _reply_is_claimed(self) -> None:
        before = await self._messages()
        await self._cause("reply.interested", count=1)
        card = await self._card_with("Claim", not_in=before)
        self._tell(
            "A lead is interested, and nobody has claimed the reply. Press 3 on the dashboard to see who waits; "
            "Cleo is about to press Claim on the card."
        )
        await asyncio.sleep(READING_SECONDS)
        await self._press(people.CLEO, card, "Claim")
        self._tell(
            "Cleo claimed it: the card's title says so to everybody, and no reminder follows. "
            "Claim another one, then type /outreach replies mine."
        )
        await asyncio.sleep(READING_SECONDS)

    async def _guardrail_pauses(self) -> None:
        before = await self._messages()
        self._tell(
            f"The bought list went out in {SEQUENCE} as well. The guardrail looks every 30 seconds: "
            "watch #outreach-alerts, and press 2 on the dashboard."
        )
        await self._bounce(ENOUGH_BOUNCES, sequence=self._installation.sequences[SEQUENCE])
        card = await self._card_with("Undo", not_in=before)
        self._tell(
            f"The guardrail paused {SEQUENCE}. Its card says until when, and has an Undo; Dev will press it."
        )
        await asyncio.sleep(READING_SECONDS)
        await self._press(people.DEV, card, "Undo")
        self._tell(
            f"Dev pressed Undo: {SEQUENCE} sends again, and the rule rests for a day. /outreach audit lists who did "
            "what. From here on the account is yours: pause, claim, break something."
        )

    async def _type(self, person: User, text: str) -> Card:
        """Type a command in the alert channel; the answer, which is for this person alone."""
        before = await self._messages()
        await self._installation.slack("command", self._act_of(person, text=text))

        def answers(card: Card) -> bool:
            return card["seen_by"] == person.id and card["ts"] not in before

        return await self._wait_for(answers, f"the answer to {text}")

    async def _press(self, person: User, card: Card, label: str) -> None:
        """Press the button with this label, which may be behind ⋯."""
        # As it is now: a card is edited while people read it.
        card = (await self._messages()).get(card["ts"], card)
        act = _offered(card).get(label)
        if act is None:
            raise Missing(f"a button {label}")
        await self._installation.slack("click", self._act_of(person, ts=card["ts"], wait=10, **act))

    def _act_of(self, person: User, **what: Any) -> dict[str, Any]:
        return {"user": person.name, "channel": self._channel, **what}

    async def _messages(self) -> dict[str, Card]:
        """The messages of the alert channel, by ts."""
        answer = await self._installation.slack(f"messages?channel={self._channel}")
        return {message["ts"]: message for message in answer["messages"]}

    async def _card_with(self, label: str, *, not_in: Mapping[str, Card]) -> Card:
        """Wait for a card that has a button which it hadn't in the messages before."""

        def is_new(card: Card) -> bool:
            is_offered = label in _offered(card) and label not in _offered(not_in.get(card["ts"], {}))
            return is_offered and not card["ephemeral"]

        return await self._wait_for(is_new, f"a card with {label}")

    async def _wait_for(self, is_meant: Callable[[Card], bool], what: str) -> Card:
        for _ in range(round(PATIENCE_SECONDS / LOOK_EVERY)):
            for card in reversed((await self._messages()).values()):
                if is_meant(card):
                    return card
            await asyncio.sleep(LOOK_EVERY)
        raise Missing(what)

    async def _bounce(self, count: int, **where: str) -> None:
        await self._cause("lead.bounced", count=count, **where)

    async def _cause(self, kind: str, **what: Any) -> None:
        await self._installation.service("/events", {"workspace": ACCOUNT, "kind": kind, **what})


def _offered(message: Card) -> dict[str, dict[str, str]]:
    """The labels that can be chosen in a message, each with what a click on it names."""
    offered = {}
    for block in message.get("blocks", ()):
        for element in [*block.get("elements", ()), block.get("accessory") or {}]:
            name = {"action_id": element.get("action_id", ""), "block_id": block.get("block_id", "")}
            if element.get("type") == "button":
                offered[element["text"]["text"]] = name
            for option in element.get("options", ()) if element.get("type") == "overflow" else ():
                offered[option["text"]["text"]] = {**name, "value": option["value"]}
    return offered
