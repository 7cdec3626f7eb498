"""What widgets and dialogs draw, without a screen: words, lanes in their columns, large letters and questions."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from rich.console import Console, RenderableType
from rich.style import Style
from syrupy.assertion import SnapshotAssertion

from shared.api.pace import BudgetState
from shared.commands.base import Choice, Question
from shared.commands.undo import UndoChange
from shared.domain.card import Button, Card, Column, Row, Table
from tests.kit.snapshots import NOW, account, board_of
from tui.model.frame import Frame
from tui.screens.dialogs import CardDialog, Dialog, question_dialog
from tui.screens.report import packed
from tui.screens.wall import burn_in_shift
from tui.theme.palette import Ink
from tui.theme.words import Lines, Words
from tui.widgets.figlet import big
from tui.widgets.head import silence


def printed(parts: Iterable[RenderableType], *, width: int = 40) -> str:
    """The parts below each other, in the colors of a terminal."""
    console = Console(width=width, color_system="truecolor", force_terminal=True, legacy_windows=False)
    with console.capture() as capture:
        console.print(*parts, sep="\n")
    return capture.get().replace("\x1b", "")


def test_words_show_what_differs_and_what_is_late(snapshot: SnapshotAssertion) -> None:
    plain = Words(((" a b ", Ink.STRONG), ("──", Ink.FAINT), ("stopped", Ink.STOPPED), (" ", Ink.TEXT)))
    drawing = []
    for words in (plain, replace(plain, lit=True), replace(plain, faded=True), replace(plain, wraps=True)):
        drawing += [f"{part.text}<{part.style}>" for part in words.segments(Style(bgcolor="red"))]
        both = [Lines((words, words), is_row=is_row) for is_row in (True, False)]
        drawing += [printed([words], width=12), printed(both)]
    assert "\n".join(drawing) == snapshot


def test_large_letters_are_as_large_as_fits_and_break_between_words(snapshot: SnapshotAssertion) -> None:
    rows = []
    for width, height in (
        (86, 12),
        (86, 6),
        (86, 5),
        (43, 12),
        (42, 12),
        (41, 8),
        (41, 7),
        (24, 20),
        (23, 9),
    ):
        rows += [f"{width} {height}", *big("Ok é up 90%", width=width, height=height)]
    assert "\n".join(rows) == snapshot


def test_the_wall_moves_by_a_cell_round_a_square() -> None:
    moves = [burn_in_shift(timedelta(minutes=minutes)) for minutes in (-1, 9, 10, 20, 30, 40)]
    assert moves == [(0, 0), (0, 0), (1, 0), (1, 1), (0, 1), (0, 0)]


def drawn_dialog(dialog: Dialog) -> str:
    answers = [f"{one.key}: {one.label} → {one.value}" for one in dialog.answers]
    return "\n".join([printed(dialog.body(), width=60), *answers])


def test_questions_name_what_they_change_and_each_answer_has_a_key(snapshot: SnapshotAssertion) -> None:
    acts = [UndoChange(change=number) for number in range(12)]
    drawing = []
    for names, labels, takes_hours in (
        (0, ["Pause"], False),
        (12, ["Pause"], True),
        (13, ["Pause now", "Pause for a day", "Pause [all]"], True),
        (1, ["Ann", "Ben"], False),
    ):
        rows = tuple(Row((f"n{number}", 1)) for number in range(names))
        table = Table((Column("Name"),), rows) if names else None
        card = Card(f"Title of {names}\x1b", text=("Why\x1b", "pause n"), table=table)
        choices = tuple(map(Choice, labels, acts))
        question = Question(card=card, choices=choices, no="No", line="pause n")
        drawing.append(drawn_dialog(question_dialog(question, takes_hours=takes_hours)))
    buttons = tuple(Button(label=f"B{act.change}", action=act, workspace="w" * act.change) for act in acts)
    drawing.append(drawn_dialog(CardDialog(Card("Ten", buttons=buttons))))
    assert "\n".join(drawing) == snapshot


def test_a_service_that_wants_silence_is_named_until_it_ends() -> None:
    def told(resumes_at: float | None) -> str:
        budget = BudgetState(rate=10, resumes_at=resumes_at)
        frame = Frame(board=board_of(account(budget=budget)), now=NOW)
        return "".join(text for text, _ in silence(frame))

    at = NOW.timestamp()
    assert [told(one) for one in (None, at, at + 89.6)] == ["", "", "▲ 429: paused for 90 s  "]
    assert silence(Frame.empty("acme", now=NOW)) == []


def test_an_export_for_a_browser_is_one_archive() -> None:
    file = packed({"a.csv": "é", "b.txt": ""})
    assert file.read(2) == b"PK"
    with zipfile.ZipFile(file) as archive:
        assert {name: archive.read(name).decode() for name in archive.namelist()} == {
            "a.csv": "é",
            "b.txt": "",
        }
