"""Renders Cards as Block Kit within Slack's limits, so that Slack interprets none of their text.

Pure. Text from outside goes into `plain_text`, `rich_text` and `raw_text` objects, which can't mention, link or
style; the fallback `text`, which Slack parses, is escaped. Limits: Slack's reference of
blocks, and the undocumented 13,200 characters over all blocks of a message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from bot.blockkit import tables
from bot.blockkit.elements import (
    LABEL,
    MENU,
    OPTION_VALUE,
    VALUE,
    Block,
    cut,
    draw_button,
    link_element,
    overflow,
    plain,
    quotation,
    rich,
    rich_elements,
    section,
    text_element,
    value_of,
    without_marks,
)
from bot.blockkit.tables import MARKS
from shared.domain.card import Button, Card, Fact
from shared.frozen import frozen
from shared.text.sanitize import visible, visible_lines

TOTAL = 13_000
"""Characters over all blocks, under the 13,200 at which Slack refuses the message."""
TITLE, PARAGRAPH, QUOTE, CONTEXT, FALLBACK, EXCERPT, FACT = 150, 2_800, 1_500, 1_000, 2_000, 140, 300
ROW_OF_BUTTONS, FACTS, PARAGRAPHS = 10, 20, 10
MOST_BLOCKS = 50
DATE = "{date_short_pretty}, {time}"
SHRINKING = ((40, 600), (20, 600), (10, 300), (5, 120), (0, 60))
"""Rows and letters of a card that is too long, until it is short enough."""

LINE = (120, 400, 0)
LIST_SIZES = ((120, 200, 160), (100, 120, 80), (80, 60, 40), (60, 30, 0), (20, 0, 0))
"""Letters of title, facts and quote of an item; the last fits for twenty items of any alphabet."""
ITEM_BUTTONS, ITEM_BUTTON = 2, 100
"""Buttons of an item in a list, and the characters of one as it travels: `claim al_…` and its label."""
VIEW_ROWS = (40, 20, 10, 5)
"""The numbers of a table's rows that are tried in a view, until they fit."""
VIEW_QUOTE, VIEW_QUOTES = 2_800, 12
"""Characters of each part of a quote in a view, and how many parts are shown."""


@frozen
class Message:
    """Text and blocks, as `chat.postMessage` and its like take them."""

    text: str
    blocks: list[Block]


def render(card: Card) -> Message:
    """The Card as a message; if it is too long, the quote and the table are cut first, with a note."""
    blocks = _draw(card)
    for rows, letters in SHRINKING:
        if size(blocks) <= TOTAL:
            break
        blocks = _draw(_trimmed(card, rows=rows, letters=letters))
    if size(blocks) > TOTAL:
        blocks = _draw(Card(title=card.title, tone=card.tone, footer="Too long to show here."))
    return Message(text=fallback(card), blocks=blocks)


def _trimmed(card: Card, *, rows: int, letters: int) -> Card:
    table = card.table
    if table:
        table = replace(table, rows=table.rows[:rows], total=table.total or len(table.rows))
    return replace(
        card,
        text=tuple(cut(text, letters) for text in card.text[:rows]),
        facts=tuple(replace(fact, value=cut(fact.value, letters)) for fact in card.facts[:rows]),
        details=tuple(replace(fact, value=cut(fact.value, letters), url="") for fact in card.details),
        quote=cut(card.quote, letters),
        table=table,
        buttons=card.buttons[:rows],
        footer=cut(card.footer, letters),
    )


def size(blocks: Sequence[Block]) -> int:
    return len(json.dumps(blocks))


def fallback(card: Card) -> str:
    """The text for notifications and screen readers."""
    quoted = cut(" ".join(visible(card.quote).split()), EXCERPT)
    text = cut(visible(without_marks(card.summary)), FALLBACK)
    return escape(" ".join(filter(None, (text, quoted and f"“{quoted}”")))) or "Outreach"


