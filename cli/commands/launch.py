"""Starts demo, bot, dashboard and sandbox. Each shuts down cleanly on SIGINT and SIGTERM."""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import sys
from argparse import Namespace
from collections.abc import Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from cli.console import exit_codes
from cli.console.interactive import attended, stopping
from shared.text import parent_watch
from shared.text.tokenize import parse_duration

if TYPE_CHECKING:
    from pathlib import Path

    from shared.settings import Settings

NO_TERMINAL = (
    "no terminal for the dashboard: run it in a terminal, print a snapshot with `outreach dashboard --once`, or serve "
    "browsers with `--web`"
)


def demo(options: Namespace) -> int:
    """The whole system on embedded parts."""
    from cli.demo import run_demo

    headless = options.headless or not attended()
    if headless and not options.headless:
        print("No terminal for the dashboard. Continuing as with --headless.", file=sys.stderr)
    about = {"seconds": options.seconds, "speed": options.speed, "scenario": options.scenario}
    return asyncio.run(run_demo(headless=headless, **about))


def bot(options: Namespace) -> int:
    """The Slack bot and webhook receiver, until a signal ends it."""
    gc.disable()  # nothing loaded at startup is garbage, and looking for it costs a tenth of the start
    # structlog loads Rich wherever it is installed, to draw tracebacks. The bot writes them plainly, and Rich would
    # take three megabytes of it for as long as it runs.
    sys.modules["rich"] = None  # type: ignore[assignment]  # which makes its import fail, by the language's reference
    import structlog  # noqa: F401

    del sys.modules["rich"]
    from bot.server import run
    from shared.settings import Need, load

    gc.enable()

    read = partial(load, config=options.config, needs=(Need.API, Need.SLACK, Need.ALERTS))
    # The same reader again at SIGHUP, so that a reload reads the very file that was named.
    return run(read(), load=read)


def dashboard(options: Namespace) -> int:
    """The dashboard in front, or on stdout: one snapshot with `--once`."""
    if options.once and options.web:
        raise exit_codes.WrongUsage("--once prints one snapshot, and --web serves browsers: choose one")
    if (options.json or options.svg) and not options.once:
        raise exit_codes.WrongUsage("--json and --svg need --once: `outreach dashboard --once --json`")
    if options.incident and not options.svg:
        raise exit_codes.WrongUsage(
            "--incident needs a file: `outreach dashboard --once --incident --svg incident.svg`"
        )
    if options.once:
        from cli.console.resources import open_records
        from tui.entrypoints.once import print_once

        return asyncio.run(
            print_once(
                _settings(options),
                as_json=options.json,
                svg=options.svg,
                incident=parse_duration(options.incident or ""),
                open_records=open_records,
                workspace=options.workspace,
            )
        )
    if options.web:
        return _serving(_web(options))
    if not options.viewer and not attended():
        raise exit_codes.WrongUsage(NO_TERMINAL)
    return asyncio.run(_front(options))


def sandbox(options: Namespace) -> int:
    return _serving(_serve_sandbox(options))


def slack_standin(options: Namespace) -> int:
    return _serving(_serve_slack_standin(options))


def _serving(work: Coroutine[Any, Any, None]) -> int:
    """Serve; a port in use is a readable error."""
    try:
        asyncio.run(work)
    except OSError as fault:
        if fault.errno != errno.EADDRINUSE:
            raise
        raise exit_codes.Failed("the port is in use. Choose another, or 0 for a free one.") from None
    return exit_codes.DONE


def _settings(options: Namespace) -> Settings:
    from shared.settings import Need, load

    settings = load(config=options.config, needs=(Need.API,))
    settings.workspace(options.workspace)
    return settings


async def _front(options: Namespace) -> int:
    gc.disable()  # nothing loaded at startup is garbage; the dashboard turns collection on when it is up
    from cli.console.resources import open_records, open_replies
    from tui.app.run import run_dashboard

    return await run_dashboard(
        lambda: _settings(options),
        open_records=open_records,
        open_replies=open_replies,
        wall=options.wall,
        is_viewer=options.viewer,
        workspace=options.workspace,
    )


async def _web(options: Namespace) -> None:
    from tui.entrypoints.web import serve, viewer_command

    settings = _settings(options)
    with stopping() as stop:
        await serve(
            viewer_command(config=options.config, workspace=options.workspace, wall=options.wall),
            port=options.port,
            stop=stop,
            announce=lambda url: print(f"Open {url} in a browser. Press Ctrl+C to stop.", flush=True),
            hosts=settings.dashboard.web.hosts,
        )


async def _serve_sandbox(options: Namespace) -> None:
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
        raise exit_codes.WrongUsage(str(fault)) from None
    with stopping() as stop:
        async with embedded(service, slack_port=options.slack_port) as announcement:
            # One line, flushed: who started this waits for the addresses in it.
            print(json.dumps(announcement), flush=True)
            await _stopped_or_orphaned(stop)


async def _serve_slack_standin(options: Namespace) -> None:
    """The first line on stdout tells scripts where it is and what the app holds."""
    from pydantic import ValidationError

    from sandbox.slack.server import SlackStandIn
    from sandbox.slack.settings import Manifest, Settings

    try:
        settings = Settings(request_url=options.request_url)
        if options.manifest:
            settings.apply(Manifest.model_validate(_read_manifest(options.manifest)))
    except ValidationError as fault:
        first = fault.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise exit_codes.WrongUsage(f"{place}: {first['msg']}") from None
    with stopping() as stop:
        async with SlackStandIn(options.port, settings=settings) as slack:
            print(json.dumps(slack.announcement), flush=True)
            await _stopped_or_orphaned(stop)


def _read_manifest(file: Path) -> dict[str, Any]:
    """An app manifest in YAML, which JSON is too; raises `WrongUsage`."""
    import yaml

    try:
        # `safe_load` makes plain values only; a file from anywhere could otherwise run code.
        manifest = yaml.safe_load(file.read_bytes())
    except OSError as fault:
        raise exit_codes.WrongUsage(f"{file} can't be read: {exit_codes.os_error_text(fault)}") from None
    except yaml.YAMLError as fault:
        where = getattr(fault, "problem_mark", None)
        line = f" near line {where.line + 1}" if where else ""
        raise exit_codes.WrongUsage(f"{file} isn't YAML or JSON{line}") from None
    if not isinstance(manifest, dict) or "settings" not in manifest:
        raise exit_codes.WrongUsage(f"{file} isn't an app manifest: it has no settings")
    return manifest


async def _stopped_or_orphaned(stop: asyncio.Event) -> None:
    """Return at a signal, or when the process that holds this one's lifeline is gone."""
    waits = {
        asyncio.create_task(stop.wait(), name="sandbox-stop"),
        asyncio.create_task(parent_watch.wait_for_parent_exit(), name="sandbox-lifeline"),
    }
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waits:
            task.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
