"""The network between the processes and those outside: it delays, cuts and loses, as the weather is."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tests.faults.simulation.loop import PROCESS, SimulatedLoop

TRAVEL = (0.005, 0.035)
"""Seconds of one way. Its jitter is below what the request budget allows for (45 ms)."""
LATE = 3.5
"""Seconds at most by which a request that was given up still arrives: less than the worker's doubt."""


SLOWEST = 12.0
"""Seconds that an answer is on its way at most: longer than any caller waits."""


class Fault(StrEnum):
    """What may happen to a request."""

    NONE = "none"
    REFUSED = "refused"
    """No connection: nothing was sent."""
    DROPPED = "dropped"
    """Sent, and never arrives; the connection is reset."""
    LOST = "lost"
    """Carried out, and the connection is reset before the answer."""
    SLOW = "slow"
    """Carried out at once, answered late, or too late."""
    LATE = "late"
    """Carried out late, perhaps after its caller gave up."""
    LIMITED = "limited"
    BROKEN = "broken"
    """500, and nothing was done."""
    BROKEN_AFTER = "broken after"
    """500, and it was done."""
    GARBAGE = "garbage"
    """Carried out; the answer is a page of HTML."""


NORMAL_WEATHER: Mapping[Fault, float] = {Fault.NONE: 1.0}
BAD_WEATHER: Mapping[Fault, float] = {
    Fault.NONE: 6.0,
    **dict.fromkeys([f for f in Fault if f != Fault.NONE], 0.6),
}


@dataclass(slots=True)
class Reply:
    """An answer on its way back."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


class Reset(Exception):
    """The connection was cut after the request was sent."""


class NoConnection(Exception):
    """No connection could be opened."""


class Log:
    """What happened, in order: the same for the same seed."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop, self._start = loop, loop.time()
        self.lines: list[str] = []

    def __call__(self, what: str) -> None:
        process = PROCESS.get()
        who = process.name if process else "world"
        self.lines.append(f"{self._loop.time() - self._start:10.4f} {who:8} {what}")


class Network:
    """Carries requests. What has arrived is carried out, whether or not anybody still waits for the answer."""

    def __init__(self, loop: SimulatedLoop, dice: random.Random) -> None:
        self._loop, self._dice = loop, dice
        self.weather: dict[str, Mapping[Fault, float]] = {}
        """By place: how often each fault happens there."""

    def fault(self, place: str) -> Fault:
        weather = self.weather.get(place, NORMAL_WEATHER)
        return self._dice.choices([*weather], [*weather.values()])[0]

    def travel(self) -> float:
        return self._dice.uniform(*TRAVEL)

    async def carry(self, act: Callable[[Fault], Reply], fault: Fault, *, late: float = LATE) -> Reply:
        """Raises `Reset` or `NoConnection`."""
        answer: asyncio.Future[Reply] = self._loop.create_future()
        away = self.travel()
        if fault is Fault.REFUSED:
            await asyncio.sleep(away)
            raise NoConnection
        if fault is Fault.LATE:
            away += self._dice.uniform(0.1, 1.0) * late
        if fault is Fault.DROPPED:
            self._loop.later(away + self._dice.uniform(0.0, 3.0), _fail, answer)
        else:
            self._loop.later(away, self._arrive, act, fault, answer)
        return await answer

    def _arrive(self, act: Callable[[Fault], Reply], fault: Fault, answer: asyncio.Future[Reply]) -> None:
        reply = act(fault)
        back = self.travel() + (self._dice.uniform(0.5, SLOWEST) if fault is Fault.SLOW else 0.0)
        if fault is Fault.LOST:
            self._loop.later(back, _fail, answer)
        else:
            self._loop.later(back, _answer, answer, reply)


def _fail(answer: asyncio.Future[Reply]) -> None:
    if not answer.done():
        answer.set_exception(Reset())


def _answer(answer: asyncio.Future[Reply], reply: Reply) -> None:
    if not answer.done():
        answer.set_result(reply)
