"""Renders Cards as Block Kit within Slack's limits, so that Slack interprets none of their text; buttons carry data. Pure.

Text from outside goes into `plain_text`, `rich_text` and `raw_text` objects, which can't mention, link or style; the
fallback `text`, which Slack parses, is escaped. Limits: Slack's reference of blocks and block elements, and the
undocumented 13,200 characters over all blocks of a message. A button's value is JSON: `["pause",{"target":["sq_1"]},"acme"]`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter

from shared.commands import COMMANDS, Invocation, invocation
from shared.commands.base import Act, Arguments
from shared.commands.undo import UndoChange
from shared.domain.card import Action, Button, Card, Column, Fact, Row, Table, Tone, Typed
from shared.frozen import frozen
from shared.text.formats import show_number
from shared.text.sanitize import visible, visible_lines

ALERT, QUESTION = "al_", "q_"
"""Begin the ids of alerts and of questions."""
ASSIGN = "assign"
LEAD, DETAILS = "lead", "details"
LOOKS = frozenset({LEAD, DETAILS})
"""Read-only: the alert's lead, and everything about its reply."""


@frozen
class OnAlert:
    """Claims, snoozes or closes an alert, acknowledges it, or shows its lead or reply."""

    verb: str
    alert: str = ""
    """Its id; empty: it is the reply of a lead that is named, or of which the line doesn't speak."""
    name: str = ""
    workspace: str | None = None
    """Where a lead of this name is."""
    detail: str = ""
    """The end of a snooze, or the reason for which a reply is closed."""
    person: str = ""
    """To whom it is assigned: the id of a user, or `@name` as it was typed; empty: it is asked for."""
    instead_of: str = ""
    """The owner when the person was asked: it isn't taken from anybody else."""
    then: str = ""
    """The line that runs afterwards."""

    @property
    def line(self) -> str:
        person = self.person if self.person.startswith("@") else self.person and f"<@{self.person}>"
        return " ".join(filter(None, (self.verb, self.alert or self.name, self.detail, person)))

    def of(self, alert: str) -> OnAlert:
        """The act on the alert that was meant."""
        return replace(self, alert=alert, name="", workspace=None)


@frozen
class Confirm:
    """Answers a question by one of its choices; the question counts once."""

    nonce: str
    choice: int = 0

    @property
    def line(self) -> str:
        return f"yes {self.nonce} {self.choice}" if self.choice else f"yes {self.nonce}"


@frozen
class Cancel:
    """Leaves a question unanswered."""

    line: str = "no"


@frozen
class OpenForm:
    """Opens the form of a command."""

    verb: str
    workspace: str = ""

    @property
    def line(self) -> str:
        """Without its words the command offers the form."""
        return f"{self.verb} @{self.workspace}" if self.workspace else self.verb


@frozen
class ShowSample:
    """Shows a sample of an interested reply's card to one person; `pressed`: a button of that card was pressed."""

    pressed: bool = False
    line: str = "help"


def is_user(name: str) -> bool:
    """True if it is the id of a person, whom a message can mention."""
    return name.startswith(("U", "W"))


_KINDS: dict[str, type[Any]] = {
    "alert": OnAlert,
    "answer": Confirm,
    "cancel": Cancel,
    "form": OpenForm,
    "sample": ShowSample,
    "undo-change": UndoChange,
}
"""The actions by their names in values, which stay: messages keep them for years. Commands have their own names."""
_NAMES = {kind: name for name, kind in _KINDS.items()}


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def write_value(action: Action, *, workspace: str = "") -> str:
    """The value of a button."""
    if isinstance(action, Typed):
        return action.line
    kind = type(action)
    name = _NAMES.get(kind, kind.__name__)
    if isinstance(action, Arguments) and not isinstance(action, Act):
        name = action.verb
    data = _adapter(kind).dump_python(action, mode="json", exclude_defaults=True)
    named = [workspace] if workspace else []
    return json.dumps([name, data, *named], ensure_ascii=False, separators=(",", ":"))


