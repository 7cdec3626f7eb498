"""One process that takes deliveries, in one of the forms that the benchmark compares: `python -m … MODE PORT DB`.

bare       checks the signature and stores nothing: the baseline
bot        the whole bot, its Slack unreachable
"""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import Any

from bot.app import open_bot
from bot.http.webhook import HEADER, BodyReader, Receive, Scope, Send, answer, read_header
from bot.server import Server, server_config, tune_runtime
from bot.telemetry import logs
from shared import settings
from shared.api.events import signature_matches

SECRET = "bench"
BODIES = BodyReader()


async def bare(scope: Scope, receive: Receive, send: Send) -> None:
    """The signature and nothing else."""
    body = await BODIES.read(scope, receive)
    good = signature_matches(body, read_header(scope, HEADER), [SECRET])
    await answer(send, 200 if good else 401)


async def serve(mode: str, port: int, database: str) -> None:
    """Serve until killed."""
    logs.set_up("INFO")
    # Its backlog holds what all connections of the load send before the first is accepted.
    listener = socket.create_server(("127.0.0.1", port), backlog=512)
    if mode == "bare":
        tune_runtime()
        await Server(server_config(bare)).serve(sockets=[listener])
        return
    async with open_bot(settings.load(environ=environment(database))) as bot:
        tune_runtime()
        await Server(server_config(bot.web)).serve(sockets=[listener])


def environment(database: str) -> dict[str, str]:
    """Return the environment of a bot whose Slack and service can't be reached."""
    return {
        # Nothing listens on port 9: a connection fails at once, and nothing waits for it.
        "OUTREACH_BASE_URL": "http://127.0.0.1:9/v1",
        "OUTREACH_API_KEY": "bench",
        "OUTREACH_WEBHOOK_SECRET": SECRET,
        "OUTREACH_ALERT_CHANNEL": "C0ALERTS01",
        "OUTREACH_DATABASE_URL": database,
        "SLACK_BOT_TOKEN": "xoxb-bench",
        "SLACK_SIGNING_SECRET": "bench",
        "SLACK_API_URL": "http://127.0.0.1:9/api/",
    }


def main(arguments: list[str]) -> Any:
    """Run on asyncio's own loop, as the bot does."""
    with asyncio.Runner() as runner:
        runner.run(serve(arguments[0], int(arguments[1]), arguments[2]))


if __name__ == "__main__":
    main(sys.argv[1:])
