"""Replaces channel ids in a Card by names, where Slack would show `<#C1>` or an id unchanged. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from shared.domain.card import Card, Table

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
    known = {channel: name for channel, name in names.items() if name}

    def named(match: re.Match[str]) -> str:
        return known.get(match["linked"] or match["bare"], match[0])

    if not known:
        return card
    renamed = changed(card, lambda text: _REFERENCE.sub(named, text))
    if renamed.title != card.title:  # `this conversation` may begin it
        renamed = replace(renamed, title=f"{renamed.title[:1].upper()}{renamed.title[1:]}")
    return renamed


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
