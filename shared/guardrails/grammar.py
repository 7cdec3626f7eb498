"""The grammar of a guardrail's sentence, and what its parts mean. Pure; imported with the first sentence."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import timedelta
from functools import cache
from typing import Any

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedInput, UnexpectedToken, v_args
from lark.exceptions import VisitError

from shared.domain.quiet_hours import QuietHours
from shared.domain.wall_clock import find_zone, parse_time
from shared.guardrails.rule import (
    QUOTES,
    VERBS,
    Action,
    Comparison,
    Condition,
    Metric,
    Misunderstood,
    Rule,
    Scope,
)
from shared.text.formats import clip
from shared.text.tokenize import parse_duration

ENOUGH_SENDS = 50
PER_DAY, PER_DAY_ACT, SEQUENCES_AT_ONCE = 5, 3, 2
_METRICS = {metric.value: metric for metric in Metric if metric is not Metric.POSITIVE} | {
    "bounce": Metric.BOUNCES,
    "opt-out": Metric.OPT_OUTS,
    "optouts": Metric.OPT_OUTS,
    "unsubscribes": Metric.OPT_OUTS,
    "ooo": Metric.OUT_OF_OFFICE,
    "reply": Metric.REPLIES,
    "positive": Metric.POSITIVE,
}
_SCOPES = {scope.value: scope for scope in Scope} | {
    "sequences": Scope.SEQUENCE,
    "inboxes": Scope.INBOX,
    "domains": Scope.DOMAIN,
}

_TOKEN = re.compile(
    rf"[{QUOTES}](?P<name>(?:\\.|[^\\{QUOTES}])*)[{QUOTES}]|(?P<word>[<>]|[^\s,<>{QUOTES}]+|[^\s,])",
    re.DOTALL,
)
_GAP, _WORD, _NUMBER = r"[\s,]+", rf"[^\s,<>{QUOTES}]+", r"[0-9]{1,7}(?:\.[0-9]{1,4})?"
_END = rf"(?:(?<=[<>])|(?![^\s,<>{QUOTES}]))"
_PHRASES = {
    "TELL": "notify|tell", "SUGGEST": "suggest", "PAUSE": "pause", "_ABOUT": "about", "_PAUSING": "pausing|to_pause",
    "_ANY": "all|any|every|each|an?|the", "SCOPE": "|".join(_SCOPES), "_WHEN": "when|if", "_FOR": "for", "_NO": "no",
    "_REPLIES": "replies|reply", "_AFTER": "after", "METRIC": "|".join(("out_of_office", *(word for word in _METRICS if word not in {"health", "dns"}))),
    "_RATE": "rate|replies(?:_rate)?", "_HEALTH": "health(?:_score)?", "_FALLS": "(?:falls|drops)(?:_by)?",
    "_POINTS": "points?", "_DNS": "dns", "_BROKEN": "broken", "_IS": "is|are", "MORE": ">|above|over|exceeds?|more", "LESS": "<|below|under|less|fewer",
    "_THAN": "than", "_OF": "of", "BASELINE": "(?:(?:its|their)_)?(?:own_)?baseline", "_OVER": "over|of",
    "_AT_LEAST": "at_least", "_SENDS": "sends?", "_IN": "(?:in|within|over)(?:_the)?(?:_last)?", "_AND": "and",
    "_EXCEPT": "except", "_AT_MOST": "at_most|never_more_than", "_SEQUENCES": "sequences?(?:_at_once)?",
    "_A_DAY": "(?:times?_)?(?:a|per)_day", "COUNT": "[0-9]{1,7}", "NUMBER": _NUMBER, "PERCENT.1": rf"{_NUMBER}[\s,]*%",
    "LENGTH": rf"[0-9]+_(?:min|minute|hour|day|week|m|h|d|w)s?|{_WORD}", "NAME.-1": _WORD, "HOURS.-1": _WORD, "ZONE.-1": _WORD,
}  # fmt: skip
"""The pattern of each terminal: whole words in any case, `_` for what may stand between two."""
_GRAMMAR = rf"""
start: action subject pause? _WHEN (silence | fall | level | broken | count | rate) clause*
action: TELL _ABOUT? | SUGGEST _PAUSING? | PAUSE
subject: _ANY? (SCOPE (QUOTED | NAME)?)?
silence: _NO _REPLIES (_AFTER | _IN) sends window
fall: _HEALTH _FALLS NUMBER _POINTS? window
level: _HEALTH side NUMBER
broken: _DNS _IS? _BROKEN
count: METRIC _RATE? side NUMBER window
rate: METRIC _RATE? side PERCENT (_OF (BASELINE _OVER)? sends)? window
?side: _IS? (MORE | LESS) _THAN?
?sends: _AT_LEAST? COUNT _SENDS
?window: _IN LENGTH
?clause: _AND? (pause | _EXCEPT (names | hours) | _AT_MOST (at_once | per_day))
pause: _FOR LENGTH
names: QUOTED+
hours: HOURS ZONE?
at_once: COUNT _SEQUENCES
per_day: COUNT _A_DAY
QUOTED: /[{QUOTES}](?:\\.|[^\\{QUOTES}])*[{QUOTES}]/s
%ignore /{_GAP}/
""" + "\n".join(f"{name}: /(?:{phrase.replace('_', _GAP)}){_END}/i" for name, phrase in _PHRASES.items())

_USUAL = {Metric.HEALTH: Scope.INBOX, Metric.DNS: Scope.DOMAIN}
"""The subject of a condition, where the sentence doesn't say."""
_ABOUT_REPLIES = {Metric.REPLIES, Metric.POSITIVE}
_EXPECTED = {
    "TELL": "notify, suggest or pause",
    "SCOPE": "sequence, inbox, domain or workspace",
    "METRIC": f"a metric ({', '.join(Metric)})",
    "MORE": "> or <",
    "NUMBER": "a number",
    "PERCENT": "a percentage",
    "COUNT": "a whole number",
    "LENGTH": "a length of time, like 24h or 7d",
    "HOURS": "a name in quotes, or hours like 20:00-08:00",
    "_WHEN": "“when”",
    "_SENDS": "“sends”",
    "_OVER": "“over at least 50 sends”",
    "_A_DAY": "“a day” or “sequences at once”",
    "_REPLIES": "“replies”",
    "_AFTER": "“after 200 sends”",
    "_BROKEN": "“is broken”",
    "_IN": "“in” and a length of time",
    "_AT_MOST": "“at most” or “except”, or end here",
}
"""The words that a person can write, by the terminal that the grammar allows; of several, the first counts."""


