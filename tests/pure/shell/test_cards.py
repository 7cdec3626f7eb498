"""Cards in a terminal and in a pipe: everything in order, fitted, and nothing from outside is obeyed."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from cli.console import card_output
from shared.domain.card import Button, Card, Column, Fact, Row, Table, Tone, Typed

CARD = Card(
    title="Q3 CTO is paused",
    tone=Tone.WARN,
    text=("It resumes by itself.",),
    facts=(Fact(label="Health", value="91", tone=Tone.GOOD), Fact(label="Id", value="sq_1")),
    quote="Hi,\n\x1b[31mcall [bold]me[/] :smile:\x1b[0m",
    buttons=(Button(label="Resume", action=Typed("resume sq_1")), Button(label="", action=Typed("status"))),
    footer="16:40 UTC",
)
NAMES = ("SaaS founders in Europe, second attempt", "名前がとても長いキャンペーン", "Red\x1b[31m\nLtd\u202e")
COLUMNS = (
    Column(title="Group"),
    Column(title="Sends", numeric=True),
    Column(title="Reply rate", numeric=True),
    Column(title="Note"),
)
TABLE = Table(
    columns=COLUMNS,
    rows=tuple(
        Row(cells=(name, 1_234_567.5 * number, "12.5%", None), tone=Tone.BAD)
        for number, name in enumerate(NAMES)
    ),
)


class Screen(io.StringIO):
    """A terminal, or a pipe, with an encoding."""

    def __init__(self, *, terminal: bool = False, encoding: str = "utf-8") -> None:
        super().__init__()
        self.isatty = lambda: terminal  # type: ignore[method-assign]
        self.spoken = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self.spoken


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def shown(card: Card, **screen: object) -> str:
    stream = Screen(**screen)  # type: ignore[arg-type]
    card_output.show(card, stream=stream)
    return stream.getvalue()


def test_a_terminal_gets_colors_and_the_buttons_as_lines_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = shown(CARD, terminal=True)
    assert "\x1b[" in drawn
    assert "\x1b[31m" not in drawn
    assert "→ outreach resume sq_1" in drawn
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[(\d+;)*[349][0-7]m", shown(CARD, terminal=True))


def test_a_line_to_type_is_quoted_for_the_shell() -> None:
    """A name is the service's, and a channel's name begins a comment there."""
    lines = {
        'pause "Q3 $(reboot)" for 2h': "pause 'Q3 $(reboot)' for 2h",
        "subscribe #sales": "subscribe '#sales'",
    }
    for line, typed in lines.items():
        drawn = shown(Card("T", buttons=(Button("Go", Typed(line)),)), terminal=True)
        assert f"→ outreach {typed}" in drawn


@given(width=st.integers(40, 200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_a_table_fits_and_no_number_in_it_is_cut(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = shown(Card(title="T", table=TABLE)).splitlines()[2:]
    assert all(cell_len(line) <= width for line in lines)
    for number in range(len(NAMES)):
        (line,) = (line for line in lines if f" {1_234_567.5 * number:,.1f}" in line)
        assert line.startswith("◆ ")
        assert "12.5%" in line