def read_value(value: str) -> Action:
    """The action of a button; a command comes as an `Invocation`, and what this version doesn't know as a line."""
    try:
        name, data, *workspace = json.loads(value)
        # Acts have no names that stay: a question lives for minutes.
        acts = {kind.__name__: kind for kind in Act.__subclasses__()}
        kind: Any = {**acts, **COMMANDS, **_KINDS}[name]
        if not data.keys() <= kind.__dataclass_fields__.keys():
            return Typed(value)
        action: Action = _adapter(kind).validate_python(data)
    except (ValueError, KeyError, TypeError, AttributeError):  # of a newer version
        return Typed(value)
    named = workspace[0] if workspace else None
    return invocation(action, workspace=named) if isinstance(action, Arguments) else action


def line_of(value: str) -> str:
    """The line that a person may type instead of a button with this value."""
    return read_value(value).line


def change_of(action: Action | None) -> int:
    """The entry of the audit that an Undo takes back; 0 if it is another action."""
    act = action.arguments if isinstance(action, Invocation) else action
    return act.change if isinstance(act, UndoChange) else 0


# -- Renders Cards as Block Kit within Slack's limits, so that Slack interprets none of their text. Pure


Block = dict[str, Any]
T = TypeVar("T")

LABEL, VALUE, OPTION_VALUE, MENU = 75, 2_000, 150, 5
TOTAL = 13_000
"""Characters over all blocks, under the 13,200 at which Slack refuses the message."""
TITLE, PARAGRAPH, QUOTE, CONTEXT, FALLBACK, EXCERPT, FACT = 150, 2_800, 1_500, 1_000, 2_000, 140, 300
ROW_OF_BUTTONS, FACTS, PARAGRAPHS = 10, 20, 10
MOST_BLOCKS = 50
DATE = "{date_short_pretty}, {time}"
SHRINKING: Sequence[tuple[int, int] | None] = (None, (40, 600), (20, 600), (10, 300), (5, 120), (0, 60))
"""Rows and letters of a card that is too long, until it is short enough; None: all of them."""
ITEM_SIZES = (400, 120, 60, 30, 0)
"""Letters of an item's facts; title and quote go by them. The last fits for twenty items of any alphabet."""
ITEM_BUTTONS, ITEM_BUTTON = 2, 100
"""Buttons of an item in a list, and the characters of one as it travels: `claim al_…` and its label."""
VIEW_QUOTE, VIEW_QUOTES = 2_800, 12
"""Characters of each part of a quote in a view, and how many parts are shown."""
CELL, PAGE, MOST_ROWS = 80, 15, 60
MOST_LINES = 20
"""Rows of which a table that is too wide becomes lines; of a longer one, the columns that fit are shown."""
SCREEN, PADDING = 27, 2
"""Characters that fit on a phone beside the first column, and what each column adds to its own."""
FIRST_CELL, OTHER_CELLS = 100, 300
"""Characters of the first cell of a line, and of the others together."""
RUN = "run"
"""Every button's `action_id` begins with it; its value says what it does (`bot.blockkit`)."""
PICK = f"{RUN}_at:"
"""Begins the `action_id` of an element that picks a time or a person; the value of the button follows."""
MARKS = {Tone.GOOD: "🟢 ", Tone.WARN: "🟠 ", Tone.BAD: "🔴 ", Tone.UNKNOWN: "⚪ ", Tone.INFO: ""}
_STYLES = {Tone.GOOD: "primary", Tone.BAD: "danger"}

_CODE = re.compile(r"(?<!\w)`([^`\n]+)`")
"""Commands in a sentence; words from outside in such marks get no more than another letterform."""
_MARK = re.compile(r"(?<!\w)[*_~`](?=\S)|:(?=[\w+-]+:)")
"""The marks that would begin a style or an emoji."""
_NUMBER = re.compile(r"(-?[0-9][0-9,]{0,14}(?:\.[0-9]{1,6})?)(?: ?%(?: ?±[0-9.]+)?)?")
"""A figure that Slack takes: it has a limit of 1e15."""


@frozen
class Message:
    """Text and blocks, as `chat.postMessage` and its like take them."""

    text: str
    blocks: list[Block]

    @property
    def body(self) -> Block:
        return {"text": self.text, "blocks": self.blocks}


# -- whole messages


