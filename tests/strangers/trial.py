"""One example against the stand-in: started, used as people would, and judged by what went over the wire."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from slack_sdk import WebClient

from outreach_ops.testing import Refused, Slack, User
from outreach_ops.testing.control import Control
from tests.strangers.examples import Example

START_SECONDS = 20.0
SETTLE_SECONDS = 1.0
ENDLESS_SECONDS = 5.0
_BOT = "<@U0OUTREACH>"
_ERROR = re.compile(r"[\w.]*(Error|Exception)\b.*:")
_VALUES = {
    "plain_text_input": "hello",
    "number_input": "7",
    "email_text_input": "ann@example.com",
    "url_text_input": "https://example.com",
    "datepicker": "2026-01-02",
    "timepicker": "10:00",
    "users_select": "U0ANN00001",
    "conversations_select": "C0SALES002",
    "channels_select": "C0SALES002",
}


class Trial:
    """Runs one example; `run` answers what went wrong, nothing where all went well."""

    def __init__(self, slack: Slack, example: Example) -> None:
        self._slack = slack
        self._example = example
        self._control = Control(f"{slack.page}control")

    def run(self) -> list[str]:
        """Start it, use it, stop it."""
        self._slack.reset()
        if self._is_taken():
            return ["port 3000 is taken"]
        self._slack.install(
            {
                "features": {
                    "slash_commands": [{"command": one} for one in self._example.commands],
                    "shortcuts": [],
                },
                "settings": {"event_subscriptions": {"bot_events": self._example.events}},
            }
        )
        self._control.post("settings", messages_per_second=0, tier_factor=0)
        socket_only = self._example.by_socket
        self._slack.deliver_to(None if socket_only else "http://127.0.0.1:3000/slack/events")
        web = WebClient(self._slack.bot_token, base_url=self._slack.api_url)
        random = web.conversations_create(name="random")["channel"]["id"]  # where most samples post
        web.conversations_invite(channel=random, users="U0ANN00001,U0BEN00002,U0CLEO0003,U0DEV00004")
        with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryDirectory() as scratch:
            process = self._start(output, scratch)
            try:
                wrong = self._used(process, output)
                return [*wrong, *_last_error(output)] if wrong else []
            finally:
                _stop(process)

    def _start(self, output: IO[str], scratch: str) -> subprocess.Popen[str]:
        Path(scratch, "tmp.txt").write_text("Hello world!")  # the file that some samples say to make first
        slack = self._slack
        bot = ("SLACK_API_TOKEN", "SLACK_SDK_TEST_BOT_TOKEN", "SLACK_SDK_TEST_SOCKET_MODE_BOT_TOKEN")
        paths = [str(Path(__file__).parent / "start"), os.environ.get("PYTHONPATH", "")]
        environment = {
            **os.environ,
            **slack.environment,
            **dict.fromkeys(bot, slack.bot_token),
            "SLACK_SDK_TEST_SOCKET_MODE_APP_TOKEN": slack.app_token,
            "SLACK_SDK_TEST_WEB_TEST_CHANNEL_ID": "C0SALES002",
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        }
        return subprocess.Popen(
            self._example.command,
            cwd=self._example.file.parent if self._example.stays else scratch,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def _used(self, process: subprocess.Popen[str], output: IO[str]) -> list[str]:
        if not self._example.stays:
            try:
                code = process.wait(ENDLESS_SECONDS if self._example.endless else 30)
            except subprocess.TimeoutExpired:
                return self._verdict() if self._example.endless else ["does not end"]
            return self._verdict() if code == 0 else [_last_line(output)]
        if not _within(START_SECONDS, lambda: self._is_up() or process.poll() is not None):
            return ["does not listen"]
        if process.poll() is not None:
            return [_last_line(output)]
        time.sleep(0.5)
        self._use(self._slack.users["ann"])
        time.sleep(SETTLE_SECONDS)
        return self._verdict()

    def _is_up(self) -> bool:
        if self._example.by_socket:
            return bool(self._control.get("state")["sockets"]["open"])
        return self._is_taken()

    def _is_taken(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", 3000)) == 0

    def _use(self, ann: User) -> None:
        for command in self._example.commands:
            ann.command(f"{command} hello", channel="sales")
            self._follow(ann)
        for callback_id in self._example.shortcuts:
            ann.shortcut(callback_id)
            self._follow(ann)
        if self._example.events:
            ann.say(f"{_BOT} hello", channel="sales")
            ann.say("hello", channel="dm")
            self._control.post("home/open", user="ann", wait=1)
            time.sleep(SETTLE_SECONDS)
            self._follow(ann)

    def _follow(self, ann: User) -> None:
        """Click the first button of the newest message, and submit the modal that came."""
        time.sleep(SETTLE_SECONDS)
        for message in ann.sees("sales").messages[-1:]:
            for button in message.buttons[:1]:
                try:
                    ann.click(button, on=message, timeout=0.1)
                except Refused:
                    continue
                time.sleep(SETTLE_SECONDS)
        modal = ann.modal
        if modal is not None:
            blocks = [block for block in modal.raw["blocks"] if block["type"] == "input"]
            ann.submit({block["block_id"]: {_id(block): self._value(block)} for block in blocks})
            time.sleep(SETTLE_SECONDS)

    def _value(self, block: dict[str, Any]) -> Any:
        element = block["element"]
        options = list(element.get("options") or [])
        if element["type"].endswith("external_select"):
            asked = {"user": "ann", "view": True, "action_id": _id(block), "value": ""}
            options = self._control.post("options", **asked)["options"]
        if options:
            return [options[0]] if element["type"].startswith("multi_") else options[0]
        return _VALUES.get(element["type"])

    def _verdict(self) -> list[str]:
        exchanges = self._control.get("traffic")["exchanges"]
        if len(exchanges) < 3:  # the first two make a channel for it
            return ["calls nothing"]
        return sorted({f"{one['name']}: {one['error']} {one['status']}" for one in exchanges if _failed(one)})


def _stop(process: subprocess.Popen[str]) -> None:
    """End it with the workers and reloaders that it started, which would keep the port."""
    for signal_number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal_number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(3)


def _failed(exchange: dict[str, Any]) -> bool:
    """An event that the app has no listener for is answered 404, on the real Slack too."""
    unheard = exchange["name"].startswith("event ") and exchange["status"] == 404
    return not exchange["ok"] and not unheard


def _last_error(output: IO[str]) -> list[str]:
    """The last exception that the app printed."""
    output.seek(0)
    lines = [line.strip() for line in output if _ERROR.match(line)]
    return [lines[-1][:200]] if lines else []


def _id(block: dict[str, Any]) -> str:
    return str(block["element"]["action_id"])


def _within(seconds: float, condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def _last_line(output: IO[str]) -> str:
    output.seek(0)
    lines = output.read().strip().splitlines()
    return lines[-1][:160] if lines else "ended at once"
