"""`outreach demo`: the whole system on one laptop, with no account."""

from __future__ import annotations

import asyncio
import json
import signal
import sys

from cli.console.interactive import stopping
from cli.console.resources import open_records, open_replies
from cli.demo.setup import DemoFailed, Installation, set_up
from cli.demo.verification import Verifier


async def run_demo(
    *,
    headless: bool,
    seconds: float | None = None,
    seed: int = 7,
    speed: float,
    scenario: str,
) -> int:
    """Run the demo until it is stopped or `seconds` have passed; 1 if an alert was lost or doubled."""
    try:
        with stopping(signal.SIGHUP) as stop:
            async with set_up(seed=seed, speed=speed, scenario=scenario) as installation:
                verifier = Verifier(installation)
                await _show(installation, verifier, stop, headless=headless, seconds=seconds)
                result = await verifier.close()
    except DemoFailed as failure:
        print(f"outreach demo: {failure}", file=sys.stderr)
        return 1
    print("\n".join(result.lines), flush=True)
    return 0 if result.passed else 1


async def _show(
    installation: Installation,
    verifier: Verifier,
    stop: asyncio.Event,
    *,
    headless: bool,
    seconds: float | None,
) -> None:
    if headless:
        print(json.dumps(dict(installation.announcement)), flush=True)
    tasks: set[asyncio.Task[object]] = {
        asyncio.create_task(stop.wait(), name="demo-stop"),
        asyncio.create_task(_watch(verifier, headless=headless), name="demo-verifier"),
    }
    if not headless:
        tasks.add(asyncio.create_task(_dashboard(installation), name="demo-dashboard"))
    try:
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _watch(verifier: Verifier, *, headless: bool) -> None:
    async for line in verifier.watch(try_commands=headless):
        if headless:
            print(line, file=sys.stderr, flush=True)


async def _dashboard(installation: Installation) -> None:
    from shared import settings
    from tui.app.run import run_dashboard

    await run_dashboard(
        lambda: settings.load(environ=installation.environ),
        open_records=open_records,
        open_replies=open_replies,
        environ=installation.environ,
        notice=f"Slack: {installation.announcement['slack_page']}",
    )
