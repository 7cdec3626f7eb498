"""`outreach slack-standin`: Slack alone, for a bot that is not ours."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from tests.kit import Shell

MANIFEST = """
display_information: {name: Deployer}
features:
  slash_commands:
    - {command: /deploy, description: Deploys, url: "https://bot.example.com/slack/events"}
oauth_config: {scopes: {bot: [commands, chat:write]}}
settings: {socket_mode_enabled: false}
"""


@pytest.mark.usefixtures("real_time")
async def test_any_bot_gets_its_command(shell: Shell, tmp_path: Path) -> None:
    texts = []

    async def bot(request: web.Request) -> web.Response:
        texts.append((await request.post())["text"])
        return web.Response(text="Deploying.")

    app = web.Application()
    app.router.add_post("/slack/events", bot)
    runner = web.AppRunner(app)
    await runner.setup()
    await (site := web.TCPSite(runner, "127.0.0.1", 0)).start()
    file = tmp_path / "manifest.yml"
    file.write_text(MANIFEST)
    words = ("--manifest", str(file), "--request-url", f"{site.name}/slack/events")
    async with shell.start("slack-standin", *words) as process, aiohttp.ClientSession() as http:
        assert process.stdout
        body = json.loads(await process.stdout.readline())
        command = {"text": "/deploy now", "wait": 5}
        async with http.post(f"{body['slack_control_url']}/command", json=command) as answer:
            done = await answer.json()
        assert texts == ["now"]
        assert done["ack"]["ok"], done
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
    await runner.cleanup()


def test_a_request_url_elsewhere_is_refused(shell: Shell) -> None:
    refused = shell.run("slack-standin", "--request-url", "https://bot.example.com/slack/events")
    assert refused.code == 2
    assert "this machine" in refused.err


def test_a_manifest_of_odd_shape_is_named_with_its_place(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "manifest.yml"
    file.write_text("settings: {}\nfeatures: {slash_commands: [x]}")
    refused = shell.run("slack-standin", "--manifest", str(file))
    assert refused.code == 2
    assert "features.slash_commands.0" in refused.err