def read(text: str) -> Rule:
    """The rule that a sentence says, before its values are checked. Raises `Misunderstood`."""
    try:
        rule = _Meaning().transform(_parser().parse(text))
    except VisitError as error:
        raise error.orig_exc from None
    except UnexpectedInput as error:
        raise _misunderstood(text, error) from None
    assert isinstance(rule, Rule)
    return rule


def _misunderstood(text: str, error: UnexpectedInput) -> Misunderstood:
    allowed: Collection[str] = ()
    position: int = getattr(error, "pos_in_stream", 0)  # declared as None in the library
    word = f"{_quoted_word(text, position)} isn't understood here"
    if isinstance(error, UnexpectedToken):
        allowed = error.expected
        word = "The sentence ends too early" if error.token.type == "$END" else word
    elif isinstance(error, UnexpectedCharacters):
        allowed = error.allowed
    instead = next((words for terminal, words in _EXPECTED.items() if terminal in allowed), "another word")
    return Misunderstood(f"{word}. Write {instead}.")


def _quoted_word(text: str, start: int = 0) -> str:
    """The word that begins there, in quotation marks, cut if it is long."""
    found = _TOKEN.search(text, start)
    return f"“{clip((found['name'] or found['word']).lower(), length=40)}”" if found else "“”"


@cache
def _parser() -> Lark:
    return Lark(_GRAMMAR, parser="lalr")


_Part = tuple[str, Any]
"""A field of a rule, and its value."""
_ONCE = {
    "duration": "the length of a pause",
    "except_hours": "the excepted hours",
    "at_once": "the limit of sequences",
    "per_day": "the limit a day",
}


