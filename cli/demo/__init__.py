"""`outreach demo`: the whole system on one laptop, with no account (contract, section 1)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import Iterator

from cli.demo import verification
from cli.demo.setup import DemoFailed, Stage, set_up
from cli.demo.summary import lines

SPEED = 60.0
"""A day of the account in 24 minutes."""


async def run_demo(
    *,
    headless: bool,
    seconds: float | None = None,
    seed: int = 7,
    speed: float = SPEED,
    scenario: str = "calm-week",
) -> int:
    """Run the demo until it is stopped or `seconds` have passed; 1 if an alert was lost or doubled."""
    try:
        with _stopping() as stop:
            async with set_up(seed=seed, speed=speed, scenario=scenario) as stage:
                seen = verification.Witness(stage)
                await _show(stage, seen, stop, headless=headless, seconds=seconds)
                summary = await seen.close()
    except DemoFailed as failure:
        print(f"outreach demo: {failure}", file=sys.stderr)
        return 1
    print("\n".join(lines(summary)), flush=True)
    return 0 if summary.kept_its_promise else 1


async def _show(
    stage: Stage, seen: verification.Witness, stop: asyncio.Event, *, headless: bool, seconds: float | None
) -> None:
    """Until the dashboard is left, somebody says stop, or the time is over."""
    ending: list[asyncio.Task[object]] = [asyncio.create_task(stop.wait(), name="demo-stop")]
    if headless:
        print(json.dumps(dict(stage.announcement)), flush=True)
    else:
        ending.append(asyncio.create_task(_dashboard(stage), name="demo-dashboard"))
    watching = asyncio.create_task(_watch(seen, aloud=headless), name="demo-witness")
    try:
        done, _ = await asyncio.wait(
            {*ending, watching}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
        )
        for task in done:
            task.result()
    finally:
        for task in (*ending, watching):
            task.cancel()
        await asyncio.gather(*ending, watching, return_exceptions=True)


async def _watch(seen: verification.Witness, *, aloud: bool) -> None:
    async for line in verification.watch(seen, try_commands=aloud):
        if aloud:
            print(line, file=sys.stderr, flush=True)


async def _dashboard(stage: Stage) -> None:
    from bot.store import open_ledger
    from shared import settings
    from tui.app.run import run_dashboard

    await run_dashboard(
        lambda: settings.load(environ=stage.environ),
        open_records=lambda loaded: open_ledger(loaded.database),
        environ=stage.environ,
        notice=f"Slack: {stage.announcement['slack_page']}",
    )


@contextlib.contextmanager
def _stopping() -> Iterator[asyncio.Event]:
    """An event that Ctrl-C and a polite kill set."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in numbers:
        loop.add_signal_handler(number, stop.set)
    try:
        yield stop
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
