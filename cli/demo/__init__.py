"""`outreach demo`: the whole system on one laptop, with no account."""

from __future__ import annotations

import asyncio
import contextlib
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
                async with _beside(stop.wait(), running) as tasks:
                    await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
                    for task in tasks:
                        if task.done():
                            task.result()  # raises what ended it
                result = await verifier.close()
    except DemoFailed as failure:
        print(f"outreach demo: {failure}", file=sys.stderr)
        return 1
    print("\n".join(result.lines), flush=True)
    return 0 if result.passed else 1


@contextlib.asynccontextmanager
async def _beside(*work: Coroutine[Any, Any, Any]) -> AsyncIterator[list[asyncio.Task[Any]]]:
    """Run this work while the block runs."""
    tasks = [asyncio.create_task(one, name="demo") for one in work]
    try:
        yield tasks
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
    async with _beside(*([Story(installation, tell).play()] if has_story else [])):
        await verifier.watch(lambda text: tell(f"In Slack: {text}"))


async def _show(installation: Installation, verifier: Verifier, *, has_story: bool) -> None:
    """Show the dashboard until it is closed; the story's sentences come up on it."""
    from shared import settings
    from tui.app.run import run_dashboard

    sentences = asyncio.Queue[str]()
    work = [verifier.watch(lambda _text: None)]
    if has_story:
        work.append(Story(installation, sentences.put_nowait).play())
    async with _beside(*work):
        await run_dashboard(
            lambda: settings.load(environ=installation.environ),
            open_records=open_records,
            open_replies=open_replies,
            environ=installation.environ,
            notice=f"Slack: {installation.announcement['slack_page']}",
            tips=_taken_from(sentences),
        )


async def _taken_from(sentences: asyncio.Queue[str]) -> AsyncIterator[str]:
    while True:
        yield await sentences.get()
