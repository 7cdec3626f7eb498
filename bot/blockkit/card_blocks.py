"""Renders a Card as Block Kit within Slack's limits, so that Slack interprets none of its text.

Pure. Text from outside goes into `plain_text`, `rich_text` and `raw_text` objects, which can't mention, link or
style; the fallback `text`, which Slack parses, is escaped. Limits: Slack's reference of
blocks, and the undocumented 13,200 characters over all blocks of a message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from slack_sdk.models.blocks import (
    ActionsBlock,
    ContextBlock,
    HeaderBlock,
    InteractiveElement,
)

from bot.blockkit import elements, tables
from bot.blockkit.elements import (
    LABEL,
    MENU,
    OPTION_VALUE,
    VALUE,
    Block,
    cut,
    draw_button,
    overflow,
    plain,
    rich,
    value_of,
)
from bot.blockkit.tables import MARKS
from shared.domain.card import Button, Card, Fact, Table
from shared.text.sanitize import visible, visible_lines

TOTAL = 13_000
"""Characters over all blocks, under the 13,200 at which Slack refuses the message."""
HEADER, SECTION, QUOTE, CONTEXT, FALLBACK, EXCERPT = 150, 2_800, 1_500, 1_000, 2_000, 140
ROW_OF_BUTTONS, FACTS, PARAGRAPHS = 10, 20, 10
MOST_BLOCKS = 50
DATE = "{date_short_pretty}, {time}"

NOTE = "note"
"""The `block_id` of a line of ours that stands below a card for a while."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What `chat.postMessage` and its like are given."""

    text: str
    blocks: list[Block]


def render(card: Card) -> Message:
    """The Card as a message; if it is too long, the quote and the table are cut first, with a note."""
    message = Message(text=fallback(card), blocks=_draw(card))
    if size(message.blocks) <= TOTAL:
        return message
    return Message(text=message.text, blocks=_shrunk(card))


def _shrunk(card: Card) -> list[Block]:
    for rows, letters in ((40, 600), (20, 600), (10, 300), (5, 120), (0, 60)):
        blocks = _draw(_trimmed(card, rows=rows, letters=letters))
        if size(blocks) <= TOTAL:
            return blocks
    return [_header(card), _small("Too long to show here.")]


def _trimmed(card: Card, *, rows: int, letters: int) -> Card:
    return replace(
        card,
        text=tuple(cut(text, letters) for text in card.text[:rows]),
        facts=tuple(replace(fact, value=cut(fact.value, letters)) for fact in card.facts[:rows]),
        details=tuple(replace(fact, value=cut(fact.value, letters), url="") for fact in card.details),
        quote=cut(card.quote, letters),
        table=card.table and _fewer(card.table, rows),
        buttons=card.buttons[:rows],
        footer=cut(card.footer, letters),
    )


def _fewer(table: Table, rows: int) -> Table:
    return replace(table, rows=table.rows[:rows], total=table.total or len(table.rows))


def size(blocks: Sequence[Block]) -> int:
    return len(json.dumps(blocks))


def fallback(card: Card) -> str:
    quoted = cut(" ".join(visible(card.quote).split()), EXCERPT)
    text = cut(visible(elements.without_marks(card.summary)), FALLBACK)
    return escape(" ".join(filter(None, (text, quoted and f"“{quoted}”")))) or "Outreach"


