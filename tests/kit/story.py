"""A story in lines: what people type and click, what is delivered and how time passes; told back with all that people see.

< reply.interested Ada      the service delivers an event about Ada; `{"step": 3}` behind it changes fields
+ 3m                        time passes
! PATCH /sequences/{id} 500 the service answers so from now on, until `! ok`
! GET /stats [{"sends": 3}] it answers this list
* domain.paused             it happens at the service, which tells the bot nothing
claim Ada                   Ann types `/outreach claim Ada`
@ben claim Ada              so does Ben
[Take over]                 a click on the newest message that has this label
@ben [Claim] Ada            Ben clicks in the newest message that also shows Ada
submit {"Reason": "Price"}  the open form is sent with these values, by their labels
home                        Ann opens Home
$ replies                   someone types `outreach replies` in a shell
"""

from __future__ import annotations

import asyncio
import json
import re
from functools import partial
from typing import Any

from tests.kit.build import interested, paused_domain
from tests.kit.drawn import drawn, drawn_run, drawn_view
from tests.kit.service import Account
from tests.kit.shell import Shell
from tests.kit.team import ALERTS, Message, Team, click_target

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Story:
    """Tells a story to a team, and says after each line what is new or changed on the screen of everybody there."""

    def __init__(self, team: Team, shell: Shell) -> None:
        self._team, self._shell = team, shell
        shell.use({**team.environ, "COLUMNS": "120"})
        self._known: dict[str, str] = {}
        self._drawn: dict[str, str] = {}

    async def tell(self, line: str) -> str:
        """Act out a line; what is new or changed after it, drawn."""
        is_blind = line.startswith("~ ")
        user, words, answer = "ann", line.removeprefix("~ "), list[str]()
        if words.startswith("@"):
            user, _, words = words[1:].partition(" ")
        if words.startswith("< "):
            _, kind, name = words.split(" ", 2)
            name, _, more = name.partition(" {")
            fields = json.loads(f"{{{more}") if more else {}
            build = paused_domain if kind == "domain.paused" else partial(interested, event=kind)
            body = build(name, **fields)
            assert await self._team.deliver(body) == 200
        elif words.startswith("+ "):
            await self._team.pass_time(seconds=int(words[2:-1]) * SECONDS[words[-1]])
        elif words.startswith("* "):
            await self._team.account.control("POST", "events", workspace="acme", kind=words[2:], count=1)
        elif words.startswith("! "):
            set_answer(self._team.account, words)
        elif words.startswith("submit "):
            values = _by_label(await self._team.open_view(user), json.loads(words[7:]))
            done = await self._team.act("submit_view", user=user, values=values, wait=5)
            answer = [json.dumps(done["errors"])] if done.get("errors") else []
        elif words.startswith("look "):
            answer = [drawn(await self._team.card(words[5:]))]
        elif words == "home":
            answer = [drawn_view((await self._team.home(user)).data)]
        elif clicked := re.fullmatch(r"\[(.+)\] ?(.*)", words):
            message = await self._with(clicked[1], clicked[2])
            place = {"channel": message.channel, "ts": message.ts, "user": user, "wait": 5}
            target = click_target(message, clicked[1], near=clicked[2])
            await self._team.act("click", **place, **target)
        else:
            answer = await self._typed(words, user)
        changed = await self._settled()
        return "" if is_blind else "\n".join([*answer, *changed])

    async def _typed(self, words: str, user: str) -> list[str]:
        """Type a line in Slack or, behind a dollar sign, in a shell, which alone has its answer."""
        if words.startswith("$ "):
            return [drawn_run(await self._shell.type(*words[2:].split()))]
        await self._team.ask(words, user=user)
        return []

    async def _with(self, label: str, words: str) -> Message:
        async def there() -> Message | None:
            seen = await self._seen()
            return next((one for one in reversed(seen) if label in one.buttons and words in one.shown), None)

        message: Message = await self._team.until(there, f"a message with [{label}] {words}")
        return message

    async def _seen(self) -> list[Message]:
        return [*await self._team.messages("dm"), *await self._team.messages(ALERTS)]

    async def _settled(self) -> list[str]:
        """What changed, once the bot has nothing left to do and two looks show the same."""
        seen, before = list[Message](), ""
        while True:
            await self._team.pass_time()
            await self._team.settled()
            # A repaint or a post that is put off for a moment is due soon, not now.
            await self._team.until(partial(self._team.is_at_rest, ahead=2), "a bot with nothing left to do")
            seen, view = await self._seen(), await self._team.open_view()
            if (now := json.dumps([view, *(one.data for one in seen)])) == before:
                break
            before = now
            # What follows an answer, such as a card's next state, has no event of its own.
            await asyncio.sleep(0.05)
        # Those of threads last: whether a note in one is posted before the message to the channel is left to chance.
        seen.sort(key=lambda one: one.data.get("thread_ts", one.ts) != one.ts)
        shown = {one.ts: self._draw(one) for one in seen}
        if view:
            shown["form"] = drawn_view(view)
        changed = [text for ts, text in shown.items() if self._known.get(ts) != text]
        changed += [f"(gone) {text}" for ts, text in self._known.items() if ts not in shown]
        self._known = shown
        return changed

    def _draw(self, message: Message) -> str:
        """Draw a message, which takes long: each of its states once."""
        state = json.dumps(message.data)
        if state not in self._drawn:
            self._drawn[state] = drawn(message)
        return self._drawn[state]


def set_answer(account: Account, line: str) -> None:
    """Have the service answer as a line that begins with `! ` says."""
    endpoint, _, rows = line.removeprefix("! ").partition(" [")
    if rows:
        account.answer(endpoint, {"data": json.loads(f"[{rows}")})
        return
    endpoint, _, status = endpoint.rpartition(" ")
    if endpoint:
        account.answer(endpoint, {}, status=int(status))
    else:
        account.forget_answers()


def _by_label(view: Any, values: dict[str, str]) -> dict[str, str]:
    """The values of a form's inputs by their ids: each input by its label, a choice by its text."""
    found = {}
    for block in view["blocks"]:
        if block["type"] == "input" and (label := block["label"]["text"]) in values:
            element = block["element"]
            options = {one["text"]["text"]: one["value"] for one in element.get("options", ())}
            found[element["action_id"]] = options.get(values[label], values[label])
    assert len(found) == len(values), f"of {values} the form has {found}"
    return found
