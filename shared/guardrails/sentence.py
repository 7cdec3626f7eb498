"""Parses the sentence of a guardrail; an invalid one is rejected with the nearest valid sentence. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Literal

from shared.domain.alert_settings import QuietHours
from shared.domain.recurrence import find_zone, parse_time
from shared.guardrails.nearest import EXAMPLE, nearest
from shared.guardrails.rule import Action, Comparison, Condition, Metric, Rule, Scope
from shared.guardrails.words import (
    ABOVE,
    ACTIONS,
    AT_ONCE,
    BELOW,
    COUNT,
    ENOUGH_SENDS,
    LONGEST,
    LONGEST_WINDOW,
    METRICS,
    NUMBER,
    PER_DAY,
    PER_DAY_ACT,
    SCOPES,
    SHORTEST_WINDOW,
    UNITS,
    Token,
    tokenize,
)
from shared.text.sanitize import visible
from shared.text.tokenize import parse_duration

Part = Literal["scope", "sends", "limit"]


class Misunderstood(Exception):
    """The sentence is no rule; `nearest` is a sentence that is one, `part` what of it is to blame."""

    def __init__(self, problem: str, *, nearest: str = "", part: Part = "limit") -> None:
        self.problem, self.nearest, self.part = problem, nearest, part
        super().__init__(f"{problem} Nearest: {nearest}" if nearest else problem)


def parse(text: str) -> Rule:
    """The rule that a sentence says. Raises `Misunderstood`, and nothing else, whatever the text."""
    if len(text) > LONGEST:
        raise Misunderstood(f"That is longer than {LONGEST} characters.", nearest=str(EXAMPLE))
    tokens = tokenize(visible(text))
    try:
        return _Reader(tokens).rule()
    except Misunderstood as error:
        raise Misunderstood(error.problem, nearest=str(nearest(tokens)), part=error.part) from None


class _Reader:
    """Reads tokens from the left; each method takes what it understands or raises `Misunderstood`."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens, self._at = tokens, 0
        self._given: set[str] = set()

    def rule(self) -> Rule:
        action = self._action()
        scope, only = self._subject()
        duration = self._duration() if self._take("for") else None
        self._need("when", "if")
        rule = Rule(
            action=action,
            scope=scope or Scope.SEQUENCE,
            only=only,
            condition=self._condition(),
            duration=duration,
            per_day=PER_DAY_ACT if action is Action.ACT else PER_DAY,
            at_once=AT_ONCE if action is Action.ACT else 0,
        )
        if scope is None and rule.condition.metric is Metric.HEALTH:
            rule = replace(rule, scope=Scope.INBOX)
        while self._peek():
            rule = self._clause(rule)
        return _checked(rule)

    def _action(self) -> Action:
        word = self._next("Start with notify, suggest or pause.")
        if not word.is_one_of(ACTIONS):
            raise Misunderstood(f"“{clip(word)}” isn't an action: start with notify, suggest or pause.")
        action = ACTIONS[word.text]
        if action is Action.SUGGEST:
            self._take("pausing") or (self._take("to") and self._take("pause"))
        elif action is Action.TELL:
            self._take("about")
        return action

    def _subject(self) -> tuple[Scope | None, str]:
        self._take("all", "any", "every", "each", "a", "the")
        if (word := self._peek()) is None or not word.is_one_of(SCOPES):
            if word is not None and word.is_one_of({"when", "if"}):
                return None, ""
            raise Misunderstood("Name what it is about: sequence, inbox, domain or workspace.")
        self._at += 1
        scope, following = SCOPES[word.text], self._peek()
        if following is None or following.is_one_of({"when", "if", "for"}):
            return scope, ""
        self._at += 1
        if not following.quoted and scope not in {Scope.INBOX, Scope.DOMAIN}:
            raise Misunderstood(f"Put the name of the {scope} in quotes.")
        if scope is Scope.WORKSPACE or not following.text.strip():
            raise Misunderstood(f"A {scope} needs no name here.")
        return scope, following.text

    def _condition(self) -> Condition:
        if self._take("no"):
            return self._silence()
        word = self._next("Say when: for example “bounces > 5% of at least 50 sends in 24h”.")
        if word.is_one_of({"out"}) and self._take("of"):
            self._need("office")
            word = Token(Metric.OUT_OF_OFFICE)
        if not word.is_one_of(METRICS):
            raise Misunderstood(f"“{clip(word)}” isn't a metric. Use one of: {', '.join(Metric)}.")
        metric = METRICS[word.text]
        if metric is Metric.HEALTH:
            return self._health()
        self._take("replies", "rate")
        if metric is Metric.POSITIVE:
            self._take("rate")
        above = self._comparison()
        limit, percent = self._number()
        if not percent:
            if not above or metric in {Metric.REPLIES, Metric.POSITIVE} or limit != int(limit):
                raise Misunderstood("Give a percentage of the sends, like 5%.")
            return Condition(metric=metric, test=Comparison.COUNT_ABOVE, limit=limit, window=self._window())
        return self._rate(metric, limit, above=above)

    def _rate(self, metric: Metric, limit: float, *, above: bool) -> Condition:
        about_replies = metric in {Metric.REPLIES, Metric.POSITIVE}
        if above == about_replies:
            raise Misunderstood(
                f"{metric.capitalize()} can only be {'below' if above else 'above'} a percentage."
            )
        test, sends = (Comparison.RATE_BELOW if about_replies else Comparison.RATE_ABOVE), ENOUGH_SENDS
        if self._take("of"):
            self._take("its", "their")
            self._take("own")
            if about_replies and self._take("baseline"):
                test = Comparison.BELOW_BASELINE
                self._need("over", "of")
            sends = self._sends()
        return Condition(metric=metric, test=test, limit=limit, sends=sends, window=self._window())

    def _silence(self) -> Condition:
        self._need("replies", "reply")
        self._need("after", "in")
        sends = self._sends()
        return Condition(metric=Metric.REPLIES, test=Comparison.SILENCE, sends=sends, window=self._window())

    def _health(self) -> Condition:
        self._take("score")
        if self._take("falls", "drops"):
            self._take("by")
            limit, _ = self._number(share=False)
            self._take("points", "point")
            return Condition(metric=Metric.HEALTH, test=Comparison.FALL, limit=limit, window=self._window())
        if self._comparison():
            raise Misunderstood("Health can only be below a score, or fall.")
        limit, _ = self._number(share=False)
        return Condition(metric=Metric.HEALTH, test=Comparison.LEVEL_BELOW, limit=limit)

    def _comparison(self) -> bool:
        """Whether the comparison is "above"."""
        self._take("is", "are")
        word = self._next("Compare with > or <.")
        self._take("than")
        if word.is_one_of(ABOVE):
            return True
        if word.is_one_of(BELOW):
            return False
        raise Misunderstood(f"“{clip(word)}” isn't a comparison: write > or <.")

    def _number(self, *, share: bool = True) -> tuple[float, bool]:
        word = self._next("A number is missing.")
        percent = word.text.endswith("%") or bool(share and self._take("%"))
        figure = word.text.removesuffix("%")
        if word.quoted or not NUMBER.fullmatch(figure) or (percent and not share):
            raise Misunderstood(f"“{clip(word)}” isn't a number.")
        return float(figure), percent

    def _count(self) -> int:
        word = self._next("A number is missing.")
        if word.quoted or not COUNT.fullmatch(word.text) or int(word.text) < 1:
            raise Misunderstood(f"“{clip(word)}” isn't a whole number of 1 or more.", part="sends")
        return int(word.text)

    def _sends(self) -> int:
        if self._take("at"):
            self._need("least")
        sends = self._count()
        self._need("sends", "send")
        return sends

    def _window(self) -> timedelta:
        self._need("in", "within", "over")
        self._take("the")
        self._take("last")
        return self._length()

    def _length(self) -> timedelta:
        word = self._next("A length of time is missing: write 24h or 7d.")
        unit, given = self._peek(), word.text
        if given.isdecimal() and unit and not unit.quoted and UNITS.fullmatch(unit.text):
            self._at += 1
            given += unit.text[0]
        found = None if word.quoted else parse_duration(given)
        if found is None or found.total_seconds() % 60:
            raise Misunderstood(f"“{clip(word)}” isn't a length of time: write 24h or 7d.")
        return found

    def _clause(self, rule: Rule) -> Rule:
        self._take("and")
        if self._take("for"):
            return replace(rule, duration=self._duration())
        if self._take("except"):
            return self._exception(rule)
        if self._take("never"):
            self._need("more")
            self._need("than")
            return self._limit(rule)
        self._need("at")
        self._need("most")
        return self._limit(rule)

    def _duration(self) -> timedelta:
        self._once("the length of a pause")
        return self._length()

    def _once(self, what: str) -> None:
        """Refuse a part that is given again: the later one would silently replace the earlier."""
        if what in self._given:
            raise Misunderstood(f"This sets {what} twice.")
        self._given.add(what)

    def _limit(self, rule: Rule) -> Rule:
        count = self._count()
        if self._take("sequences", "sequence"):
            self._once("the limit of sequences")
            if self._take("at"):
                self._need("once")
            return replace(rule, at_once=count)
        self._take("times", "time")
        self._need("a", "per")
        self._need("day")
        self._once("the limit a day")
        return replace(rule, per_day=count)

    def _exception(self, rule: Rule) -> Rule:
        word = self._next("Except what? A name in quotes, or hours like 20:00-08:00.")
        if not word.quoted:
            self._once("the excepted hours")
            return replace(rule, except_hours=self._hours(word))
        names = [word.text]
        while (following := self._peek()) and following.quoted:
            self._at += 1
            names.append(following.text)
        if not all(name.strip() for name in names):
            raise Misunderstood("The name in quotes is empty.")
        return replace(rule, except_names=(*rule.except_names, *names))

    def _hours(self, word: Token) -> QuietHours:
        start, _, end = (parse_time(part) for part in word.text.partition("-"))
        if start is None or end is None or start == end:
            raise Misunderstood(f"“{clip(word)}” is neither a name in quotes nor hours like 20:00-08:00.")
        zone = "UTC"
        following = self._peek()
        if following and not following.quoted and find_zone(following.given):
            zone, self._at = following.given, self._at + 1
        return QuietHours(start=start, end=end, zone=zone)

    def _peek(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _next(self, problem: str) -> Token:
        word = self._peek()
        if word is None:
            raise Misunderstood(problem)
        self._at += 1
        return word

    def _take(self, *words: str) -> bool:
        word = self._peek()
        if word is None or not word.is_one_of(words):
            return False
        self._at += 1
        return True

    def _need(self, *words: str) -> None:
        if not self._take(*words):
            word = self._peek()
            found = f"“{clip(word)}” isn't understood here" if word else "The sentence ends too early"
            raise Misunderstood(f"{found}: “{words[0]}” is expected.")


def clip(word: Token) -> str:
    return word.text if len(word.text) <= 40 else f"{word.text[:39]}…"


def _checked(rule: Rule) -> Rule:
    condition = rule.condition
    rates = {Comparison.RATE_ABOVE, Comparison.RATE_BELOW, Comparison.BELOW_BASELINE}
    if condition.test in rates and not 0 < condition.limit < 100:
        raise Misunderstood("A percentage must be between 0% and 100%.")
    if condition.metric is Metric.HEALTH and not 0 < condition.limit <= 100:
        raise Misunderstood("A health score must be between 0 and 100.")
    if (
        condition.test is not Comparison.LEVEL_BELOW
        and not SHORTEST_WINDOW <= condition.window <= LONGEST_WINDOW
    ):
        raise Misunderstood("A window must be between 1h and 30d.")
    if condition.metric is Metric.HEALTH and rule.scope is Scope.SEQUENCE:
        raise Misunderstood("Health belongs to inboxes and domains, not to sequences.", part="scope")
    if rule.action is not Action.TELL and rule.scope is Scope.INBOX:
        raise Misunderstood(
            "The service can't pause one inbox: pause its domain, or notify about it.", part="scope"
        )
    if rule.duration is not None and rule.action is Action.TELL:
        raise Misunderstood("Only a pause can have a length.")
    if rule.at_once and rule.action is not Action.ACT:
        raise Misunderstood("Only a rule that pauses can limit the number of sequences.")
    if len(str(rule)) > LONGEST:
        raise Misunderstood(f"Written in full, that is longer than {LONGEST} characters.")
    return rule
