"""The replies of leads, composed from parts in several languages, so that they vary."""

from __future__ import annotations

import datetime as dt
import tomllib
from importlib import resources

from sandbox.service.base.seeded_random import pick, rolls
from sandbox.service.campaign.people_names import FIRST, LAST

_TEXTS: dict[str, dict[str, list[str]]] = tomllib.loads(
    resources.files(__package__).joinpath("reply_texts.toml").read_text("utf-8")
)
_LANGUAGES = ("en",) * 14 + ("de",) * 2 + ("fr",) * 2 + ("es",) * 2
_HOSTILE_SHARE = 1 / 3


def reply_text(
    kind: str,
    *,
    key: object,
    me: str,
    first: str,
    last: str,
    company: str,
    date: dt.date | None = None,
    hostile: bool = False,
) -> str:
    """The text of a reply: `interested`, `reply`, `again`, `ooo` or `unsubscribe`; the same key writes the same text.

    A third of the texts of a `hostile` account are attacks on whoever shows them.
    """
    chances = rolls("reply", kind, key)
    if hostile and kind != "ooo" and chances[7] < _HOSTILE_SHARE:
        return pick(_TEXTS["attacks"]["hostile"], chances[6])
    # A lead writes in one language, whatever the kind.
    texts = _TEXTS[pick(_LANGUAGES, rolls("language", first, last, company)[0])]
    return (
        _compose(kind, texts, chances)
        .format(
            me=me,
            first=first or "",
            last=last or "",
            company=company or "our company",
            colleague=f"{pick(FIRST, chances[4])} {pick(LAST, chances[5])}",
            date=_spell(date, texts, chances[6]) if date else "",
        )
        .strip()
    )


def _compose(kind: str, texts: dict[str, list[str]], chances: tuple[float, ...]) -> str:
    if kind == "ooo":
        return f"{pick(texts['away'], chances[0])} {pick(texts['contact'], chances[1])}"
    greeting, sentence = pick(texts["greeting"], chances[0]), pick(texts[kind], chances[1])
    if not greeting.endswith(", "):
        sentence = sentence if sentence.startswith("{") else sentence[0].upper() + sentence[1:]
    question = f" {pick(texts['question'], chances[2])}" if kind == "interested" else ""
    return f"{greeting}{sentence}{question}\n{pick(texts['closing'], chances[3])}"


def _spell(date: dt.date, texts: dict[str, list[str]], chance: float) -> str:
    month = texts["months"][date.month - 1]
    return pick(texts["dates"], chance).format(
        d=date.day,
        dd=f"{date.day:02}",
        mm=f"{date.month:02}",
        yyyy=date.year,
        month=month,
        mon=month[:3],
        weekday=texts["weekdays"][date.weekday()],
    )
