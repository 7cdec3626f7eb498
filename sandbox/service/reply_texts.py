"""The replies of leads, composed from parts in several languages, so that they vary."""

from __future__ import annotations

import datetime as dt
import tomllib
from importlib import resources

from sandbox.service.dice import pick, rolls
from sandbox.service.people import FIRST, LAST, Person

_TEXTS: dict[str, dict[str, list[str]]] = tomllib.loads(
    resources.files(__package__).joinpath("reply_texts.toml").read_text("utf-8")
)
_LANGUAGES = ("en",) * 14 + ("de",) * 2 + ("fr",) * 2 + ("es",) * 2


def reply_text(kind: str, *, key: object, me: str, lead: Person, date: dt.date) -> str:
    """The text of a reply: `interested`, `reply`, `again`, `ooo` or `unsubscribe`; the same key gives the same text.

    `me` is the first name of the sender, `date` the day on which an absent lead is back.
    """
    chances = rolls("reply", kind, key)
    # A lead writes in one language, whatever the kind.
    texts = _TEXTS[pick(_LANGUAGES, rolls("language", lead.email)[0])]
    names = {
        "me": me,
        "first": lead.first_name or "",
        "last": lead.last_name or "",
        "company": lead.company or "our company",
        "colleague": f"{pick(FIRST, chances[4])} {pick(LAST, chances[5])}",
        "date": _spell(date, texts, chances[6]),
    }
    return _compose(kind, texts, chances).format(**names).strip()


def _compose(kind: str, texts: dict[str, list[str]], chances: list[float]) -> str:
    if kind == "ooo":
        return f"{pick(texts['away'], chances[0])} {pick(texts['contact'], chances[1])}"
    greeting, sentence = pick(texts["greeting"], chances[0]), pick(texts[kind], chances[1])
    if not greeting.endswith(", ") and not sentence.startswith("{"):
        sentence = sentence[0].upper() + sentence[1:]
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
