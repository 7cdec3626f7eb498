"""The rules of a workspace: a guardrail as values, as a sentence that is read back to them, and by its name. Pure."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn

from shared.domain.wall_clock import QuietHours, find_zone, parse_time
from shared.frozen import frozen
from shared.text.formats import clip
from shared.text.sanitize import visible
from shared.text.tokenize import parse_duration

if TYPE_CHECKING:
    from shared.records.guardrails import StoredRule

QUOTES = '"“”„«»'


class Action(StrEnum):
    """The action of a rule where it holds; the value is how its sentence begins."""

    TELL = "tell"
    SUGGEST = "suggest"
    ACT = "pause"


class Scope(StrEnum):
    """The subjects of a rule, each checked separately."""

    SEQUENCE = "sequence"
    INBOX = "inbox"
    DOMAIN = "domain"
    WORKSPACE = "workspace"


class Metric(StrEnum):
    """The quantity that is counted or read; the value is its word in a sentence."""

    BOUNCES = "bounces"
    OPT_OUTS = "opt-outs"
    OUT_OF_OFFICE = "out-of-office"
    REPLIES = "replies"
    POSITIVE = "positive replies"
    HEALTH = "health"
    DNS = "dns"


EVENT_OF = {
    Metric.BOUNCES: "lead.bounced",
    Metric.OPT_OUTS: "lead.unsubscribed",
    Metric.OUT_OF_OFFICE: "reply.ooo",
}
"""Metrics that are counted from deliveries; replies come from the stats, health from the inboxes, DNS from its checks."""


class Comparison(StrEnum):
    """The comparison of a metric."""

    RATE_ABOVE = "rate above"
    RATE_BELOW = "rate below"
    COUNT_ABOVE = "count above"
    SILENCE = "no replies"
    BELOW_BASELINE = "below baseline"
    LEVEL_BELOW = "level below"
    FALL = "fall"
    BROKEN = "broken"


@frozen
class Condition:
    """`limit` is in per cent for rates, a count or a score else; `sends` is the least for which a rate counts."""

    metric: Metric
    test: Comparison
    limit: float = 0.0
    sends: int = 0
    window: timedelta = timedelta()

    def __str__(self) -> str:
        window, limit = show_window(self.window), show_limit(self.limit)
        enough = f"at least {self.sends} sends in {window}"
        sentences = {
            Comparison.RATE_ABOVE: f"{self.metric} > {limit}% of {enough}",
            Comparison.RATE_BELOW: f"{self.metric} < {limit}% of {enough}",
            Comparison.COUNT_ABOVE: f"{self.metric} > {limit} in {window}",
            Comparison.SILENCE: f"no replies after {self.sends} sends in {window}",
            Comparison.BELOW_BASELINE: f"{self.metric} < {limit}% of baseline over {enough}",
            Comparison.LEVEL_BELOW: f"{self.metric} < {limit}",
            Comparison.FALL: f"{self.metric} falls {limit} in {window}",
            Comparison.BROKEN: f"{self.metric} is broken",
        }
        return sentences[self.test]


@frozen
class Rule:
    """A rule: an action, its subject and condition, within its limits."""

    action: Action
    scope: Scope
    condition: Condition
    only: str = ""
    """The one sequence, inbox or domain that is meant; empty: every one."""
    duration: timedelta | None = None
    """The length of a pause; None: until someone resumes."""
    per_day: int = 5
    """The number of firings in 24 hours; 0: as many as there are incidents."""
    at_once: int = 0
    """Sequences that this rule may hold paused at the same time; only of rules that act."""
    except_names: tuple[str, ...] = ()
    except_hours: QuietHours | None = None

    def __str__(self) -> str:
        """The sentence that `parse` reads back to the same rule."""
        limits = [f"at most {self.per_day} a day"] if self.per_day else []
        if self.at_once:
            limits.append(f"at most {self.at_once} sequence{'s' * (self.at_once > 1)} at once")
        limits += [f"except {quoted(name)}" for name in self.except_names]
        if hours := self.except_hours:
            limits.append(f"except {hours.start:%H:%M}-{hours.end:%H:%M} {hours.zone}")
        subject = f"{self.scope} {quoted(self.only)}" if self.only else str(self.scope)
        length = f" for {show_window(self.duration)}" if self.duration else ""
        return ", ".join((f"{_VERBS[self.action]} {subject}{length} when {self.condition}", *limits))

    def excepts(self, name: str) -> bool:
        return subject_key(name) in {subject_key(one) for one in self.except_names}


_VERBS = {Action.TELL: "notify about", Action.SUGGEST: "suggest pausing", Action.ACT: "pause"}
VERBS = {"notify": Action.TELL, "tell": Action.TELL, "suggest": Action.SUGGEST, "pause": Action.ACT}
"""The words with which a sentence begins."""


def subject_key(name: str) -> str:
    """The common key of a subject's names; a sentence holds no invisible characters, a sequence's name may."""
    return visible(name).casefold()


def quoted(name: str) -> str:
    escaped = re.sub(rf"[\\{QUOTES}]", r"\\\g<0>", name)
    return f'"{escaped}"'


def show_limit(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".")


def show_window(span: timedelta) -> str:
    """`30m`, `24h`, `7d`: one unit; days from three on."""
    minutes = int(span.total_seconds() // 60)
    if minutes % 1440 == 0 and minutes >= 3 * 1440:
        return f"{minutes // 1440}d"
    return f"{minutes // 60}h" if minutes % 60 == 0 else f"{minutes}m"


def default_name(rule: Rule) -> str:
    """`bounces-5`, `no-replies-200`, `health-60`: by what the rule is about."""
    condition = rule.condition
    if condition.test is Comparison.BROKEN:
        return f"{condition.metric}-broken"
    word = "no-replies" if condition.test is Comparison.SILENCE else condition.metric.replace(" ", "-")
    word = {Comparison.BELOW_BASELINE: f"{word}-baseline", Comparison.FALL: f"{word}-fall"}.get(
        condition.test, word
    )
    limit = condition.sends if condition.test is Comparison.SILENCE else condition.limit
    return f"{word}-{show_limit(limit)}"


LONGEST = 600
SHORTEST_WINDOW, LONGEST_WINDOW = timedelta(hours=1), timedelta(days=30)
ENOUGH_SENDS = 50
PER_DAY, PER_DAY_ACT, SEQUENCES_AT_ONCE = 5, 3, 2
EXAMPLE = "suggest pausing sequence when bounces > 5% of at least 50 sends in 24h"
RULES = 4096
"""Sentences whose rules are remembered: jobs parse those of all workspaces at every look."""
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
"""The name of a rule."""


class Misunderstood(Exception):
    """The sentence isn't a rule; `problem` says where it goes wrong."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(problem)