def render(card: Card, items: Sequence[Card] = ()) -> Message:
    """The Card as a message, and a paragraph with buttons for each of the items, as many as fit.

    If it is too long, the quote and the table are cut first, with a note.
    """
    return Message(text=fallback(card), blocks=_with_items(_fitting_blocks(card), items))


def _fitting_blocks(card: Card, *, in_view: bool = False) -> list[Block]:
    return _sized(lambda room: _draw(_trimmed(card, room), in_view=in_view), SHRINKING)


def _trimmed(card: Card, room: tuple[int, int] | None) -> Card:
    if room is None:
        return card
    rows, letters = room
    short = changed(card, lambda text: cut(text, letters))
    table = short.table
    if table:
        table = replace(table, rows=table.rows[:rows], total=table.total or len(table.rows))
    return replace(
        short,
        title=card.title,
        text=short.text[:rows],
        facts=short.facts[:rows],
        details=tuple(replace(fact, url="") for fact in short.details),
        quote=cut(card.quote, letters),
        table=table,
        buttons=card.buttons[:rows],
    )


def size(blocks: Sequence[Block]) -> int:
    return len(json.dumps(blocks))


def fallback(card: Card) -> str:
    """The text for notifications and screen readers."""
    quoted = cut(" ".join(visible(card.quote).split()), EXCERPT)
    text = cut(visible(without_marks(card.summary)), FALLBACK)
    return escape(" ".join(filter(None, (text, quoted and f"“{quoted}”")))) or "Outreach"


def _draw(card: Card, *, in_view: bool = False) -> list[Block]:
    title = cut(MARKS[card.tone] + (visible(without_marks(card.title)).strip() or "Outreach"), TITLE)
    header: Block = {"type": "header", "text": plain(title)}
    paragraphs = [cut(visible_lines(text).strip(), PARAGRAPH) for text in card.text[:PARAGRAPHS]]
    words = [rich(section(*rich_elements(text))) for text in paragraphs if text]
    if code := cut(visible_lines(card.code).strip(), PARAGRAPH):
        # To copy, so Slack draws it letter by letter:
        # https://docs.slack.dev/reference/block-kit/blocks/rich-text-block#rich_text_preformatted
        words.insert(1, rich({"type": "rich_text_preformatted", "elements": [text_element(code)]}))
    if card.facts:
        words.append(_facts(card.facts[:FACTS]))
    figures = draw_table(card.table, in_view=in_view) if card.table else []
    buttons, fine_print = actions(card.buttons), _fine_print(card)
    quoted = cut(visible_lines(card.quote).strip(), QUOTE)
    if card.notifies:
        # A desktop notification is made of blocks, and may read only the first: title and quote are one. On a phone
        # the buttons stand below what they are about. https://docs.slack.dev/changelog/2026/07/13/notification-changes
        named = rich(section(text_element(title, bold=True)), quotation(quoted)) if quoted else header
        return [named, *words, *fine_print, *buttons, *figures]
    quote = [rich(quotation(quoted))] if quoted else []
    return [header, *words, *quote, *figures, *buttons, *fine_print]


def _facts(facts: Sequence[Fact]) -> Block:
    """A line for each; a time is in the reader's time zone, with the fallback that Slack requires."""
    lines: list[Block] = []
    for fact in facts:
        text = MARKS[fact.tone] + (cut(visible(fact.value).strip(), FACT) or "unknown")
        value = text_element(text)
        if fact.url:  # `mailto:` is a link like any other
            # https://docs.slack.dev/reference/block-kit/block-elements/link-element
            value = {"type": "link", "url": fact.url, "text": text}
        elif fact.at:
            value = _date_element(fact.at, text)
        label = text_element(f"{cut(visible(fact.label), LABEL)}  ", bold=True)
        lines += [label, value, text_element("\n")]
    return rich(section(*lines[:-1]))


def _date_element(at: datetime, text: str) -> Block:
    return {"type": "date", "timestamp": int(at.timestamp()), "format": DATE, "fallback": text}


