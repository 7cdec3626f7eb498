"""What leads write back: composed, so that a day of replies does not repeat itself, and now and then hostile."""

from __future__ import annotations

import datetime as dt
import tomllib
from importlib import resources

from sandbox.service.base.seeded_random import pick, rolls

_TEXTS: dict[str, list[str]] = tomllib.loads(
    resources.files(__package__).joinpath("reply_texts.toml").read_text("utf-8")
)
_HOSTILE_SHARE = 0.02


def reply_text(
    kind: str, *, key: object, me: str, first: str, last: str, company: str, date: dt.date | None = None
) -> str:
    """The text of a reply: `interested`, `reply`, `ooo` or `unsubscribe`; the same key writes the same text."""
    chances = rolls("reply", kind, key)
    if kind in {"interested", "reply"} and chances[7] < _HOSTILE_SHARE:
        return pick(_TEXTS["hostile"], chances[6])
    text = _compose(kind, chances)
    return text.format(
        me=me, first=first or "", last=last or "", company=company or "our company", date=date or ""
    ).strip()


def _compose(kind: str, chances: tuple[float, ...]) -> str:
    if kind in {"ooo", "unsubscribe"}:
        return pick(_TEXTS[kind], chances[0])
    greeting, sentence = pick(_TEXTS["greeting"], chances[0]), pick(_TEXTS[kind], chances[1])
    if not greeting.endswith(", "):
        sentence = sentence[0].upper() + sentence[1:]
    question = f" {pick(_TEXTS['question'], chances[2])}" if kind == "interested" else ""
    return f"{greeting}{sentence}{question}\n{pick(_TEXTS['closing'], chances[3])}"