@lru_cache(maxsize=RULES)
def parse(text: str) -> Rule:
    """The rule that a sentence says. Raises `Misunderstood`, and nothing else, whatever the text."""
    if len(text) > LONGEST:
        raise Misunderstood(f"That is longer than {LONGEST} characters.")
    rule = _read(_Words(visible(text)))
    condition, by_health = rule.condition, rule.condition.metric is Metric.HEALTH
    is_rate = condition.test in {Comparison.RATE_ABOVE, Comparison.RATE_BELOW, Comparison.BELOW_BASELINE}
    has_window = condition.test not in {Comparison.LEVEL_BELOW, Comparison.BROKEN}
    only_tells = rule.action is Action.TELL
    mistakes = {
        "A percentage must be between 0% and 100%.": is_rate and not 0 < condition.limit < 100,
        "A health score must be between 0 and 100.": by_health and not 0 < condition.limit <= 100,
        "A window must be between 1h and 30d.": (
            has_window and not SHORTEST_WINDOW <= condition.window <= LONGEST_WINDOW
        ),
        # The service gives scores to inboxes only.
        "Health belongs to inboxes and domains, not to sequences.": (
            by_health and rule.scope is Scope.SEQUENCE
        ),
        "DNS belongs to domains.": condition.metric is Metric.DNS and rule.scope is not Scope.DOMAIN,
        "The service can't pause one inbox: pause its domain, or notify about it.": (
            not only_tells and rule.scope is Scope.INBOX
        ),
        "Only a pause can have a length.": only_tells and rule.duration is not None,
        "Only a rule that pauses can limit the number of sequences.": (
            rule.at_once > 0 and rule.action is not Action.ACT
        ),
        f"Written in full, that is longer than {LONGEST} characters.": len(str(rule)) > LONGEST,
    }
    for mistake, is_so in mistakes.items():
        if is_so:
            raise Misunderstood(mistake)
    return rule