def _fine_print(card: Card) -> list[Block]:
    """Details and footer in one small line; times and links are the only text that Slack parses, and both are ours."""
    words = " · ".join(fact.value for fact in card.details if fact.at is None and fact.value)
    elements = _small(words)
    for fact in card.details:
        if fact.at is not None:
            label = f"{escape(fact.label)} " if fact.brief else ""
            text = f"{label}<!date^{int(fact.at.timestamp())}^{DATE}|{escape(fact.value)}>"
            elements.append({"type": "mrkdwn", "text": text})
        elif fact.url:
            elements.append({"type": "mrkdwn", "text": f"<{escape(fact.url)}|{escape(fact.label)}>"})
    return context(card.footer, elements)


def _small(text: str) -> list[Block]:
    words = cut(visible(without_marks(text)).strip(), CONTEXT)
    return [plain(words)] if words else []


def context(text: str, before: Sequence[Block] = ()) -> list[Block]:
    """A line in small grey letters; none where there is nothing to say."""
    elements = [*before, *_small(text)]
    return [{"type": "context", "elements": elements}] if elements else []


def render_line(line: str, details: str = "", *, buttons: Sequence[Button] = ()) -> Message:
    """A line of ours, with its button beside it, and details in small letters below.

    `line` is mrkdwn: what comes from outside went through `escape_marks`. `verbatim` has Slack link no names in it.
    https://docs.slack.dev/reference/block-kit/composition-objects/text-object
    """
    first: Block = {"type": "section", "text": {"type": "mrkdwn", "text": line, "verbatim": True}}
    row = actions(buttons)
    if len(buttons) == 1:
        first["accessory"], row = draw_button(buttons[0], 0), []
    return Message(text=line, blocks=[first, *context(details), *row])


def render_condensed(card: Card) -> Message:
    """The Card in a few lines, with all of its buttons."""
    facts = tuple(replace(fact, value=f"{fact.label} {fact.value}", at=None) for fact in card.facts)
    short, below = replace(card, facts=facts), [*context(card.footer), *actions(card.buttons)]
    blocks = _sized(lambda letters: [_item(short, letters), *below], ITEM_SIZES)
    return Message(text=fallback(card), blocks=blocks) if _fit(blocks) else render(card)


def render_list(title: str, cards: Sequence[Card]) -> Message:
    """Many Cards in one message under a title, a paragraph each, with its first buttons."""

    def draw(letters: int) -> list[Block]:
        blocks = [rich(section(text_element(title, bold=True)))]
        for number, card in enumerate(cards):
            first = card.buttons[:ITEM_BUTTONS]
            short = [one for one in first if len(json.dumps((one.label, value_of(one)))) <= ITEM_BUTTON]
            blocks += [_item(card, letters), *actions(short, first=ITEM_BUTTONS * number)]
        return blocks

    text = f"{title}: {'; '.join(card.title for card in cards)}"
    return Message(text=escape(cut(visible(text), FALLBACK)), blocks=_sized(draw, ITEM_SIZES))


def _sized(draw: Callable[[T], list[Block]], sizes: Sequence[T]) -> list[Block]:
    """The blocks in the largest size that fits, or else the smallest."""
    blocks: list[Block] = []
    for one in sizes:
        blocks = draw(one)
        if _fit(blocks):
            break
    return blocks


def _fit(blocks: Sequence[Block]) -> bool:
    return len(blocks) < MOST_BLOCKS and size(blocks) <= TOTAL


def _with_items(blocks: list[Block], items: Sequence[Card]) -> list[Block]:
    if not items:
        return blocks
    # Texts get shorter before an item is left out: the next page begins after the last that belongs on this one.
    drawn = _sized(lambda letters: [*blocks, *_entries(items, letters)], ITEM_SIZES)
    count = len(items)
    while not _fit(drawn) and count:
        count -= 1
        more = context(f"and {len(items) - count} more")
        drawn = [*blocks, *_entries(items[:count], ITEM_SIZES[-1]), *more]
    return drawn


def _entries(items: Sequence[Card], letters: int) -> list[Block]:
    entries: list[Block] = []
    for number, item in enumerate(items):
        entries += [{"type": "divider"}] if number else []
        entries += [_item(item, letters), *actions(item.buttons)]
    return entries


