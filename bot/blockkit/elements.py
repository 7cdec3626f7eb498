"""Text objects and buttons of Block Kit, inside the limits of Slack's reference of block elements. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from bot.blockkit.actions import write_value
from shared.commands import COMMANDS
from shared.commands.base import ALIASES
from shared.domain.card import Button, Tone
from shared.text.sanitize import visible

Block = dict[str, Any]

LABEL, VALUE, OPTION_VALUE, MENU = 75, 2_000, 150, 5
RUN = "run"
"""Every button's `action_id` begins with it; its value says what it does (`bot.blockkit.actions`)."""
PICK = f"{RUN}_at:"
"""Begins the `action_id` of an element that picks a time or a person; the value of the button follows."""
_STYLES = {Tone.GOOD: "primary", Tone.BAD: "danger"}

# Sentences may hold words from outside, which are not styled: only what begins as a command of ours counts as code.
_VERBS = "|".join(map(re.escape, (*COMMANDS, *ALIASES)))
_PROGRAMS = "bot|dashboard|sandbox|doctor|webhooks|import|export|init|database"
# A mark that follows a letter ends other code: `until friday`? is no command `?`.
_CODE = re.compile(
    rf"(?<!\w)`(all|reason|(?:/?outreach (?:{_VERBS}|{_PROGRAMS})|{_VERBS}|until|for)(?: [^`@]*)?)`"
)


def plain(text: str) -> Block:
    """A text object that Slack does not parse; `:smile:` stays what was written."""
    return {"type": "plain_text", "text": text, "emoji": False}


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def value_of(button: Button, *, most: int = VALUE) -> str:
    return write_value(button.action, workspace=button.workspace, most=most) if button.action else ""


def draw_button(button: Button, number: int) -> Block:
    """A button as an element; `number` tells it from its neighbours."""
    text = plain(cut(visible(button.label), LABEL) or "…")
    if button.picks_time:
        return {"type": "datetimepicker", "action_id": f"{PICK}{value_of(button)}"}
    if button.picks_person:  # works in messages, also in those that one person sees, and in modals
        # https://docs.slack.dev/reference/block-kit/block-elements/select-menu-element#users_select
        return {"type": "users_select", "action_id": f"{PICK}{value_of(button)}", "placeholder": text}
    drawn = {"type": "button", "text": text, "action_id": f"{RUN}_{number}"}
    if button.url:
        drawn["url"] = button.url
    if button.action or not button.url:
        drawn["value"] = value_of(button)
        if button.tone in _STYLES:
            drawn["style"] = _STYLES[button.tone]
    return drawn


def overflow(buttons: Sequence[Button]) -> Block:
    """The buttons as a menu."""
    options = []
    for button in buttons:
        text = plain(cut(visible(button.label), LABEL) or "…")
        options.append({"text": text, "value": value_of(button, most=OPTION_VALUE)})
    return {"type": "overflow", "action_id": f"{RUN}_menu", "options": options}


def text_element(text: str, **style: bool) -> Block:
    return {"type": "text", "text": text} | ({"style": style} if style else {})


def link_element(text: str, url: str) -> Block:
    """https://docs.slack.dev/reference/block-kit/block-elements/link-element; `mailto:` is a link like any other.

    https://docs.slack.dev/messaging/formatting-message-text#linking_to_urls
    """
    return {"type": "link", "url": url, "text": text}


def rich(*parts: Block) -> Block:
    return {"type": "rich_text", "elements": list(parts)}


def section(*elements: Block) -> Block:
    """A paragraph of a rich text."""
    return {"type": "rich_text_section", "elements": list(elements)}


def quotation(text: str) -> Block:
    """Words from outside, as a part of a rich text."""
    return {"type": "rich_text_quote", "elements": [text_element(text)]}


def rich_elements(text: str) -> list[Block]:
    """The sentence's words and code, for a rich text section."""
    parts = _CODE.split(text)  # words and code in turn
    return [
        text_element(part, code=True) if n % 2 else text_element(part) for n, part in enumerate(parts) if part
    ]


def without_marks(text: str) -> str:
    return _CODE.sub(r"\1", text)
