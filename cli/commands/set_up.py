"""`outreach init`, `outreach manifest` and `outreach version`. Each imports what it needs, since the bot's parts take a second."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from pathlib import Path
from urllib.parse import urlsplit

from cli.console import card_output, exit_codes
from cli.console.interactive import must_be_free
from shared.settings import load
from shared.settings.template import NOTHING, commented_template
from shared.storage.private_file import make_private_folder, replacing


def init(options: Namespace) -> int:
    """Write the file; one that is there is overwritten only with `--yes`."""
    path: Path = options.file
    must_be_free(path, overwrite=options.yes, option="--yes")
    if options.interactive:
        from cli.commands.interactive_init import ask_settings, next_steps

        values, public = ask_settings()
        steps = next_steps(public)
    else:
        values, steps = NOTHING, ("Fill in the base URL and the key, then try: outreach doctor",)
    make_private_folder(path.parent)
    with replacing(path) as fresh:
        fresh.write_text(commented_template(values), encoding="utf-8")
    print("\n".join([f"Wrote {path}.", *steps]), file=sys.stderr)
    return exit_codes.DONE


def manifest(options: Namespace) -> int:
    """Print it for the bot's public address (by default the one in the settings), or for Socket Mode."""
    from bot.slack.manifest import ADDRESS, render
    from bot.slack.manifest import manifest as as_data

    url = options.url
    if not url and not options.socket_mode:
        url = load(config=options.config).public_url
    if options.socket_mode and url:
        raise exit_codes.WrongUsage("--socket-mode needs no public address: leave out --url")
    if not options.socket_mode and not url:
        raise exit_codes.WrongUsage(
            "name the bot's public address with --url or OUTREACH_PUBLIC_URL, "
            "or --socket-mode, which needs none"
        )
    address = "" if options.socket_mode else slack_address(url)
    if options.json:  # as `.slack/hooks.json` hands it to Slack's own command line
        print(json.dumps(as_data(address or ADDRESS, socket_mode=options.socket_mode), ensure_ascii=False))
    else:
        sys.stdout.write(render(address, socket_mode=options.socket_mode))
    return exit_codes.DONE


def slack_address(url: str) -> str:
    """The address to which Slack sends requests; raises `WrongUsage` unless `url` is an https address."""
    from bot.http.asgi import SLACK

    parts = urlsplit(url.strip())
    if parts.scheme != "https" or not parts.hostname or parts.query or parts.fragment:
        raise exit_codes.WrongUsage(
            f"“{url}” isn't an address Slack can use. Use one like https://bot.example.com."
        )
    return url.strip().rstrip("/").removesuffix(SLACK) + SLACK


def version(options: Namespace) -> int:
    """Print version, commit and schema."""
    from bot.telemetry.build import HOME, read_commit
    from shared.store.db import migrate

    number, commit = migrate.program_version(), read_commit(HOME)
    if options.json:
        card_output.print_data([{"version": number, "commit": commit or None, "schema": migrate.HEAD}])
    else:
        print(f"outreach {number} (commit {commit or 'unknown'}, schema {migrate.HEAD})")
    return exit_codes.DONE
