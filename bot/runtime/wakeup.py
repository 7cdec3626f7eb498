"""Wakes loops before their pause is over."""

from __future__ import annotations

import asyncio


class Wakeup:
    """A loop waits for it, with a timeout; code that has work for the loop sets it."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.set = self._event.set

    async def wait(self, seconds: float) -> bool:
        """Wait until it is set, or that many seconds; False where it wasn't set."""
        try:
            # wait_for would swallow a cancellation that follows a wake-up.
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return False
        self._event.clear()
        return True


class DeliverySignals:
    """Tells those who do what is due that something may be; made before everything else."""

    def __init__(self) -> None:
        self.deliveries, self.jobs, self.account = Wakeup(), Wakeup(), Wakeup()
        self.changed = self.jobs.set
        """Something was put that may be due."""
        self.account_changed = self.account.set
        """Open cards may show an old state: a person changed the account, or a domain has trouble."""
        self.unrouted = True
        """Deliveries may wait for routing."""

    def stored(self) -> None:
        """Deliveries were stored."""
        self.unrouted = True
        self.deliveries.set()
