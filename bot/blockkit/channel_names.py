"""A channel in a Card by its name, where the platform's `<#C1>` would be shown as it stands. Pure."""

from __future__ import annotations

from dataclasses import replace

from shared.domain.card import Card, Row, Table


def with_channel_name(card: Card, *, channel: str, name: str) -> Card:
    """The Card with this one channel's reference as `#name`; commands of buttons keep the reference."""
    if not channel or not name:
        return card
    card = _replaced(card, f"<#{channel}>", f"#{name}")
    return _replaced(card, f"slack {channel}", f"Slack #{name}")


def _replaced(card: Card, reference: str, shown: str) -> Card:
    return replace(
        card,
        title=card.title.replace(reference, shown),
        text=tuple(text.replace(reference, shown) for text in card.text),
        facts=tuple(replace(fact, value=fact.value.replace(reference, shown)) for fact in card.facts),
        table=card.table and _table(card.table, reference, shown),
    )


def _table(table: Table, reference: str, shown: str) -> Table:
    rows = tuple(
        Row(
            cells=tuple(c.replace(reference, shown) if isinstance(c, str) else c for c in row.cells),
            tone=row.tone,
        )
        for row in table.rows
    )
    return replace(table, rows=rows)