def escape(text: str) -> str:
    """Text for places that Slack parses: `& < >` cannot open a mention or a link."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


_MARK = re.compile(r"(?<!\w)[*_~`](?=\S)|:(?=[\w+-]+:)")
"""The marks that would begin a style or an emoji."""


def escape_marks(text: str) -> str:
    """Text from outside for a line of ours that Slack parses: no mention, link, style or emoji comes of it."""
    return _MARK.sub("\\g<0>\u2060", escape(visible(text)))


def date(at: datetime, *, with_day: bool) -> str:
    """A moment in the time zone of each reader, for a line that Slack parses."""
    utc = f"{at:%-d %b %H:%M} UTC" if with_day else f"{at:%H:%M} UTC"
    return f"<!date^{int(at.timestamp())}^{DATE if with_day else '{time}'}|{utc}>"


def _draw(card: Card) -> list[Block]:
    title = cut(MARKS[card.tone] + (visible(without_marks(card.title)).strip() or "Outreach"), TITLE)
    header: Block = {"type": "header", "text": plain(title)}
    words = [_paragraph(text) for text in card.text[:PARAGRAPHS]]
    if code := cut(visible_lines(card.code).strip(), PARAGRAPH):
        # To copy, so Slack draws it letter by letter:
        # https://docs.slack.dev/reference/block-kit/blocks/rich-text-block#rich_text_preformatted
        words.insert(1, rich({"type": "rich_text_preformatted", "elements": [text_element(code)]}))
    if card.facts:
        words.append(_facts(card.facts[:FACTS]))
    figures = [tables.draw(card.table), context(tables.remaining(card.table))] if card.table else []
    buttons, fine_print = actions(card.buttons), _fine_print(card)
    quoted = cut(visible_lines(card.quote).strip(), QUOTE)
    parts: list[Block | None]
    if card.notifies:
        # A desktop notification is made of blocks, and may read only the first: title and quote are one. On a phone
        # the buttons stand below what they are about. https://docs.slack.dev/changelog/2026/07/13/notification-changes
        named = rich(section(text_element(title, bold=True)), quotation(quoted)) if quoted else header
        parts = [named, *words, fine_print, buttons, *figures]
    else:
        quote = rich(quotation(quoted)) if quoted else None
        parts = [header, *words, quote, *figures, buttons, fine_print]
    return [part for part in parts if part]


def _paragraph(text: str) -> Block | None:
    words = cut(visible_lines(text).strip(), PARAGRAPH)
    return rich(section(*rich_elements(words))) if words else None


def _facts(facts: Sequence[Fact]) -> Block:
    """A line for each; a time is in the reader's time zone, with the fallback that Slack requires."""
    lines: list[Block] = []
    for fact in facts:
        text = MARKS[fact.tone] + (cut(visible(fact.value).strip(), FACT) or "unknown")
        value = link_element(text, fact.url) if fact.url else text_element(text)
        if fact.at and not fact.url:
            stamp = int(fact.at.timestamp())
            value = {"type": "date", "timestamp": stamp, "format": DATE, "fallback": text}
        label = text_element(f"{cut(visible(fact.label), LABEL)}  ", bold=True)
        lines += [label, value, text_element("\n")]
    return rich(section(*lines[:-1]))


def actions(buttons: Sequence[Button], *, first: int = 0) -> Block | None:
    """A row of buttons, and a menu of those that belong into one; `first` tells them from those of another row."""
    row: list[Button] = []
    menu: list[Button] = []
    for button in buttons:
        in_menu = button.menu and len(value_of(button, most=OPTION_VALUE)) <= OPTION_VALUE
        (menu if in_menu else row).append(button)
    if len(menu) == 1:  # a menu of one is a button
        row, menu = [*row[: ROW_OF_BUTTONS - 1], *menu], []
    numbered = enumerate(row[:ROW_OF_BUTTONS], first)
    drawn = [draw_button(button, n) for n, button in numbered if len(value_of(button)) <= VALUE]
    drawn += [overflow(menu[:MENU])] if menu else []
    return {"type": "actions", "elements": drawn} if drawn else None


def _fine_print(card: Card) -> Block | None:
    """Details and footer in one small line; times and links are the only text that Slack parses, and both are ours."""
    words = " · ".join(fact.value for fact in card.details if fact.at is None and fact.value)
    drawn: list[Block] = []
    for fact in card.details:
        if fact.at is not None:
            label = f"{escape(fact.label)} " if fact.brief else ""
            text = f"{label}<!date^{int(fact.at.timestamp())}^{DATE}|{escape(fact.value)}>"
            drawn.append({"type": "mrkdwn", "text": text})
        elif fact.url:
            drawn.append({"type": "mrkdwn", "text": f"<{escape(fact.url)}|{escape(fact.label)}>"})
    above, below = context(words), context(card.footer)
    elements = [*(above or _NOTHING)["elements"], *drawn, *(below or _NOTHING)["elements"]]
    return {"type": "context", "elements": elements} if elements else None


_NOTHING: Block = {"elements": []}


def context(text: str) -> Block | None:
    """A line in small grey letters; None where there is nothing to say."""
    words = cut(visible(without_marks(text)).strip(), CONTEXT)
    return {"type": "context", "elements": [plain(words)]} if words else None


def render_line(line: str, details: str = "", *, buttons: Sequence[Button] = ()) -> Message:
    """A line of ours, with its button beside it, and details in small letters below.

    `line` is mrkdwn: what comes from outside went through `escape_marks`. `verbatim` has Slack link no names in it.
    https://docs.slack.dev/reference/block-kit/composition-objects/text-object
    """
    first: Block = {"type": "section", "text": {"type": "mrkdwn", "text": line, "verbatim": True}}
    if len(buttons) == 1:
        first["accessory"] = draw_button(buttons[0], 0)
    below = (context(details), actions(buttons) if len(buttons) > 1 else None)
    return Message(text=line, blocks=[first, *(block for block in below if block)])


