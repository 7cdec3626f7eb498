"""Cards in a terminal and in a pipe."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from cli.console import card_output
from cli.console.card_output import Look
from shared.domain.card import Button, Card, Fact, Tone, Typed

CARD = Card(
    title="Q3 CTO is paused",
    tone=Tone.WARN,
    text=("It resumes by itself. Replies were 50 (2.6%) of all, which is why.",),
    facts=(Fact(label="Health", value="91", tone=Tone.GOOD), Fact(label="Id", value="sq_1")),
    quote="Hi,\n\x1b[31mcall me\x1b[0m",
    buttons=(
        Button(label="Resume", action=Typed("resume sq_1")),
        Button(label="Status", action=Typed("status")),
    ),
    footer="16:40 UTC",
)


def lines(card: Card, look: Look) -> list[str]:
    return [line.plain for line in card_output.render(card, look)]


def test_a_card_is_shown_in_its_order_and_the_buttons_as_lines_to_type() -> None:
    assert lines(CARD, Look(interactive=True)) == [
        "▲ Q3 CTO is paused",
        "It resumes by itself. Replies were 50 (2.6%) of all, which is why.",
        "",
        "Health  ✓ 91",
        "Id        sq_1",
        "",
        "│ Hi,",
        "│ call me",
        "",
        "→ outreach resume sq_1  Resume",
        "→ outreach status       Status",
        "16:40 UTC",
    ]


def test_a_pipe_gets_no_hints_about_commands() -> None:
    shown = lines(CARD, Look())
    assert "▲ Q3 CTO is paused" in shown
    assert not [line for line in shown if "outreach" in line]


@pytest.mark.parametrize("width", range(20, 60))
def test_a_number_keeps_its_sign_when_lines_break(width: int) -> None:
    assert any("2.6%" in line for line in lines(CARD, Look(width=width)))


def test_without_unicode_every_line_is_ascii() -> None:
    shown = lines(CARD, Look(ascii=True, interactive=True))
    assert len(shown) == len(lines(CARD, Look(interactive=True)))
    assert all(line.isascii() for line in shown)


class _Screen(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> _Screen:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    return _Screen()


def test_a_terminal_gets_colors(screen: _Screen) -> None:
    card_output.show(CARD, stream=screen)
    assert "\x1b[" in screen.getvalue()
    assert "\x1b[31m" not in screen.getvalue()


def test_no_color_is_honoured(screen: _Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    card_output.show(CARD, stream=screen)
    assert not re.search(r"\x1b\[(\d+;)*[349][0-7]m", screen.getvalue())


def test_a_pipe_gets_plain_text_of_any_width() -> None:
    pipe = io.StringIO()
    card_output.show(Card(title="x" * 300), stream=pipe)
    assert pipe.getvalue() == "x" * 300 + "\n"


def test_markup_of_a_lead_is_text(screen: _Screen) -> None:
    card_output.show(Card(title="[bold red]Ann[/] :smile:"), stream=screen)
    assert "[bold red]Ann[/] :smile:" in screen.getvalue()


def test_a_look_follows_the_stream_and_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setenv("COLUMNS", "66")
    assert card_output.look_of(pipe, Console(file=pipe)) == Look(width=66, ascii=True)