_TOKEN = re.compile(
    rf"[{QUOTES}](?P<name>(?:\\.|[^\\{QUOTES}])*)[{QUOTES}]|(?P<word>[<>]|[0-9.]+\s*%|[^\s,<>{QUOTES}]+|[^\s,])",
    re.DOTALL,
)
_NUMBER = r"[0-9]{1,7}(?:\.[0-9]{1,4})?"
_JOINING = frozenset(
    [
        "a",
        "about",
        "an",
        "and",
        "any",
        "are",
        "at",
        "by",
        "each",
        "every",
        "is",
        "its",
        "last",
        "least",
        "never",
        "own",
        "per",
        "points",
        "rate",
        "score",
        "than",
        "the",
        "their",
        "times",
        "to",
    ]
)
"""Words that may stand between the others, and that change nothing."""
_UNITS = re.compile(r"(?:min|minute|hour|day|week|[mhdw])s?")
_MORE = (">", "above", "over", "exceeds", "more")
_LESS = ("<", "below", "under", "less", "fewer")
_SCOPES = {form: scope for scope in Scope for form in (scope.value, f"{scope}s", f"{scope}es")}
_METRICS = {metric.value: metric for metric in Metric if metric is not Metric.POSITIVE} | {
    "bounce": Metric.BOUNCES,
    "opt": Metric.OPT_OUTS,
    "unsubscribes": Metric.OPT_OUTS,
    "out": Metric.OUT_OF_OFFICE,
    "ooo": Metric.OUT_OF_OFFICE,
    "reply": Metric.REPLIES,
    "positive": Metric.POSITIVE,
}


class _Words:
    """The words of a sentence, read one after another."""

    def __init__(self, text: str) -> None:
        found = _TOKEN.finditer(text)
        self.left = deque(one for one in found if (one["word"] or "").lower() not in _JOINING)

    @property
    def next(self) -> str:
        """The next word as it is written; empty at the end, and for a name in quotes."""
        return self.left[0]["word"] or "" if self.left else ""

    def take(self, *words: str) -> str:
        """The next word in small letters if it is one of these; else it stays, and the answer is empty."""
        return self.left.popleft()["word"].lower() if self.next.lower() in words else ""

    def need(self, expected: str, *words: str) -> str:
        return self.take(*words) or self.fail(expected)

    def fail(self, expected: str) -> NoReturn:
        text = self.left[0]["name"] or self.next if self.left else ""
        word = (
            f"“{clip(text.lower(), length=40)}” isn't understood here"
            if self.left
            else "The sentence ends too early"
        )
        raise Misunderstood(f"{word}. Write {expected}.")

    def match(self, pattern: str, expected: str) -> str:
        return self.left.popleft()[0] if re.fullmatch(pattern, self.next) else self.fail(expected)

    def count(self) -> int:
        return int(self.match("0*[1-9][0-9]{0,6}", "a whole number of 1 or more"))

    def sends(self) -> int:
        count = self.count()
        self.need("“sends”", "sends", "send")
        return count

    def window(self) -> timedelta:
        self.need("“in” and a length of time", "in", "within", "over")
        return self.length()

    def length(self) -> timedelta:
        """A length of time: `24h`, `24 hours`."""
        first, place = self.next.lower(), 1
        if (
            first.isdecimal()
            and len(self.left) > 1
            and _UNITS.fullmatch((self.left[1]["word"] or "").lower())
        ):
            first, place = first + self.left[1][0][0].lower(), 2
        length = parse_duration(first)
        if length is None or length.total_seconds() % 60:
            self.fail("a length of time, like 24h or 7d")
        for _ in range(place):
            self.left.popleft()
        return length

    def name(self) -> str:
        """The next name in quotes; empty if there is none."""
        if not self.left or self.left[0]["name"] is None:
            return ""
        name = re.sub(r"\\(.)", r"\1", self.left.popleft()["name"], flags=re.DOTALL)
        if not name.strip():
            raise Misunderstood("The name in quotes is empty.")
        return name


