"""Starts bot, dashboard and sandbox. Each shuts down cleanly on SIGINT and SIGTERM."""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import sys
from argparse import Namespace
from collections.abc import Awaitable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

from cli.console.exit_codes import Failed, WrongUsage
from cli.console.interactive import attended, stopping
from cli.console.resources import open_replies, service_settings
from shared.text import parent_watch
from shared.text.tokenize import parse_duration

NO_TERMINAL = (
    "no terminal for the dashboard: run it in a terminal, print a snapshot with `outreach dashboard --once`, or serve "
    "browsers with `--web`"
)


def bot(options: Namespace) -> int:
    """The Slack bot and webhook receiver, until a signal ends it."""
    gc.disable()  # nothing loaded at startup is garbage, and looking for it costs a tenth of the start
    if "rich" not in sys.modules:
        # structlog loads Rich wherever it is installed, to draw tracebacks. The bot writes them plainly, and Rich
        # would take three megabytes of it for as long as it runs. None makes its import fail, by the language's reference.
        sys.modules["rich"] = None  # type: ignore[assignment]
        import structlog  # noqa: F401

        del sys.modules["rich"]
    from bot.server import run
    from shared.settings import Need, load

    gc.enable()

    read = partial(load, config=options.config, needs=(Need.API, Need.SLACK, Need.ALERTS))
    # The same reader again at SIGHUP, so that a reload reads the very file that was named.
    return run(read(), load=read)


async def dashboard(options: Namespace) -> int | None:
    """The dashboard in front, or on stdout: one snapshot with `--once`."""
    if options.once and options.web:
        raise WrongUsage("--once prints one snapshot, and --web serves browsers: choose one")
    if (options.json or options.svg) and not options.once:
        raise WrongUsage("--json and --svg need --once: `outreach dashboard --once --json`")
    if options.incident and not options.svg:
        raise WrongUsage("--incident needs a file: `outreach dashboard --once --incident --svg incident.svg`")
    if options.web:
        await _serving(_web(options))
        return None
    if options.once:
        from tui.entrypoints.once import print_once

        return await print_once(
            service_settings(options),
            as_json=options.json,
            svg=options.svg,
            incident=parse_duration(options.incident or ""),
            workspace=options.workspace,
        )
    if not (options.viewer or attended()):
        raise WrongUsage(NO_TERMINAL)
    gc.disable()  # nothing loaded at startup is garbage; the dashboard turns collection on when it is up
    from tui.app.run import run_dashboard

    return await run_dashboard(
        partial(service_settings, options),
        open_replies=open_replies,
        wall=options.wall,
        is_viewer=options.viewer,
        workspace=options.workspace,
    )


async def sandbox(options: Namespace) -> None:
    """The embedded outreach service and the Slack stand-in."""
    from sandbox.embedded import embedded
    from sandbox.service import Service

    try:
        service = Service(
            port=options.port,
            inboxes=options.inboxes,
            seed=options.seed,
            speed=options.speed,
            scenario=options.scenario,
            now=options.start,
        )
    except ValueError as fault:
        raise WrongUsage(str(fault)) from None
    await _serving(_announced(embedded(service, slack_port=options.slack_port)))


async def slack_standin(options: Namespace) -> None:
    """The Slack stand-in alone, for an app with this manifest, in YAML or JSON."""
    import yaml
    from pydantic import ValidationError

    from sandbox.slack.server import SlackStandIn
    from sandbox.slack.settings import Manifest, Settings

    try:
        settings = Settings(request_url=options.request_url)
        if options.manifest:
            # `safe_load` makes plain values only; a file from anywhere could otherwise run code.
            settings.apply(Manifest.model_validate(yaml.safe_load(options.manifest.read_bytes())))
    except (OSError, yaml.YAMLError, ValidationError) as fault:
        raise WrongUsage(f"the manifest or the address can't be used: {fault}") from None
    await _serving(_announced(SlackStandIn(options.port, settings=settings)))


async def _serving(work: Awaitable[None]) -> None:
    """Serve; a port in use is a readable error."""
    try:
        await work
    except OSError as fault:
        if fault.errno != errno.EADDRINUSE:
            raise
        raise Failed("the port is in use. Choose another, or 0 for a free one.") from None


async def _web(options: Namespace) -> None:
    from tui.entrypoints.web import serve, viewer_command

    settings = service_settings(options)
    with stopping() as stop:
        await serve(
            viewer_command(config=options.config, workspace=options.workspace, wall=options.wall),
            port=options.port,
            stop=stop,
            announce=lambda url: print(f"Open {url} in a browser. Press Ctrl+C to stop.", flush=True),
            hosts=settings.dashboard.web.hosts,
        )


async def _announced(serving: AbstractAsyncContextManager[Any]) -> None:
    """Serve until a signal comes, or the process that holds this one's lifeline is gone."""
    with stopping() as stop:
        async with serving as served:
            announcement = served if isinstance(served, Mapping) else served.announcement
            # One line, flushed: who started this waits for the addresses in it.
            print(json.dumps(announcement), flush=True)
            ends = asyncio.create_task(parent_watch.wait_for_parent_exit(), name="sandbox-lifeline")
            ends.add_done_callback(lambda _: stop.set())
            await stop.wait()
            ends.cancel()
            await asyncio.gather(ends, return_exceptions=True)
