"""`outreach demo`: the whole system on one laptop, with no account."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from collections.abc import AsyncIterator, Coroutine
from typing import Any

from cli.console.interactive import stopping
from cli.console.resources import open_records, open_replies
from cli.demo.setup import DemoFailed, Installation, set_up
from cli.demo.story import SCENARIO, Story
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
    show = _log if headless else _show
    try:
        with stopping(signal.SIGHUP) as stop:
            async with set_up(seed=seed, speed=speed, scenario=scenario) as installation:
                verifier = Verifier(installation)
                running = show(installation, verifier, has_story=scenario == SCENARIO)
                await _until(stop, running, seconds=seconds)
                result = await verifier.close()
    except DemoFailed as failure:
        print(f"outreach demo: {failure}", file=sys.stderr)
        return 1
    print("\n".join(result.lines), flush=True)
    return 0 if result.passed else 1


async def _until(stop: asyncio.Event, running: Coroutine[Any, Any, None], *, seconds: float | None) -> None:
    """Run it until it ends, someone stops the demo, or so many seconds have passed."""
    tasks: set[asyncio.Task[Any]] = {
        asyncio.create_task(stop.wait(), name="demo-stop"),
        asyncio.create_task(running, name="demo-running"),
    }
    try:
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _log(installation: Installation, verifier: Verifier, *, has_story: bool) -> None:
    """Log what happens on stderr: the story's sentences, and each message in the alert channel."""
    began = time.monotonic()

    def tell(line: str) -> None:
        print(f"{time.monotonic() - began:6.1f} s  {line}", file=sys.stderr, flush=True)

    print(json.dumps(dict(installation.announcement)), flush=True)
    await verifier.warm_up()
    async with asyncio.TaskGroup() as tasks:
        if has_story:
            tasks.create_task(Story(installation, tell).play(), name="demo-story")
        async for text in verifier.watch(try_commands=True):
            tell(f"In Slack: {text}")


async def _show(installation: Installation, verifier: Verifier, *, has_story: bool) -> None:
    """Show the dashboard until it is closed; the story's sentences come up on it."""
    from shared import settings
    from tui.app.run import run_dashboard

    sentences = asyncio.Queue[str]()
    story = Story(installation, sentences.put_nowait)
    background = [asyncio.create_task(_each(verifier), name="demo-verifier")]
    if has_story:
        background.append(asyncio.create_task(story.play(), name="demo-story"))
    try:
        await run_dashboard(
            lambda: settings.load(environ=installation.environ),
            open_records=open_records,
            open_replies=open_replies,
            environ=installation.environ,
            notice=f"Slack: {installation.announcement['slack_page']}",
            tips=_taken_from(sentences),
        )
    finally:
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)


async def _each(verifier: Verifier) -> None:
    async for _ in verifier.watch(try_commands=False):
        pass


async def _taken_from(sentences: asyncio.Queue[str]) -> AsyncIterator[str]:
    while True:
        yield await sentences.get()
