"""All workspaces on one screen: each with verdict, figures and age, and the worst inboxes of all. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from shared.domain.card import Tone
from shared.domain.snapshot import Reading
from shared.domain.workspace_verdict import WorkspaceVerdict, judge_reading
from shared.text.formats import UNKNOWN, show_count
from shared.text.sanitize import visible
from tui.model.lists.columns import INBOXES, SIGN, Column, known
from tui.model.lists.lines import Freshness, InboxLine
from tui.model.workspace.board import RANK, Board, Figure
from tui.theme import formatting
from tui.theme.palette import TONE_INK, Glyphs, Ink, Piece

UNREAD = judge_reading(Reading())
MOST = 200
"""Inboxes of the list over all: what is further down is well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceLine:
    """A workspace as it stands; `age` in words, and `late` when they are a warning."""

    workspace: str
    board: Board | None
    verdict: WorkspaceVerdict
    age: str
    freshness: Freshness

    @property
    def late(self) -> bool:
        return self.freshness is not Freshness.FRESH

    @property
    def key(self) -> str:
        return self.workspace

    @property
    def tone(self) -> Tone:
        return Tone.UNKNOWN if self.late and self.verdict.tone is Tone.GOOD else self.verdict.tone

    @property
    def words(self) -> str:
        return f"{self.workspace} {self.verdict.text}"

    def figure(self, metric: str) -> Figure | None:
        figures = self.board.figures if self.board else ()
        return next((figure for figure in figures if figure.metric == metric), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class EverywhereLine:
    """An inbox, and whose it is."""

    workspace: str
    line: InboxLine

    @property
    def key(self) -> str:
        return f"{self.workspace} {self.line.key}"

    @property
    def tone(self) -> Tone:
        return self.line.tone

    @property
    def words(self) -> str:
        return f"{self.workspace} {self.line.words}"


def workspace_line(workspace: str, board: Board | None, *, now: datetime) -> WorkspaceLine:
    """The line of a workspace: as old as the older of what its verdict and its figures were read from."""
    stamps = [board.stamps[name] for name in ("inboxes", "sequence") if name in board.stamps] if board else []
    if board is None or not stamps:
        return WorkspaceLine(
            workspace=workspace, board=board, verdict=UNREAD, age="reading…", freshness=Freshness.NEVER
        )
    oldest = max(stamps, key=lambda stamp: stamp.freshness(now))
    freshness = oldest.freshness(now)
    trouble = board.trouble
    age = f"not read since {formatting.moment(trouble.since, now=now)}" if trouble else oldest.words(now)
    verdict = board.verdict_at(now)
    if trouble and freshness is Freshness.FRESH:
        freshness = Freshness.LATE
    return WorkspaceLine(workspace=workspace, board=board, verdict=verdict, age=age, freshness=freshness)


def worst(boards: Iterable[tuple[str, Board | None]]) -> Sequence[EverywhereLine]:
    """The worst inboxes over all workspaces; those that are well are left out where there are worse."""
    lines = (
        EverywhereLine(workspace=name, line=line)
        for name, board in boards
        if board
        for line in board.inboxes[:MOST]
    )
    return heapq.nsmallest(MOST, lines, key=_rank)


def _rank(one: EverywhereLine) -> tuple[int, float, str]:
    score = one.line.inbox.health_score
    return RANK[one.tone], -1 if score is None else score, one.key


def _sign(line: WorkspaceLine, _: int, glyphs: Glyphs) -> Sequence[Piece]:
    return ((glyphs.of(line.tone), TONE_INK[line.tone]),)


def _name(line: WorkspaceLine | EverywhereLine, _: int, __: Glyphs) -> Sequence[Piece]:
    return ((visible(line.workspace), Ink.STRONG if isinstance(line, WorkspaceLine) else Ink.ACCENT),)


def _verdict(line: WorkspaceLine, _: int, __: Glyphs) -> Sequence[Piece]:
    detail = f"   {visible(line.verdict.detail)}" if line.verdict.detail else ""
    return ((line.verdict.text, Ink.MUTED if line.late else Ink.TEXT), (detail, Ink.MUTED))


def headed(line: WorkspaceLine, *, glyphs: Glyphs) -> tuple[list[Piece], list[Piece]]:
    """A workspace in one line over its numerals: sign, name, verdict and figures, as far as there is room; its age."""
    name: Piece = (f" {visible(line.workspace).upper()}   ", Ink.ACCENT)
    figures = filter(None, map(line.figure, ("sends", "replies", "meetings")))
    figures_text = "   ".join(f"{show_count(figure.value)} {figure.label.lower()}" for figure in figures)
    verdict, *detail = _verdict(line, 0, glyphs)
    said: list[Piece] = [verdict, (f"   {figures_text}", Ink.TEXT), *detail]
    left = [(" ", Ink.TEXT), *_sign(line, 0, glyphs), name, *said]
    return left, [("  ", Ink.TEXT), *_age(line, 0, glyphs), (" ", Ink.TEXT)]


def _figure(column: str, label: str, metric: str, *, share: bool = False) -> Column:
    """One of the figures, or its share of the sends."""

    def of(line: WorkspaceLine) -> int | None:
        figure = line.figure(metric)
        return None if figure is None else figure.value

    def rate(line: WorkspaceLine, _: int, __: Glyphs) -> Sequence[Piece]:
        figure = line.figure(metric)
        text = figure.rate if figure else ""
        return ((text or UNKNOWN, Ink.MUTED),)

    def render(line: WorkspaceLine, _: int, __: Glyphs) -> Sequence[Piece]:
        return ((show_count(of(line)), Ink.MUTED if of(line) is None else Ink.STRONG),)

    if share:
        return Column(column, label, max(11, len(label)), rate, right=True, rank=3)
    return Column(column, label, 9, render, sort=lambda line: known(of(line)), right=True, rank=2)


def _age(line: WorkspaceLine, _: int, glyphs: Glyphs) -> Sequence[Piece]:
    sign = f"{glyphs.warn} " if line.late and line.board else ""
    return ((sign + line.age, Ink.WARN if sign else Ink.MUTED),)


WORKSPACES = (
    Column(SIGN, "", 1, _sign),
    Column("workspace", "Workspace", 16, _name, least=10, sort=lambda x: x.workspace.casefold()),
    Column("verdict", "Verdict", 64, _verdict, least=20, sort=lambda x: RANK[x.tone], grow=1),
    _figure("sends", "Sends", "sends"),
    _figure("replies", "Replies", "replies"),
    _figure("reply-rate", "Reply rate", "replies", share=True),
    _figure("positive", "Positive", "positive_replies"),
    _figure("positive-rate", "Positive rate", "positive_replies", share=True),
    _figure("meetings", "Meetings", "meetings"),
    Column("read", "Read", 24, _age, least=12, rank=1),
)


def _of_inbox(column: Column) -> Column:
    """A column of the inboxes for lines that also name their workspace."""
    sort = column.sort
    return replace(
        column,
        render=lambda one, width, glyphs: column.render(one.line, width, glyphs),
        sort=(lambda one: sort(one.line)) if sort else None,
    )


EVERYWHERE = (
    _of_inbox(INBOXES[0]),
    Column("workspace", "Workspace", 16, _name, least=8, sort=lambda x: x.workspace.casefold()),
    *map(_of_inbox, INBOXES[1:]),
)
