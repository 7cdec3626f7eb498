"""The example apps in a checkout: which there are, how each is started, and what it listens to."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LEFT_OUT = {
    "aws": "a hosting platform",
    "docker": "a hosting platform",
    "google": "a hosting platform",
    "heroku": "a hosting platform",
    "issues/": "a bug of the SDK, played again",
    "django": "a project with a database",
    "oauth": "an installation in a browser",
    "authorize": "tokens of two workspaces",
    "dialogs": "dialogs, which Slack replaced by modals",
    "openid": "an installation in a browser",
    "token_rotation": "an installation in a browser",
    "proxy": "a proxy",
    "rtm": "RTM, which Slack retired",
    "scim": "the SCIM API",
    "workflow": "steps from apps, which Slack retired",
    "bolt_adapter": "part of other examples",
    "__init__": "part of other examples",
}
_MANIFEST_EVENTS = {"app_mention", "app_home_opened", "reaction_added", "member_joined_channel"}
_MESSAGES = ("message.channels", "message.groups", "message.im")


@dataclass(frozen=True, kw_only=True)
class Example:
    """One example: its file, its source, and whether it stays up (an app) or ends (a script)."""

    folder: Path
    file: Path
    source: str

    @property
    def name(self) -> str:
        return self.file.relative_to(self.folder).as_posix()

    @property
    def left_out(self) -> str | None:
        """Why it is not tried."""
        return next((why for word, why in LEFT_OUT.items() if word in self.name), None)

    @property
    def command(self) -> list[str]:
        """How its own comments say that it is started, on port 3000."""
        python = sys.executable
        if found := re.search(r"^# *(?:uvicorn|gunicorn) .*?(\w+:\w+)", self.source, re.MULTILINE):
            if "gunicorn" in found[0]:
                return [python, "-m", "gunicorn", found[1], "-b", "127.0.0.1:3000"]
            return [python, "-m", "uvicorn", found[1], "--port", "3000"]
        if re.search(r"^# *FLASK_APP=app.py", self.source, re.MULTILINE):
            return [python, "-m", "flask", "--app", "app.py", "run", "-p", "3000"]
        if re.search(r"^# *adev runserver", self.source, re.MULTILINE):
            factory = ["--port", "3000", "--app-factory", "app_factory", self.file.name]
            return [python, "-m", "aiohttp_devtools", "runserver", *factory]
        return [python, str(self.file.resolve())]

    @property
    def by_socket(self) -> bool:
        return "SocketMode" in self.source

    @property
    def stays(self) -> bool:
        """Whether it is an app, which listens."""
        return self.by_socket or "slack_bolt" in self.source or "3000" in self.source

    @property
    def endless(self) -> bool:
        """Whether it is a script that goes on until it is stopped."""
        return not self.stays and re.search(r"(?m)^while True:", self.source) is not None

    @property
    def commands(self) -> list[str]:
        found = re.findall(r"(?m)^(?!\s*#).*command\(\s*(?:command=)?\"(/[\w-]+)\"", self.source)
        return sorted({*found, *re.findall(r"\"command\"\] == \"(/[\w-]+)\"", self.source)})

    @property
    def shortcuts(self) -> list[str]:
        listened = re.findall(r"shortcut\(\s*(?:callback_id=)?\"([\w-]+)\"", self.source)
        return sorted({*listened, *re.findall(r"payload\[\"callback_id\"\] == \"([\w-]+)\"", self.source)})

    @property
    def events(self) -> list[str]:
        named = set(re.findall(r"event\(\s*\"(\w+)\"", self.source)) & _MANIFEST_EVENTS
        raw = "reactions_add" in self.source and "events_api" in self.source
        messages = raw or 'event("message"' in self.source or re.search(r"\.message\(", self.source)
        return sorted({*named, *(_MESSAGES if messages else ())})


def examples(folder: Path) -> Iterator[Example]:
    """Every Python file below `folder`, in order."""
    for file in sorted(folder.rglob("*.py")):
        if "migrations" not in file.parts:
            yield Example(folder=folder, file=file, source=file.read_text("utf-8"))
