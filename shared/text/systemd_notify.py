"""Tell systemd that a service is ready, alive and stopping: the sd_notify(3) protocol, one datagram per state."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import AsyncIterator, Mapping

logger = logging.getLogger(__name__)


def tell(state: str, *, address: str) -> None:
    """One datagram; if nothing listens, that is only logged."""
    place = "\0" + address[1:] if address.startswith("@") else address
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as way:
            way.sendto(state.encode(), place)
    except OSError as error:
        logger.warning("systemd couldn't be notified of %s: %s", state, error.strerror)


def interval(environ: Mapping[str, str], *, process: int) -> float | None:
    """Seconds between two signs of life, half of what systemd waits; None where it waits for none, or not for us."""
    given, whose = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
    if not given.isascii() or not given.isdigit() or not int(given) or whose not in {"", str(process)}:
        return None
    return int(given) / 1_000_000 / 2


@contextlib.asynccontextmanager
async def systemd_notified(environ: Mapping[str, str] = os.environ) -> AsyncIterator[None]:
    """Tell systemd of the block: that it has begun, that the loop turns, that it ends."""
    address = environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        yield
        return
    tell("READY=1", address=address)
    every = interval(environ, process=os.getpid())
    pulse = asyncio.create_task(_pulse(address, every), name="systemd-watchdog") if every else None
    try:
        yield
    finally:
        if pulse:
            pulse.cancel()
            await asyncio.gather(pulse, return_exceptions=True)
        tell("STOPPING=1", address=address)


async def _pulse(address: str, every: float) -> None:
    while True:
        tell("WATCHDOG=1", address=address)
        await asyncio.sleep(every)
