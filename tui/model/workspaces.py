"""All workspaces on one screen: each with its verdict, figures and age. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from shared.domain.card import Tone
from shared.frozen import frozen
from shared.text.formats import UNKNOWN
from tui.model.board import RANK, Figure
from tui.model.columns import SIGN, Column, number, sign_of, text_column, text_of
from tui.model.frame import Frame
from tui.model.lines import Freshness
from tui.theme.palette import SIGNS, Ink
from tui.theme.words import Piece


@frozen
class WorkspaceLine:
    """A workspace as its own board shows it."""

    frame: Frame

    @property
    def key(self) -> str:
        return self.frame.workspace

    @property
    def freshness(self) -> Freshness:
        """The freshness of the older of what its verdict and its figures were read from."""
        freshness = max(self.frame.freshness(source) for source in ("inboxes", "sequence"))
        return max(freshness, Freshness.LATE) if self.frame.service else freshness

    @property
    def tone(self) -> Tone:
        return self.frame.headline.tone

    @property
    def words(self) -> str:
        return f"{self.key} {self.frame.headline.text}"

    def figure(self, metric: str) -> Figure:
        return next(figure for figure in self.frame.board.figures if figure.metric == metric)


def _verdict(line: WorkspaceLine, width: int) -> Sequence[Piece]:
    ink = Ink.MUTED if line.freshness is not Freshness.FRESH else Ink.TEXT
    return ((line.frame.headline.fitted(width).text, ink),)


def _age(line: WorkspaceLine, _: int) -> Sequence[Piece]:
    is_late = line.freshness > Freshness.NEVER
    sign = f"{SIGNS[Tone.WARN]} " if is_late else ""
    return ((sign + line.frame.age("inboxes"), Ink.WARN if is_late else Ink.MUTED),)


def _figure(title: str, metric: str) -> Column:
    return number(metric, title, lambda line: line.figure(metric).value, width=9, rank=2, ink=Ink.STRONG)


WORKSPACES = (
    Column(SIGN, "", 1, sign_of),
    text_column("workspace", "Workspace", 16, lambda x: x.key, Ink.STRONG, least=10),
    Column("verdict", "Verdict", 40, _verdict, least=20, sort=lambda x: RANK[x.tone], grow=1),
    _figure("Sends", "sends"),
    _figure("Replies", "replies"),
    Column(
        "reply-rate",
        "Reply rate",
        11,
        text_of(lambda x: x.figure("replies").rate or UNKNOWN, Ink.MUTED),
        right=True,
        rank=3,
    ),
    _figure("Meetings", "meetings"),
    Column("read", "Read", 22, _age, least=12, rank=1),
)
