"""`outreach manifest`: the Slack app manifest, ready to paste."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from urllib.parse import urlsplit

from bot.http.asgi import SLACK
from bot.slack.manifest import ADDRESS, manifest, render
from cli.console import exit_codes
from shared.settings import load


def run(options: Namespace) -> int:
    """Print it for the bot's public address (by default the one in the settings), or for Socket Mode."""
    url = options.url
    if not url and not options.socket_mode:
        url = load(config=options.config).public_url
    if options.socket_mode == bool(url):
        raise exit_codes.WrongUsage(
            "name the bot's public address with --url or OUTREACH_PUBLIC_URL, "
            "or --socket-mode, which needs none"
        )
    address = "" if options.socket_mode else slack_address(url)
    if options.json:  # as `.slack/hooks.json` hands it to Slack's own command line
        print(json.dumps(manifest(address or ADDRESS, socket_mode=options.socket_mode), ensure_ascii=False))
    else:
        sys.stdout.write(render(address, socket_mode=options.socket_mode))
    return exit_codes.DONE


def slack_address(url: str) -> str:
    """The address to which Slack sends requests; raises `WrongUsage` unless `url` is an https address."""
    parts = urlsplit(url.strip())
    if parts.scheme != "https" or not parts.hostname or parts.query or parts.fragment:
        raise exit_codes.WrongUsage(
            f"“{url}” isn't an address Slack can use. Use one like https://bot.example.com."
        )
    return url.strip().rstrip("/").removesuffix(SLACK) + SLACK
