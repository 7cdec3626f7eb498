"""Guardrails as rows of a list: state, last firing, and distance to the threshold. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shared.commands.result import Result
from shared.domain.card import Tone
from shared.text.formats import UNKNOWN
from shared.text.sanitize import visible
from tui.model.lists.columns import SIGN, Column
from tui.theme import drawing
from tui.theme.palette import TONE_INK, Glyphs, Ink, Piece

NEAR = 0.8
"""The share of the threshold from which on the bar warns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailLine:
    """A rule as `guardrails list` tells it."""

    name: str
    rule: str
    state: str
    why: str = ""
    last_fired: str
    fired: str = ""
    """For what it fired last, and what was measured then."""
    present: str = ""
    """What is measured of the same now."""
    closest: str
    nearness: float | None
    tone: Tone

    @property
    def key(self) -> str:
        return self.name

    @property
    def words(self) -> str:
        return f"{self.name} {self.rule} {self.state} {self.why} {self.closest}"


def lines_of(result: Result) -> tuple[GuardrailLine, ...]:
    """The rows of `guardrails list`, the nearest to its threshold first; none of any other command."""
    if result.card.table is None:
        return ()
    lines = [
        GuardrailLine(
            name=str(data["name"]),
            rule=str(data["rule"]),
            state=str(data["state"]),
            why=str(data["why"]),
            last_fired=str(row.cells[1] or UNKNOWN),
            fired=": ".join(filter(None, (_word(data, "fired_for"), _word(data, "fired_value")))),
            present=_word(data, "present"),
            closest=str(row.cells[2] or UNKNOWN),
            nearness=nearness if isinstance(nearness := data["nearness"], float) else None,
            tone=row.tone,
        )
        for row, data in zip(result.card.table.rows, result.rows, strict=True)
    ]
    return tuple(sorted(lines, key=lambda one: -1.0 if one.nearness is None else -one.nearness - 1.0))


def _word(data: Mapping[str, object], name: str) -> str:
    return str(data[name] or "")


def detail(line: GuardrailLine) -> tuple[Sequence[Piece], ...]:
    """What no column has room for: the whole rule, and its last firing beside what is measured now."""
    why = f"  {line.state}: {line.why}" if line.why else ""
    rule: Sequence[Piece] = ((visible(line.rule), Ink.TEXT), (visible(why), Ink.WARN))
    if not line.fired:
        return (rule,)
    label = f"Fired {line.last_fired}"
    return (
        rule,
        ((f"{visible(label)}  ", Ink.MUTED), (visible(line.fired), Ink.TEXT)),
        ((f"{'Now':<{len(label)}}  ", Ink.MUTED), (visible(line.present), Ink.STRONG)),
    )


def _sign(line: GuardrailLine, _: int, glyphs: Glyphs) -> Sequence[Piece]:
    return ((glyphs.of(line.tone), TONE_INK[line.tone]),)


def _state(line: GuardrailLine, _: int, __: Glyphs) -> Sequence[Piece]:
    is_quiet = line.state in {"off", "snoozed", "waits"}
    return ((visible(line.state), Ink.WARN if is_quiet else Ink.TEXT),)


def _near(line: GuardrailLine, width: int, glyphs: Glyphs) -> Sequence[Piece]:
    """The distance to the threshold: a full bar is a rule whose condition holds."""
    share = line.nearness
    if share is None:
        return (*drawing.bar(None, width - 6, ink=Ink.FAINT, glyphs=glyphs), ("     –", Ink.UNKNOWN))
    ink = Ink.BAD if share >= 1 else Ink.WARN if share >= NEAR else Ink.GOOD
    number = "fired" if share >= 1 else f"{int(share * 100)}%"
    return (*drawing.bar(share, width - 6, ink=ink, glyphs=glyphs), (f"{number:>6}", ink))


COLUMNS = (
    Column(SIGN, "", 1, _sign),
    Column(
        "guardrail",
        "Guardrail",
        20,
        lambda x, _, __: ((visible(x.name), Ink.STRONG),),
        least=17,
        sort=lambda x: x.name,
    ),
    Column("state", "State", 9, _state, sort=lambda x: x.state),
    Column("to-threshold", "To threshold", 24, _near, least=14, sort=lambda x: -(x.nearness or 0.0)),
    Column("closest", "Closest", 40, lambda x, _, __: ((visible(x.closest), Ink.TEXT),), least=16, grow=1),
    Column(
        "last-fired",
        "Last fired",
        16,
        lambda x, _, __: ((visible(x.last_fired), Ink.MUTED),),
        least=9,
        rank=1,
    ),
)