def escape(text: str) -> str:
    """Text for places that Slack parses: `& < >` cannot open a mention or a link."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


_MARK = re.compile(r"(?<!\w)[*_~`](?=\S)|:(?=[\w+-]+:)")
"""What would begin a style or an emoji."""


def escape_marks(text: str) -> str:
    """Text from outside for a line of ours that Slack parses: no mention, link, style or emoji comes of it."""
    return _MARK.sub("\\g<0>\u2060", escape(visible(text)))


def date(at: datetime, *, with_day: bool) -> str:
    """A moment in the time zone of each reader, for a line that Slack parses."""
    shown = f"{at:%-d %b %H:%M} UTC" if with_day else f"{at:%H:%M} UTC"
    return f"<!date^{int(at.timestamp())}^{DATE if with_day else '{time}'}|{shown}>"


def render_line(line: str, details: str = "", *, buttons: Sequence[Button] = ()) -> Message:
    """A line of ours, with its button beside it, and details in small letters below.

    `line` is mrkdwn: what comes from outside went through `escape_marks`. `verbatim` has Slack link no names in it.
    https://docs.slack.dev/reference/block-kit/composition-objects/text-object
    """
    first: Block = {"type": "section", "text": {"type": "mrkdwn", "text": line, "verbatim": True}}
    if len(buttons) == 1:
        first["accessory"] = draw_button(buttons[0], 0).to_dict()
    rest = (context(details), actions(buttons) if len(buttons) > 1 else None)
    return Message(text=line, blocks=[first, *(block for block in rest if block)])


def _draw(card: Card) -> list[Block]:
    words: tuple[Block | None, ...] = (
        *(_paragraph(text) for text in card.text[:1]),
        _code(card.code),
        *(_paragraph(text) for text in card.text[1:PARAGRAPHS]),
        _facts(card.facts[:FACTS]),
    )
    figures: tuple[Block | None, ...] = (
        tables.draw(card.table, caption=elements.without_marks(card.title)),
        context(tables.rest(card.table)),
    )
    buttons = actions(card.buttons)
    quote = _quote(card.quote)
    if card.notifies:  # on a phone the buttons stand below what they are about
        first = rich(_title_section(card), quote) if quote else _header(card)
        parts = [first, *words, _fine_print(card), buttons, *figures]
    else:
        parts = [_header(card), *words, quote and rich(quote), *figures, buttons, _fine_print(card)]
    return [part for part in parts if part]


def _title(card: Card) -> str:
    title = MARKS[card.tone] + (visible(elements.without_marks(card.title)).strip() or "Outreach")
    return cut(title, HEADER)


def _header(card: Card) -> Block:
    return HeaderBlock(text=plain(_title(card))).to_dict()


def _title_section(card: Card) -> dict[str, Any]:
    """The title in the block of the quote: a desktop notification is made of blocks, and may read only the first.

    https://docs.slack.dev/changelog/2026/07/13/notification-changes
    """
    return {"type": "rich_text_section", "elements": [elements.text_element(_title(card), bold=True)]}


def _paragraph(text: str) -> Block | None:
    shown = cut(visible_lines(text).strip(), SECTION)
    return rich({"type": "rich_text_section", "elements": elements.rich_elements(shown)}) if shown else None


def _code(code: str) -> Block | None:
    """Text to copy, which Slack draws letter by letter.

    https://docs.slack.dev/reference/block-kit/blocks/rich-text-block#rich_text_preformatted
    """
    shown = cut(visible_lines(code).strip(), SECTION)
    text = {"type": "rich_text_preformatted", "elements": [elements.text_element(shown)]}
    return rich(text) if shown else None


def _facts(facts: Iterable[Fact]) -> Block | None:
    lines: list[dict[str, Any]] = []
    for fact in facts:
        lines += [
            elements.text_element(f"{cut(visible(fact.label), LABEL)}  ", bold=True),
            _value(fact),
            elements.text_element("\n"),
        ]
    return rich({"type": "rich_text_section", "elements": lines[:-1]}) if lines else None


def _value(fact: Fact) -> dict[str, Any]:
    """A time in the reader's time zone; Slack requires a fallback."""
    text = MARKS[fact.tone] + (cut(visible(fact.value).strip(), 300) or "unknown")
    if fact.url:
        return elements.link_element(text, fact.url)
    if fact.at is None:
        return elements.text_element(text)
    return {"type": "date", "timestamp": int(fact.at.timestamp()), "format": DATE, "fallback": text}


def _quote(quote: str) -> dict[str, Any] | None:
    shown = cut(visible_lines(quote).strip(), QUOTE)
    return {"type": "rich_text_quote", "elements": [elements.text_element(shown)]} if shown else None


def actions(buttons: Sequence[Button]) -> Block | None:
    """A row of buttons, and a menu of those that belong into one."""
    row = [b for b in buttons if not _in_menu(b)][:ROW_OF_BUTTONS]
    menu = [b for b in buttons if _in_menu(b)][:MENU]
    drawn: list[InteractiveElement] = [
        draw_button(button, n) for n, button in enumerate(row) if len(value_of(button)) <= VALUE
    ]
    if len(menu) > 1:
        drawn.append(overflow(menu))
    else:  # a menu of one is a button
        drawn += [draw_button(button, len(row)) for button in menu]
    return row_of(drawn) if drawn else None


def _in_menu(button: Button) -> bool:
    return button.menu and len(value_of(button, most=OPTION_VALUE)) <= OPTION_VALUE


def row_of(drawn: Sequence[InteractiveElement]) -> Block:
    return ActionsBlock(elements=drawn).to_dict()


def _fine_print(card: Card) -> Block | None:
    """Details and footer in one small line; times and links are the only text that Slack parses, and both are ours."""
    if not card.details:
        return context(card.footer)
    drawn: list[dict[str, Any]] = []
    words = [fact.value for fact in card.details if fact.at is None]
    if shown := cut(visible(" · ".join(word for word in words if word)).strip(), CONTEXT):
        drawn.append(plain(shown))
    for fact in card.details:
        if fact.at is not None:
            label = f"{escape(fact.label)} " if fact.brief else ""
            moment = f"{label}<!date^{int(fact.at.timestamp())}^{DATE}|{escape(fact.value)}>"
            drawn.append({"type": "mrkdwn", "text": moment})
        elif fact.url:
            drawn.append({"type": "mrkdwn", "text": f"<{escape(fact.url)}|{escape(fact.label)}>"})
    if shown := cut(visible(elements.without_marks(card.footer)).strip(), CONTEXT):
        drawn.append(plain(shown))
    return {"type": "context", "elements": drawn} if drawn else None


def _small(text: str) -> Block:
    return ContextBlock(elements=[plain(text)]).to_dict()


def context(footer: str) -> Block | None:
    """A line in small grey letters; None where there is nothing to say."""
    shown = cut(visible(elements.without_marks(footer)).strip(), CONTEXT)
    return _small(shown) if shown else None


def with_note(message: Message, text: str) -> Message:
    """The message with a line of ours below it, where there is room for one."""
    note = _small(text) | {"block_id": NOTE}
    if len(message.blocks) >= MOST_BLOCKS or size([*message.blocks, note]) > TOTAL + 200:
        return message
    return Message(text=message.text, blocks=[*message.blocks, note])


def with_block(message: Message, block: Block | None) -> Message:
    """The message with a block above its buttons, where that leaves it short enough."""
    if block is None or size([*message.blocks, block]) > TOTAL:
        return message
    at = next(
        (n for n, drawn in enumerate(message.blocks) if drawn["type"] == "actions"), len(message.blocks)
    )
    return Message(text=message.text, blocks=[*message.blocks[:at], block, *message.blocks[at:]])
