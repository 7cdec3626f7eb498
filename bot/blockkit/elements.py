"""Text objects and buttons of Block Kit, inside the limits of Slack's reference of block elements. Pure.

Each is made of the SDK's model, which looks at the limits once more and raises `SlackObjectFormationError`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from slack_sdk.models.blocks import (
    ButtonElement,
    DateTimePickerElement,
    InteractiveElement,
    Option,
    OverflowMenuElement,
    PlainTextObject,
    UserSelectElement,
)

from bot.blockkit.actions import write_value
from shared.api.words import LEAD_STATUSES
from shared.commands import COMMANDS
from shared.commands.base import ALIASES
from shared.commands.help import FIRST_LINES
from shared.commands.times import RANGES
from shared.domain.card import Button, Tone
from shared.text.sanitize import visible

Block = dict[str, Any]

LABEL, VALUE, OPTION_VALUE, MENU = 75, 2_000, 150, 5
RUN = "run"
"""Every button's `action_id` begins with it; its value says what it does (`bot.blockkit.actions`)."""
PICK = f"{RUN}_at:"
"""Begins the `action_id` of an element that picks a time or a person; the value of the button follows."""

_STYLES = {Tone.GOOD: "primary", Tone.BAD: "danger"}


# Sentences may hold words from outside, which are never styled: only our own commands count as code.
_VERBS = "|".join(map(re.escape, (*COMMANDS, *ALIASES)))
_PROGRAMS = "bot|dashboard|sandbox|doctor|webhooks|import|export|init|database"
_KEYWORDS = "|".join(
    (
        *RANGES,
        *LEAD_STATUSES,
        *["list", "forget", "mine", "paused", "now", "off", "here", "all", "create", "upgrade", "restore"],
    )
)
_ARGUMENT = rf"(?: (?:--[a-z-]+|[A-Z@][A-Z_]*|…|[0-9]{{1,4}}[dw]?|{_KEYWORDS}|{_VERBS}))*"
_SYNTAXES = (*(command.synopsis for command in COMMANDS.values()), *(line for line, _ in FIRST_LINES))
_WHOLE = "|".join(map(re.escape, sorted(_SYNTAXES, key=len, reverse=True)))
_CODE = re.compile(
    f"`({_WHOLE}|all|pause domain:[a-z]+|(?:/?outreach (?:{_VERBS}|{_PROGRAMS})|(?:{_VERBS})){_ARGUMENT})`"
)


def plain(text: str) -> dict[str, Any]:
    """A text object that Slack does not parse; `:smile:` stays what was written."""
    return plain_object(text).to_dict()


def plain_object(text: str) -> PlainTextObject:
    """The same as the SDK's object, which its elements take."""
    return PlainTextObject(text=text, emoji=False)


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def value_of(button: Button, *, most: int = VALUE) -> str:
    return write_value(button.action, workspace=button.workspace, most=most) if button.action else ""


def draw_button(button: Button, number: int) -> InteractiveElement:
    """A button as an element; `number` tells it from its neighbours."""
    if button.picks_time:
        return DateTimePickerElement(action_id=f"{PICK}{value_of(button)}")
    if button.picks_person:  # works in messages, also in those that one person sees, and in modals
        # https://docs.slack.dev/reference/block-kit/block-elements/select-menu-element#users_select
        placeholder = plain_object(cut(visible(button.label), LABEL) or "…")
        return UserSelectElement(action_id=f"{PICK}{value_of(button)}", placeholder=placeholder)
    leads = bool(button.url) and button.action is None
    return ButtonElement(
        text=plain_object(cut(visible(button.label), LABEL) or "…"),
        action_id=f"{RUN}_{number}",
        value=None if leads else value_of(button),
        url=button.url or None,
        style=None if leads else _STYLES.get(button.tone),
    )


def overflow(buttons: Sequence[Button]) -> OverflowMenuElement:
    options = [
        Option(text=plain_object(cut(visible(b.label), LABEL) or "…"), value=value_of(b, most=OPTION_VALUE))
        for b in buttons
    ]
    return OverflowMenuElement(action_id=f"{RUN}_menu", options=options)


def text_element(text: str, **style: bool) -> dict[str, Any]:
    return {"type": "text", "text": text} | ({"style": style} if style else {})


def link_element(text: str, url: str) -> dict[str, Any]:
    """https://docs.slack.dev/reference/block-kit/block-elements/link-element; `mailto:` is a link like any other.

    https://docs.slack.dev/messaging/formatting-message-text#linking_to_urls
    """
    return {"type": "link", "url": url, "text": text}


def rich(*parts: dict[str, Any]) -> Block:
    return {"type": "rich_text", "elements": list(parts)}


def rich_elements(text: str) -> list[dict[str, Any]]:
    """The sentence's words and code, for a rich text section."""
    parts = _CODE.split(text)  # words and code in turn
    return [
        text_element(part, code=True) if n % 2 else text_element(part) for n, part in enumerate(parts) if part
    ]


def without_marks(text: str) -> str:
    return _CODE.sub(r"\1", text)