@v_args(inline=True)
class _Meaning(Transformer[Token, Any]):
    """Builds a rule from the parts of its sentence."""

    def start(self, action: Action, subject: tuple[Scope | None, str], *parts: Condition | _Part) -> Rule:
        scope, only = subject
        condition = next(part for part in parts if isinstance(part, Condition))
        # A notice changes nothing, and comes once per incident: it needs no limit.
        usual_limit = 0 if action is Action.TELL else PER_DAY
        limits: dict[str, Any] = {"per_day": usual_limit, "except_names": ()}
        if action is Action.ACT:
            limits |= {"per_day": PER_DAY_ACT, "at_once": SEQUENCES_AT_ONCE}
        given = set()
        for field, value in (part for part in parts if not isinstance(part, Condition)):
            if field in given:  # the later one would silently replace the earlier
                raise Misunderstood(f"This sets {_ONCE[field]} twice.")
            given |= {field} & {*_ONCE}
            limits[field] = value if field in given else limits[field] + value
        usual = _USUAL.get(condition.metric, Scope.SEQUENCE)
        return Rule(action=action, scope=scope or usual, only=only, condition=condition, **limits)

    def action(self, word: Token) -> Action:
        return VERBS[word.lower()]

    def subject(self, scope: Scope | None = None, name: str | None = None) -> tuple[Scope | None, str]:
        if scope is None or name is None:
            return scope, ""
        if isinstance(name, Token) and scope not in {Scope.INBOX, Scope.DOMAIN}:
            raise Misunderstood(f"Put the name of the {scope} in quotes.")
        if scope is Scope.WORKSPACE or not name.strip():
            raise Misunderstood(f"A {scope} needs no name here.")
        return scope, name.lower() if isinstance(name, Token) else name

    def silence(self, sends: int, window: timedelta) -> Condition:
        return Condition(metric=Metric.REPLIES, test=Comparison.SILENCE, sends=sends, window=window)

    def fall(self, points: float, window: timedelta) -> Condition:
        return Condition(metric=Metric.HEALTH, test=Comparison.FALL, limit=points, window=window)

    def level(self, side: Token, score: float) -> Condition:
        if side.type == "MORE":
            raise Misunderstood("Health can only be below a score, or fall.")
        return Condition(metric=Metric.HEALTH, test=Comparison.LEVEL_BELOW, limit=score)

    def broken(self) -> Condition:
        return Condition(metric=Metric.DNS, test=Comparison.BROKEN)

    def count(self, metric: Metric, side: Token, limit: float, window: timedelta) -> Condition:
        if side.type == "LESS" or metric in _ABOUT_REPLIES or limit != int(limit):
            raise Misunderstood("Give a percentage of the sends, like 5%.")
        return Condition(metric=metric, test=Comparison.COUNT_ABOVE, limit=limit, window=window)

    def rate(self, metric: Metric, side: Token, limit: float, *rest: Any) -> Condition:
        has_baseline = isinstance(rest[0], Token)
        if (side.type == "LESS") != (metric in _ABOUT_REPLIES):
            other = "below" if metric in _ABOUT_REPLIES else "above"
            raise Misunderstood(f"{metric.capitalize()} can only be {other} a percentage.")
        if has_baseline and metric not in _ABOUT_REPLIES:
            raise Misunderstood("Only replies can be compared with a baseline.")
        test = Comparison.RATE_BELOW if metric in _ABOUT_REPLIES else Comparison.RATE_ABOVE
        test = Comparison.BELOW_BASELINE if has_baseline else test
        sends = next((one for one in rest if isinstance(one, int)), ENOUGH_SENDS)
        return Condition(metric=metric, test=test, limit=limit, sends=sends, window=rest[-1])

    def pause(self, length: timedelta) -> _Part:
        return "duration", length

    def names(self, *names: str) -> _Part:
        if not all(name.strip() for name in names):
            raise Misunderstood("The name in quotes is empty.")
        return "except_names", names

    def hours(self, hours: Token, zone: Token | None = None) -> _Part:
        start, _, end = (parse_time(part) for part in hours.partition("-"))
        if start is None or end is None or start == end:
            raise Misunderstood(
                f"{_quoted_word(hours)} is neither a name in quotes nor hours like 20:00-08:00."
            )
        if zone and not find_zone(zone):
            raise Misunderstood(f"{_quoted_word(zone)} isn't a time zone.")
        return "except_hours", QuietHours(start=start, end=end, zone=str(zone or "UTC"))

    def at_once(self, count: int) -> _Part:
        return "at_once", count

    def per_day(self, count: int) -> _Part:
        return "per_day", count

    def SCOPE(self, word: Token) -> Scope:  # noqa: N802 # as terminals are written
        return _SCOPES[word.lower()]

    def METRIC(self, word: Token) -> Metric:  # noqa: N802
        return _METRICS[re.sub(_GAP, "-", word.lower())]

    def NUMBER(self, word: Token) -> float:  # noqa: N802
        return float(word)

    def PERCENT(self, word: Token) -> float:  # noqa: N802
        return float(re.split(r"[\s,%]", word)[0])

    def COUNT(self, word: Token) -> int:  # noqa: N802
        if int(word) < 1:
            raise Misunderstood(f"{_quoted_word(word)} isn't a whole number of 1 or more.")
        return int(word)

    def LENGTH(self, word: Token) -> timedelta:  # noqa: N802
        number, _, unit = re.sub(_GAP, " ", word.lower()).partition(" ")
        found = parse_duration(number + unit[:1])
        if found is None or found.total_seconds() % 60:
            raise Misunderstood(f"{_quoted_word(word)} isn't a length of time: write 24h or 7d.")
        return found

    def QUOTED(self, word: Token) -> str:  # noqa: N802
        return re.sub(r"\\(.)", r"\1", word[1:-1], flags=re.DOTALL)
