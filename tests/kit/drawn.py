"""Draws what people see as text, whole: a message of Slack with its labels, styles and links, and a run of the program."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import yaml

from tests.kit.shell import Run
from tests.kit.team import Message

_INSIDE = {"action_id", "block_id", "value", "bot_id", "app_id", "team_id", "root_id", "hash", "id"}
"""What is in blocks and views for programs alone, and another one each time."""
_CHANGING: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    # To the minute: a machine takes a few seconds for what a story tells.
    (r"<!date\^(\d+)", lambda found: f"<!date^{int(found[1]) // 60 * 60}"),
    (r"/p\d{16}\b", "/pMESSAGE"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
    (r"/reply/[\w.~-]+", "/reply/TOKEN"),
    (r"\(ref \w+\)", "(ref REF)"),
    (r"\bref-\w{8}\b", "REFERENCE"),
    (r"\b\d\d? s ago\b", "just now"),
    (r"\b\d\d? s\b", "some s"),
    (r"(?<=\d\d:\d\d):\d\d(\.\d+)?\b", ""),
    (r"[·█▚▒━‖│]{12,}", "(a lane)"),  # as long as the dashboard has run
    # A plot has its first column once a second poll was kept: on a machine that took long enough for one.
    (r"(?m) +[▁-█]+ <(\w*)a>$", lambda found: f" <{found[1]}>" if found[1] else ""),
    (r'(?<="used_last_second": )\d+', "some"),  # the machine decides which requests are of one second
    (r" · today \d+", ""),  # read by itself, and shown once it is there
    (r"(?m)(^ Sends .*|\(a lane\).*) <\w+>$", r"\1"),
    (r"/tmp/[\w/.-]*?(?=[\w.-]+\.(?:db|toml|csv)|exports)", "FOLDER/"),
)
_AGE = re.compile(r"\bnow\b|\bsome s\b|\(a lane\)|╵")


def drawn(message: Message) -> str:
    """A message: its blocks, and the plain text that a notification shows."""
    blocks = "".join(_block(json.dumps(one)) for one in message.data.get("blocks") or []) or "[]\n"
    return drawn_text(f"{blocks}notification: {message.data['text']}")


@cache
def _block(source: str) -> str:
    """A block of a message, drawn once: most of them are in each of its states."""
    return _yaml([_plain(json.loads(source))])


def drawn_view(view: Any) -> str:
    """A form, or Home."""
    kept = ("title", "submit", "close", "blocks")
    return drawn_text(_yaml({name: _plain(view[name]) for name in kept if view.get(name)}))


def drawn_run(run: Run) -> str:
    """The exit code and the whole output of a run."""
    return drawn_text(f"exit {run.code}\n{run.out}" + (f"stderr: {run.err}" if run.err else ""))


def drawn_screen(text: str) -> str:
    """A screen without empty lines and the widths of its columns, which follow how long ago something was."""
    return re.sub(
        r"\n\s*(?=\n)", "", re.sub(r" {2,}", "  ", re.sub(r"(?<!just )\bnow\b", "just now", drawn_text(text)))
    )


def drawn_page(text: str) -> str:
    """A screen with its empty lines and the width of each column, but for lines with an age or an axis."""
    lines = drawn_text(text).splitlines()
    return "\n".join(drawn_screen(line) if _AGE.search(line) else line for line in lines)


def drawn_text(text: str) -> str:
    """A text without what is another one each time: ports, tokens and folders."""
    for pattern, replacement in _CHANGING:
        text = re.sub(pattern, replacement, text)
    return text


def _yaml(value: Any) -> str:
    return str(yaml.safe_dump(value, allow_unicode=True, sort_keys=True, width=200))


def _plain(part: Any) -> Any:
    """Blocks without their inside, each text as itself: with `md` before what Slack reads for markup."""
    if isinstance(part, list):
        return [_plain(one) for one in part]
    if not isinstance(part, dict):
        return part
    plain: Any = {name: _plain(value) for name, value in part.items() if name not in _INSIDE}
    kind = str(part.get("type"))
    if kind in {"plain_text", "raw_text", "raw_number"}:
        plain = part["text"]
    elif kind == "mrkdwn":
        plain = f"md {part['text']}"
    elif kind == "text":
        plain = f"**{part['text']}**" if part.get("style") else part["text"]
    elif kind == "date":
        plain = f"<!date^{part['timestamp']}^{part['format']}>"
    elif kind in {"rich_text_section", "rich_text_quote"}:
        plain = f"{kind.removeprefix('rich_text_')}: " + "".join(map(str, plain["elements"]))
    elif kind == "rich_text":
        plain = "\n".join(map(str, plain["elements"]))
    elif kind in {"table", "data_table"}:
        plain["rows"] = [" | ".join(map(str, row)) for row in plain["rows"]]
    return plain