def _read(words: _Words) -> Rule:
    action = VERBS[words.need("notify, suggest or pause", *VERBS)]
    words.take("pausing", "pause")
    words.take("all")
    scope = _SCOPES.get(words.take(*_SCOPES))
    only = words.name() if scope else ""
    if (
        not only
        and scope in {Scope.INBOX, Scope.DOMAIN}
        and words.next.lower() not in {"", "for", "when", "if"}
    ):
        only = words.left.popleft()[0].lower()
    if only and scope is Scope.WORKSPACE:
        raise Misunderstood("A workspace needs no name here.")
    limits: dict[str, Any] = {}
    if words.take("for"):
        limits["duration"] = words.length()
    words.need("“when”" if scope else "sequence, inbox, domain or workspace", "when", "if")
    condition = _condition(words)
    excepted: list[str] = []
    while words.left:
        if words.take("except") and (name := words.name()):
            while name:
                excepted.append(name)
                name = words.name()
            continue
        field, value = _limit(words)
        if field in limits:  # the later one would silently replace the earlier
            raise Misunderstood(f"This sets {_ONCE[field]} twice.")
        limits[field] = value
    # A notice changes nothing, and comes once per incident: it needs no limit.
    usual = {Action.TELL: 0, Action.SUGGEST: PER_DAY, Action.ACT: PER_DAY_ACT}[action]
    at_once = SEQUENCES_AT_ONCE if action is Action.ACT else 0
    subject = {Metric.HEALTH: Scope.INBOX, Metric.DNS: Scope.DOMAIN}.get(condition.metric, Scope.SEQUENCE)
    return Rule(
        action=action,
        scope=scope or subject,
        only=only,
        condition=condition,
        except_names=tuple(excepted),
        **{"per_day": usual, "at_once": at_once, **limits},
    )


_ONCE = {
    "duration": "the length of a pause",
    "except_hours": "the excepted hours",
    "at_once": "the limit of sequences",
    "per_day": "the limit a day",
}


def _limit(words: _Words) -> tuple[str, Any]:
    """The field of a rule that the next clause limits, and its value."""
    if words.take("for"):
        return "duration", words.length()
    if words.take("most"):
        count = words.count()
        if words.take("sequences", "sequence"):
            words.take("once")
            return "at_once", count
        words.need("“a day” or “sequences at once”", "day")
        return "per_day", count
    start, end = (parse_time(part) for part in words.next.partition("-")[::2])
    if start is None or end is None or start == end:
        words.fail("“at most” or “except” with a name in quotes or hours like 20:00-08:00, or end here")
    words.left.popleft()
    zone = words.left.popleft()[0] if words.next and find_zone(words.next) else "UTC"
    return "except_hours", QuietHours(start=start, end=end, zone=zone)


def _condition(words: _Words) -> Condition:
    if words.take("no"):
        words.need("“replies”", "replies", "reply")
        words.need("“after 200 sends”", "after", "in")
        sends = words.sends()
        return Condition(metric=Metric.REPLIES, test=Comparison.SILENCE, sends=sends, window=words.window())
    metric = _METRICS[words.need(f"a metric ({', '.join(Metric)})", *_METRICS)]
    while words.take("replies", "outs", "of", "office"):  # of `positive replies` and `out of office`
        pass
    if metric is Metric.DNS:
        words.need("“is broken”", "broken")
        return Condition(metric=metric, test=Comparison.BROKEN)
    if metric is Metric.HEALTH:
        return _health(words)
    return _rate(words, metric, about_replies=metric in {Metric.REPLIES, Metric.POSITIVE})


