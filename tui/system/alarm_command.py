"""Runs the operator's program when an alarm starts, with the alarm in its environment and without a shell."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shlex
import signal
from collections.abc import AsyncIterator, Iterable

from shared.text.sanitize import visible

logger = logging.getLogger(__name__)

TIMEOUT = 10.0
"""Seconds that the program may take."""
MOST = 20
"""Alarms that may wait for their turn; more are in the banner and the log only."""


class AlarmCommand:
    """Runs the program once for each alarm, one after the other, for the length of `open`.

    The alarm is in OUTREACH_ALARM; the text comes from outside and is an argument of nothing.
    """

    def __init__(self, command: str, *, timeout: float = TIMEOUT) -> None:
        self._words = _words(command)
        self._timeout = timeout
        self._waiting: asyncio.Queue[str] = asyncio.Queue(MOST)

    def call(self, alarms: Iterable[str]) -> None:
        """Queue these alarms for the alarm command, if there is one."""
        for alarm in alarms if self._words else ():
            try:
                self._waiting.put_nowait(visible(alarm))
            except asyncio.QueueFull:
                logger.warning(
                    "too many alarms are waiting, so the alarm command wasn't run for: %s", visible(alarm)
                )

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._run(), name="dashboard-alarm-command")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            alarm = await self._waiting.get()
            try:
                await self._once(alarm)
            except OSError as error:
                logger.warning("the alarm command %s can't be run: %s", self._words[0], error.strerror)

    async def _once(self, alarm: str) -> None:
        quiet = asyncio.subprocess.DEVNULL
        own = ("OUTREACH_", "SLACK_")  # secrets among them
        process = await asyncio.create_subprocess_exec(
            *self._words,
            stdin=quiet, stdout=quiet, stderr=quiet,
            env={key: value for key, value in os.environ.items() if not key.startswith(own)} | {"OUTREACH_ALARM": alarm},
            start_new_session=True,
        )  # fmt: skip
        try:
            async with asyncio.timeout(self._timeout):
                code = await process.wait()
            if code:
                logger.warning("the alarm command ended with %d", code)
        except TimeoutError:
            logger.warning("the alarm command took longer than %g s and was ended", self._timeout)
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        logger.warning("the alarm command can't be read: %s", error)
        return []