def render_small(card: Card) -> Message:
    """A Card that tells a channel what was done: its title in bold, the rest in a few words; all of its buttons."""
    words = [text_element(cut(visible(card.title).strip(), TITLE) or "Done", bold=True)]
    for text in card.text:
        words += rich_elements(f"\n{cut(visible_lines(text).strip(), 600)}")
    details = [f"{fact.label} {fact.value}" for fact in card.facts]
    details += [*(fact.value for fact in card.details), card.footer]
    parts = (rich(section(*words)), context(" · ".join(filter(None, details))), actions(card.buttons))
    blocks = [part for part in parts if part]
    return Message(text=fallback(card), blocks=blocks) if size(blocks) <= TOTAL else render(card)


def render_condensed(card: Card) -> Message:
    """The Card in a few lines."""
    return Message(text=fallback(card), blocks=_item(card, 0, sizes=LINE))


def render_list(title: str, cards: Sequence[Card]) -> Message:
    """Many Cards in one message under a title, a paragraph each, with its first buttons."""
    named, blocks = rich(section(text_element(title, bold=True))), []
    for sizes in LIST_SIZES:
        blocks = [named, *(block for n, card in enumerate(cards) for block in _item(card, n, sizes=sizes))]
        if size(blocks) <= TOTAL:
            break
    text = f"{title}: {'; '.join(card.title for card in cards)}"
    return Message(text=escape(cut(visible(text), FALLBACK)), blocks=blocks)


def render_with(card: Card, items: Sequence[Card]) -> Message:
    """The Card, and a paragraph with buttons for each of the items, as many as fit."""
    head = render(card)
    blocks = [*head.blocks]
    for number, item in enumerate(items):
        entry: list[Block] = [{"type": "divider"}] if number else []
        entry += _item(replace(item, buttons=()), number, sizes=LIST_SIZES[0])
        buttons = actions(item.buttons)
        entry += [buttons] if buttons else []
        if len(blocks) + len(entry) >= MOST_BLOCKS or size([*blocks, *entry]) > TOTAL - 200:
            return Message(
                text=head.text, blocks=[*blocks, *filter(None, [context(f"and {len(items) - number} more")])]
            )
        blocks += entry
    return Message(text=head.text, blocks=blocks)


def _item(card: Card, number: int, *, sizes: tuple[int, int, int]) -> list[Block]:
    """The Card as a paragraph of a list, with its first buttons."""
    title, details, quoted = sizes
    some = (*card.facts, *card.details)[:3]
    values = (f"{fact.label} {fact.value}" if fact.at else fact.value for fact in some)
    facts = " · ".join(visible(part) for part in (*card.text, *values) if part)
    words = [text_element(MARKS[card.tone] + (cut(visible(card.title).strip(), title) or "…"), bold=True)]
    if card.quote and quoted:
        words.append(text_element(f"\n“{cut(visible(card.quote), quoted)}”"))
    if facts and details:
        words += rich_elements(f"\n{cut(facts, details)}")
    first = card.buttons[:ITEM_BUTTONS]
    short = [button for button in first if len(json.dumps((button.label, value_of(button)))) <= ITEM_BUTTON]
    buttons = actions(short, first=ITEM_BUTTONS * number)
    return [rich(section(*words)), *([buttons] if buttons else [])]


def render_view(card: Card, *, items: Sequence[Card] = ()) -> list[Block]:
    """The blocks of a modal, with everything that a message would show.

    Views can't have tables, so their rows become lines of text; and they hold more of a quote
    (https://docs.slack.dev/reference/views: 100 blocks).
    """
    bare = replace(card, table=None, quote="")
    blocks = (render_with(bare, items) if items else render(bare)).blocks
    at = next((n for n, block in enumerate(blocks) if block["type"] == "actions"), len(blocks))
    above, below = blocks[:at], blocks[at:]
    for rows in VIEW_ROWS if card.table and card.table.rows else ():
        assert card.table
        lines = tables.draw_lines(card.table, rows=rows, remaining=True)
        if size([*blocks, lines]) <= TOTAL:
            above.append(lines)
            break
    text = visible_lines(card.quote).strip()
    parts = [text[start : start + VIEW_QUOTE] for start in range(0, len(text), VIEW_QUOTE)]
    above += [rich(quotation(part)) for part in parts[:VIEW_QUOTES]]
    if left := sum(map(len, parts[VIEW_QUOTES:])):
        above.append(rich(section(text_element(f"{left:,} more characters"))))
    return [*above, *below]