def _item(card: Card, details: int) -> Block:
    """The Card as a paragraph of a list, with so many letters of its facts."""
    title, quoted = min(120, 20 + details), min(160, details * 2 // 3)
    some = (*card.facts, *card.details)[:3]
    words = [text_element(MARKS[card.tone] + (cut(visible(card.title).strip(), title) or "…"), bold=True)]
    if card.quote and quoted:
        words.append(text_element(f"\n“{cut(visible(card.quote), quoted)}”"))
    if details:
        # Of these, the sentences alone are ours: a backtick in a fact is what it is.
        said = rich_elements(cut(" · ".join(visible(text) for text in card.text if text), details))
        parts = [said] if said else []
        for fact in some:
            value = cut(visible(fact.value).strip(), details)
            if fact.at:
                parts.append([text_element(f"{fact.label} "), _date_element(fact.at, value)])
            elif value:
                parts.append([text_element(value)])
        for number, part in enumerate(parts):
            words += [text_element(" · " if number else "\n"), *part]
    return rich(section(*words))


def render_view(card: Card, *, items: Sequence[Card] = ()) -> list[Block]:
    """The blocks of a modal, with everything that a message would show.

    Views can't have tables, so their rows are lines of text; and they hold more of a quote
    (https://docs.slack.dev/reference/views: 100 blocks).
    """
    blocks = _with_items(_fitting_blocks(replace(card, quote=""), in_view=True), items)
    at = next((n for n, block in enumerate(blocks) if block["type"] == "actions"), len(blocks))
    text = cut(visible_lines(card.quote).strip(), VIEW_QUOTE * VIEW_QUOTES)
    quotes = [rich(quotation(text[start : start + VIEW_QUOTE])) for start in range(0, len(text), VIEW_QUOTE)]
    return [*blocks[:at], *quotes, *blocks[at:]]


# -- buttons


def actions(buttons: Sequence[Button], *, first: int = 0) -> list[Block]:
    """A row of buttons, and a menu of those that belong into one; `first` tells them from those of another row."""
    row = [button for button in buttons if not button.menu and len(value_of(button)) <= VALUE]
    # What is too long for a menu is left out of it: a reply's details have room for it.
    menu = [button for button in buttons if button.menu and len(value_of(button)) <= OPTION_VALUE]
    if len(menu) == 1:  # a menu of one is a button
        row, menu = [*row, *menu], []
    drawn = [draw_button(button, n) for n, button in enumerate(row[:ROW_OF_BUTTONS], first)]
    if menu:
        options = [{"text": _label(button), "value": value_of(button)} for button in menu[:MENU]]
        drawn.append({"type": "overflow", "action_id": f"{RUN}_menu", "options": options})
    return [{"type": "actions", "elements": drawn}] if drawn else []


def value_of(button: Button) -> str:
    return write_value(button.action, workspace=button.workspace) if button.action else ""


def _label(button: Button) -> Block:
    return plain(cut(visible(button.label), LABEL) or "…")


def draw_button(button: Button, number: int) -> Block:
    """A button as an element; `number` tells it from its neighbours."""
    if button.picks_time:
        return {"type": "datetimepicker", "action_id": f"{PICK}{value_of(button)}"}
    text = _label(button)
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


# -- tables


def draw_table(table: Table, *, in_view: bool = False) -> list[Block]:
    """The table as people sort it and turn its pages, or as lines where it would be wider than a phone.

    Slack's reference says neither how wide a data_table is drawn on a phone nor that its cells wrap, and a column of
    it has no `is_wrapped` as one of the older `table` has. So only what surely fits is a table; text wraps in lines.
    Sources: docs.slack.dev/reference/block-kit/blocks/data-table-block and table-block.
    """
    # For a narrow face: no column with an empty narrow title.
    kept = [n for n, column in enumerate(table.columns) if column.narrow != ""]
    rows, total = table.rows[:MOST_ROWS], max(table.total or 0, len(table.rows))
    if not rows:
        return []
    places = _columns_that_fit(table, kept, rows)
    if in_view or (len(places) < len(kept) and len(rows) <= MOST_LINES):
        lines = [_line(table, row, kept) for row in rows]
        more = [section(text_element(f"and {total - len(rows):,} more"))] if total > len(rows) else []
        return [rich(*lines, *more)]
    body = []
    for row in rows:
        cells = [_cell(row.cells[n], is_figure=table.columns[n].numeric) for n in places]
        cells[0]["text"] = MARKS[row.tone] + cells[0]["text"]
        body.append(cells)
    block = {
        "type": "data_table",
        # Slack requires one, and draws it below the message's title, which says the rest.
        "caption": show_number(total, "row"),
        "rows": [[_cell(_title(table.columns[n]) or "\u00a0") for n in places], *body],
        "page_size": min(len(rows), PAGE),
    }
    return [block, *(context(f"and {total - len(rows):,} more") if total > len(rows) else [])]


def _columns_that_fit(table: Table, places: Sequence[int], rows: Sequence[Row]) -> Sequence[int]:
    """The columns that fit beside each other; the first wraps."""
    room = SCREEN
    for count, n in enumerate(places[1:], 1):
        texts = (_title(table.columns[n]), *(show_cell(row.cells[n]) for row in rows))
        room -= PADDING + max(map(len, texts))
        if room < 0:
            return places[:count]
    return places


def _title(column: Column) -> str:
    return column.narrow or column.title


def _cell(cell: str | float | None, *, is_figure: bool = False) -> Block:
    """A cell; a figure is sorted by its value, also a share such as `6.6% ±1.8`."""
    text = show_cell(cell)
    number = _NUMBER.fullmatch(text) if is_figure else None
    if number:
        return {"type": "raw_number", "value": float(number[1].replace(",", "")), "text": text}
    return {"type": "raw_text", "text": cut(visible(text).strip(" "), CELL) or "–"}


def show_cell(cell: str | float | None) -> str:
    if cell is None:
        return "–"
    return cell if isinstance(cell, str) else f"{cell:,.10g}"


def _line(table: Table, row: Row, places: Sequence[int]) -> Block:
    words = []
    for n in places[1:]:
        cell, column = row.cells[n], table.columns[n]
        # A figure's title says what it counts; other text explains itself.
        label = column.narrow or (column.title if column.numeric else "")
        if cell not in (None, ""):
            words.append(f"{label} {show_cell(cell)}".strip())
    name = cut(visible(show_cell(row.cells[0])).strip(), FIRST_CELL) or "–"
    details = cut(visible(" · ".join(words)), OTHER_CELLS)
    return section(
        text_element(MARKS[row.tone] + name, bold=True), text_element(f"  {details}\n" if details else "\n")
    )


# -- text


def plain(text: str) -> Block:
    """A text object that Slack does not parse; `:smile:` stays what was written."""
    return {"type": "plain_text", "text": text, "emoji": False}


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def escape(text: str) -> str:
    """Text for places that Slack parses: `& < >` cannot open a mention or a link."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def escape_marks(text: str) -> str:
    """Text from outside for a line of ours that Slack parses: no mention, link, style or emoji comes of it."""
    return _MARK.sub("\\g<0>\u2060", escape(visible(text)))


def date(at: datetime, *, with_day: bool) -> str:
    """A moment in the time zone of each reader, for a line that Slack parses."""
    utc = f"{at:%-d %b %H:%M} UTC" if with_day else f"{at:%H:%M} UTC"
    return f"<!date^{int(at.timestamp())}^{DATE if with_day else '{time}'}|{utc}>"


def text_element(text: str, **style: bool) -> Block:
    return {"type": "text", "text": text} | ({"style": style} if style else {})


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


# -- channels, by name where Slack would show `<#C1>` or an id unchanged

_REFERENCE = re.compile(
    r"<#(?P<linked>[A-Z0-9]+)>"
    r"|(?<![\w#@</])(?P<bare>[CG](?=[A-Z]*\d)[A-Z0-9]{8,})(?!\w)"
)


def channels_in(card: Card) -> frozenset[str]:
    """The ids of the channels that a Card speaks of."""
    found: set[str] = set()

    def note(text: str) -> str:
        found.update(match["linked"] or match["bare"] for match in _REFERENCE.finditer(text))
        return text

    changed(card, note)
    return frozenset(found)


def with_channel_names(card: Card, names: Mapping[str, str]) -> Card:
    """The Card with each channel by its name, like `#sales`, where that is known; commands of buttons keep the reference."""

    def named(match: re.Match[str]) -> str:
        name = names.get(match["linked"] or match["bare"]) or match[0]
        # `this conversation` may begin a sentence.
        return name if match.start() else f"{name[:1].upper()}{name[1:]}"

    return changed(card, lambda text: _REFERENCE.sub(named, text))


def changed(card: Card, change: Callable[[str], str]) -> Card:
    """The Card with every text that a person reads changed."""
    return replace(
        card,
        title=change(card.title),
        text=tuple(change(text) for text in card.text),
        facts=tuple(replace(fact, value=change(fact.value)) for fact in card.facts),
        details=tuple(replace(fact, value=change(fact.value)) for fact in card.details),
        footer=change(card.footer),
        table=card.table and _table(card.table, change),
    )


def _table(table: Table, change: Callable[[str], str]) -> Table:
    rows = tuple(
        replace(row, cells=tuple(change(cell) if isinstance(cell, str) else cell for cell in row.cells))
        for row in table.rows
    )
    return replace(table, rows=rows)


# -- what Slack refuses to draw, as its words

# Slack rejects a whole message for one block: a type that isn't rolled out to the workspace yet, an undocumented limit, a
# view that is too large. Its errors name the cause in different ways, so every rejection gets the same simpler form.
# Errors: docs.slack.dev/reference/methods/chat.postMessage, chat.update and views.open.

BLOCKS_REFUSED = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long"})
VIEW_REFUSED = frozenset({"invalid_arguments", "invalid_view", "view_too_large"}) | BLOCKS_REFUSED
TEXT, SECTION = 3_900, 2_900
"""Characters of a text (over 4,000 are too long for chat.update), and of a section."""


def plainer(body: Mapping[str, Any], code: str) -> Block | None:
    """The plainer form of a call's body after this refusal; None: there is none, or it would not help."""
    if "view" in body and code in VIEW_REFUSED:
        view = plain_view(body["view"])
        return None if view == body["view"] else {**body, "view": view}
    blocks = body.get("blocks")
    if not blocks or code not in BLOCKS_REFUSED:
        return None
    # Without an empty list chat.update would keep the blocks that are there.
    return {**body, "blocks": [], "text": text_of(blocks) or body["text"]}


def text_of(blocks: Sequence[Block]) -> str:
    """Everything that blocks say, as text for `text`, which Slack parses; buttons as what to type instead."""
    return cut("\n".join(filter(None, (_words(block).strip() for block in blocks))), TEXT)


def _words(part: Block) -> str:
    """The words of a block, an element or a text object.

    What a block holds has its own: docs.slack.dev/reference/block-kit/blocks names the places.
    """
    match part:
        case {"type": "mrkdwn", "text": str(text)}:
            return text
        case {"text": str(text)} | {"fallback": str(text)}:
            return escape(text)
        case {"rows": rows}:
            return "\n".join(" · ".join(map(_words, row)) for row in rows)
        case {"text": {"text": str(label)}, "url": str(url)}:
            return f"{escape(label)}: {escape(url)}"
        case {"text": {"text": str(label)}, "value": str(value)}:
            return f"{escape(label)}: `/outreach {escape(line_of(value))}`"
    inner = [part.get(name) for name in ("text", "label", "accessory")]
    inner += [one for name in ("fields", "elements", "options") for one in part.get(name, ())]
    kind = part.get("type", "")
    between = "" if kind.startswith("rich_text_") else " " if kind == "context" else "\n"
    words = between.join(filter(None, (_words(one) for one in inner if one)))
    return "> " + words.replace("\n", "\n> ") if kind == "rich_text_quote" else words


def plain_view(view: Block) -> Block:
    """A modal or Home with nothing in it but text."""
    if all(block.get("type") == "section" for block in view["blocks"]):
        return view
    words = text_of(view["blocks"])
    parts = [words[at : at + SECTION] for at in range(0, len(words), SECTION)]
    sections = [
        {"type": "section", "text": {"type": "mrkdwn", "text": part}} for part in parts if part.strip()
    ]
    kept = ("type", "callback_id", "private_metadata", "title", "close")
    bare = {name: view[name] for name in kept if name in view}
    return {**bare, "blocks": sections or [{"type": "divider"}]}
