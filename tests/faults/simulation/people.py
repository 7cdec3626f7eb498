"""People who pause and resume sequences at any time, and what a confirmed pause promises them."""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from bot.commands.context import CommandContexts
from shared.api.errors import OutreachError
from shared.commands import Invocation, parse
from shared.commands.base import Question
from shared.commands.run import run
from shared.records import Actor, AuditEntry, RecordsUnavailable

if TYPE_CHECKING:
    from tests.faults.simulation.world import World

ANN = Actor(name="ann", id="U1", face="slack", channel="C0ALERTS")
IN_FLIGHT = 2.0
"""Seconds that a request of a process that died may still be under way."""
EVERYTHING = "all"


@dataclass(slots=True, eq=False)
class Change:
    """One command, from the moment it was given."""

    line: str
    verb: str
    sequences: tuple[str, ...]
    began: float
    seconds: float
    """How long a timed pause lasts; infinity: no end was given."""
    crossed: set[str] = field(default_factory=set)
    """The sequences that another command changed at the same time."""
    confirmed: list[str] = field(default_factory=list)


class _Records:
    """The records of a bot, and what they learned about one command."""

    def __init__(self, records: Any, change: Change) -> None:
        self._records, self._change = records, change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._records, name)

    async def record(self, entry: AuditEntry) -> int:
        if entry.effect == "paused":
            self._change.confirmed += entry.sequences
        number: int = await self._records.record(entry)
        return number


class People:
    """Gives commands at random; `promised` is how long each sequence must stay paused."""

    def __init__(self, world: World) -> None:
        self._world, self._dice = world, world.dice
        self._names = tuple(one["id"] for one in world.service.sequences)
        self._timed_only = self._dice.random() < 0.5
        self._running: defaultdict[str, list[Change]] = defaultdict(list)
        self.promised: dict[str, float] = {}
        """Sequence to the end of its pause, in seconds of the run."""
        self.last_end = 0.0
        """When the last timed pause ends."""
        self.endless = bool(world.plan.guardrail)
        """Whether a pause without an end may have been given."""
        self.confirmed = 0

    async def live(self) -> None:
        while self._world.has_faults():
            await asyncio.sleep(self._dice.expovariate(self._world.plan.commands))
            machine = self._dice.choice(self._world.machines)
            if machine.contexts is None or machine.process is None:
                continue
            change = self._next()
            self._begin(change)
            process = machine.process
            process.on_death.append(partial(self._world.loop.later, IN_FLIGHT, self._end, change))
            self._world.loop.spawn(
                process, self._give(change, machine.contexts, process.on_death), name="command"
            )

    def _next(self) -> Change:
        name = self._dice.choice(self._names)
        seconds = self._dice.choice([1.0, 3.0, 6.0])
        verb = self._dice.choices(["pause", "resume"], [5, 1])[0]
        target = EVERYTHING if self._dice.random() < 0.2 else name
        timed = verb == "pause" and (self._timed_only or self._dice.random() < 0.6)
        line = f"{verb} {target}" + (f" for {seconds:g}s" if timed else "")
        names = self._names if target == EVERYTHING else (name,)
        self.endless = self.endless or (verb == "pause" and not timed)
        return Change(line, verb, names, self._world.now, seconds if timed else math.inf)

    def _begin(self, change: Change) -> None:
        self._world.log(f"person: {change.line}")
        for name in change.sequences:
            self.promised.pop(name, None)
            for other in self._running[name]:
                other.crossed.add(name)
                change.crossed.add(name)
            self._running[name].append(change)

    async def _give(
        self, change: Change, contexts: CommandContexts, on_death: list[Callable[[], None]]
    ) -> None:
        context = contexts.at("default", ANN)
        context = replace(context, records=cast("Any", _Records(context.records, change)))
        try:
            done = await run(parse(change.line), context)
            if isinstance(done, Question):
                await run(Invocation(arguments=done.choices[0].act, line=done.line), context)
        except (OutreachError, RecordsUnavailable) as error:
            self._world.log(f"person: {change.line}: {type(error).__name__}")
            change.confirmed.clear()
        self._end(change)

    def _end(self, change: Change) -> None:
        if not any(change in self._running[name] for name in change.sequences):
            return
        for name in change.sequences:
            self._running[name].remove(change)
        if change.verb == "pause":
            self.last_end = max(
                self.last_end, 0.0 if math.isinf(change.seconds) else self._world.now + change.seconds
            )
        for name in change.confirmed:
            self.confirmed += 1
            self._world.log(f"person: {change.line}: {name} is confirmed")
            if name not in change.crossed:
                self.promised[name] = change.began + change.seconds
                is_over = self._world.now >= self.promised[name]  # before the last sequence was paused
                if self._world.service.sequence(name)["status"] != "paused" and not is_over:
                    self._world.violated(f"{name} isn't paused when “{change.line}” is confirmed")

    def resumed(self, name: str) -> None:
        """The service was told to resume a sequence."""
        until = self.promised.get(name, 0.0)
        if self._world.now < until:
            self._world.violated(f"{name} is resumed, and its pause was confirmed until {until:.1f}")

    def check_end(self) -> None:
        """After the last timer: what was only ever paused for a time is active."""
        if self.endless:
            return
        paused = [one["id"] for one in self._world.service.sequences if one["status"] == "paused"]
        if paused:
            self._world.violated(f"{', '.join(paused)} stay paused after the last timer")