def _health(words: _Words) -> Condition:
    falls = words.take("falls", "drops")
    if not falls and words.need("> or <", *_MORE, *_LESS) in _MORE:
        raise Misunderstood("Health can only be below a score, or fall.")
    limit = float(words.match(_NUMBER, "a number"))
    if falls:
        return Condition(metric=Metric.HEALTH, test=Comparison.FALL, limit=limit, window=words.window())
    return Condition(metric=Metric.HEALTH, test=Comparison.LEVEL_BELOW, limit=limit)


def _rate(words: _Words, metric: Metric, *, about_replies: bool) -> Condition:
    """A rate of the sends, or a count of events: replies can only be too few, what else is counted too many."""
    is_above = words.need("> or <", *_MORE, *_LESS) in _MORE
    text = words.match(rf"{_NUMBER}\s*%?", "a number")
    limit = float(text.rstrip("% "))
    if "%" not in text:
        if not is_above or about_replies or limit != int(limit):
            raise Misunderstood("Give a percentage of the sends, like 5%.")
        return Condition(metric=metric, test=Comparison.COUNT_ABOVE, limit=limit, window=words.window())
    if is_above == about_replies:
        side = "below" if about_replies else "above"
        raise Misunderstood(f"{metric.capitalize()} can only be {side} a percentage.")
    test, sends = Comparison.RATE_BELOW if about_replies else Comparison.RATE_ABOVE, ENOUGH_SENDS
    if words.take("of"):
        if words.take("baseline"):
            if not about_replies:
                raise Misunderstood("Only replies can be compared with a baseline.")
            test = Comparison.BELOW_BASELINE
            words.need("“over at least 50 sends”", "over", "of")
        sends = words.sends()
    return Condition(metric=metric, test=test, limit=limit, sends=sends, window=words.window())


SHIPPED: Mapping[str, str] = {
    "bounces-5": "suggest pausing sequence when bounces > 5% of at least 200 sends in 24h",
    "domain-bounces-5": "suggest pausing domain when bounces > 5% of at least 200 sends in 24h",
    "bounces-10": "suggest pausing sequence when bounces > 10% of at least 60 sends in 4h",
    "domain-bounces-10": "suggest pausing domain when bounces > 10% of at least 60 sends in 4h",
    "opt-outs-2": "suggest pausing sequence when opt-outs > 2% of at least 500 sends in 3d",
    "domain-bounces-10-1h": "notify about domain when bounces > 10 in 1h",
    "domain-bounces-5-1h": "notify about domain when bounces > 5% of at least 60 sends in 1h",
    "no-replies-1000": "notify about sequence when no replies after 1000 sends in 14d",
    "positive-third": "notify about sequence when positive replies < 33% of baseline over at least 400 sends in 7d",
    "health-20": "notify about domain when health < 20",
}
"""The built-in rules by name. They only suggest or notify; docs/guardrails.md gives the sources of their thresholds."""


@frozen
class NamedRule:
    """A rule with its name; `source` is shipped, settings or added."""

    name: str
    rule: Rule
    source: str
    added_by: str = ""
    """The Slack id of who added it; empty where that is not known."""
    added_name: str = ""


def catalog(configured: Mapping[str, str], stored: Sequence[StoredRule]) -> dict[str, NamedRule]:
    """The rules by name. The settings replace what is shipped; what was added replaces only that.

    A stored sentence that this version does not understand is left out.
    """
    found = {name: NamedRule(name=name, rule=parse(text), source="shipped") for name, text in SHIPPED.items()}
    for one in stored:
        try:
            rule = parse(one.sentence)
        except Misunderstood:
            continue
        found[one.name] = NamedRule(
            name=one.name,
            rule=rule,
            source="added",
            added_by=one.added_by,
            added_name=one.added_name,
        )
    # Last: what stands in the settings wins over what was typed.
    for name, text in configured.items():
        found[name] = NamedRule(name=name, rule=parse(text), source="settings")
    return found


def free_name(rule: Rule, taken: Mapping[str, object]) -> str:
    """A name for a rule that was given none."""
    name, number = default_name(rule), 1
    while (free := name if number == 1 else f"{name}-{number}") in taken:
        number += 1
    return free
