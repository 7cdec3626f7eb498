"""`code` in sentences of the bot's own, as Slack shows it. Pure.

Sentences may hold words from outside, which are never styled: so only what is one of our commands counts as code,
and everything else between backticks stays what was written.
"""

from __future__ import annotations

import re
from typing import Any

from shared.commands import COMMANDS

_VERBS = "|".join(COMMANDS)
_PROGRAMS = "bot|dashboard|sandbox|doctor|webhooks|import|export|init"
_ARGUMENT = rf"(?: (?:--[a-z-]+|[A-Z@][A-Z_]*|…|now|off|here|all|(?:{_VERBS})))*"
_WHOLE = "|".join(re.escape(command.synopsis) for command in COMMANDS.values())
_CODE = re.compile(
    f"`({_WHOLE}|all|pause domain:[a-z]+|(?:/?outreach (?:{_VERBS}|{_PROGRAMS})|(?:{_VERBS})){_ARGUMENT})`"
)


def text_element(text: str, **style: bool) -> dict[str, Any]:
    """Words that Slack does not parse."""
    return {"type": "text", "text": text} | ({"style": style} if style else {})


def rich_elements(text: str) -> list[dict[str, Any]]:
    """The sentence's words and code, for a rich text section."""
    parts = _CODE.split(text)  # words and code in turn
    return [
        text_element(part, code=True) if n % 2 else text_element(part) for n, part in enumerate(parts) if part
    ]


def without_marks(text: str) -> str:
    """The sentence without the marks, for places that show no styles."""
    return _CODE.sub(r"\1", text)
