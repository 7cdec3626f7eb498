"""The rules of a workspace: a guardrail as values, as a sentence that is read back to them, and by its name. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from enum import StrEnum
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NoReturn

from shared.domain.wall_clock import QuietHours, find_zone, parse_time
from shared.frozen import frozen
from shared.text.formats import clip_name
from shared.text.sanitize import visible
from shared.text.tokenize import parse_duration

if TYPE_CHECKING:
    from shared.records import StoredRule

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


_ANSWERS = (Metric.POSITIVE, Metric.REPLIES)
_FORMS: Mapping[Comparison, tuple[Iterable[Metric], str]] = {
    Comparison.RATE_ABOVE: (EVENT_OF, "{metric} > {limit}% of at least {sends} sends in {window}"),
    Comparison.RATE_BELOW: (_ANSWERS, "{metric} < {limit}% of at least {sends} sends in {window}"),
    Comparison.COUNT_ABOVE: (EVENT_OF, "{metric} > {limit} in {window}"),
    Comparison.SILENCE: ((Metric.REPLIES,), "no {metric} after {sends} sends in {window}"),
    Comparison.BELOW_BASELINE: (
        _ANSWERS,
        "{metric} < {limit}% of baseline over at least {sends} sends in {window}",
    ),
    Comparison.LEVEL_BELOW: ((Metric.HEALTH,), "{metric} < {limit}"),
    Comparison.FALL: ((Metric.HEALTH,), "{metric} falls {limit} in {window}"),
    Comparison.BROKEN: ((Metric.DNS,), "{metric} is broken"),
}
"""The sentence of each comparison, written and read, with the metrics that it can be about."""


@frozen
class Condition:
    """`limit` is in per cent for rates, a count or a score else; `sends` is the least for which a rate counts."""

    metric: Metric
    test: Comparison
    limit: float = 0.0
    sends: int = 0
    window: timedelta = timedelta()

    def __str__(self) -> str:
        return _FORMS[self.test][1].format(
            metric=self.metric,
            limit=show_limit(self.limit),
            sends=self.sends,
            window=show_window(self.window),
        )


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


LONGEST = 600
SHORTEST_WINDOW, LONGEST_WINDOW = timedelta(hours=1), timedelta(days=30)
ENOUGH_SENDS = 50
PER_DAY = {Action.TELL: 0, Action.SUGGEST: 5, Action.ACT: 3}
"""The usual limit. A notice changes nothing, and comes once per incident: it needs none."""
SEQUENCES_AT_ONCE = 2
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
    rule = _Sentence(text).rule()
    condition, by_health = rule.condition, rule.condition.metric is Metric.HEALTH
    is_rate = "%" in _FORMS[condition.test][1]
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
        "A workspace needs no name here.": rule.scope is Scope.WORKSPACE and bool(rule.only),
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


_FILLERS = (
    "a about an and any are at by each every is its last least never of own per points rate score than the their "
    "times to all pausing office outs"
)
"""Words that may stand between the others, and that change nothing."""
_SYNONYMS = {
    ">": "above over exceeds more",
    "<": "below under less fewer",
    "bounces": "bounce",
    "opt-outs": "opt unsubscribes",
    "out-of-office": "out ooo",
    "replies": "reply",
    "sends": "send",
    "falls": "drops",
    "when": "if",
    "in": "within",
}
_PLAIN = dict.fromkeys(_FILLERS.split(), "") | {
    word: plain for plain, words in _SYNONYMS.items() for word in words.split()
}
# Patterns are compiled where a sentence is first read: `outreach --help` reads none.
_QUOTED = rf"(?s)[{QUOTES}]((?:\\.|[^\\{QUOTES}])*)[{QUOTES}]"
_LENGTH = r"[0-9]{1,6} ?(?:min|minute|hour|day|week|[mhdw])s?\b"
_COUNT = "0*[1-9][0-9]{0,6}"
_HEAD = (
    rf"(?P<verb>{'|'.join(VERBS)}) (?:(?P<scope>{'|'.join(Scope)})(?:e?s)?(?: (?P<only>\0[0-9]+|(?!for |when )[^ \0]+))? )?"
    rf"(?:for (?P<duration>{_LENGTH}) )?when "
)
_LIMIT = (
    rf"for (?P<duration>{_LENGTH})|most (?P<per_day>{_COUNT}) day|most (?P<at_once>{_COUNT}) sequences?(?: once)?"
    r"|except(?P<except_names>(?: \0[0-9]+)+)"
    r"|except (?P<except_hours>[^ -]+-[^ -]+(?: (?!except |most |for )\S+)?)"
)


def _in_plain_words(text: str) -> str:
    words = re.findall(r"[<>]|[0-9.]+\s*%|[^\s,<>]+", text)
    return " ".join(filter(None, (_PLAIN.get(word.lower(), word.replace(" ", "")) for word in words)))


@cache
def _form(test: Comparison) -> str:
    """What a condition of this form looks like in plain words."""
    metrics, sentence = _FORMS[test]
    groups = {
        "metric": f"(?P<metric>{'|'.join(metrics)})",
        "limit": r"(?P<limit>[0-9]{1,7}(?:\.[0-9]{1,4})?)",
        "sends": f"(?P<sends>{_COUNT})",
        "window": f"(?P<window>{_LENGTH})",
    }
    # Without its number of sends a rate is of the usual one.
    plain = _in_plain_words(sentence).replace("% {sends} sends", "%(?: {sends} sends)?")
    return plain.format(**groups) + r"(?!\S)"


class _Sentence:
    """A sentence in plain words, its names in quotes put aside."""

    def __init__(self, text: str) -> None:
        self._names: list[str] = []
        self._left = _in_plain_words(re.sub(_QUOTED, self._put_aside, visible(text)))

    def _put_aside(self, found: re.Match[str]) -> str:
        self._names.append(re.sub(r"\\(.)", r"\1", found[1], flags=re.DOTALL))
        return f" \0{len(self._names) - 1} "

    def _named(self, mark: str) -> str:
        return self._names[int(mark[1:])] if mark.startswith("\0") else mark

    def _take(self, pattern: str) -> dict[str, str]:
        """The parts that the next words say; empty, and nothing taken, where these are others."""
        found = re.match(pattern, self._left, re.IGNORECASE)
        if not found:
            return {}
        self._left = self._left[found.end() :].lstrip()
        return {name: value for name, value in found.groupdict().items() if value}

    def _fail(self, text: str = "") -> NoReturn:
        text = re.sub(r"\0[0-9]+", lambda mark: f'"{self._named(mark[0])}"', text or self._left)
        raise Misunderstood(f"“{clip_name(text)}” isn't understood here")

    def _length(self, text: str) -> timedelta:
        return parse_duration(text) or self._fail(text)

    def rule(self) -> Rule:
        head = self._take(_HEAD) or self._fail()
        condition = self._condition()
        limits: dict[str, Any] = {"duration": self._length(head["duration"])} if "duration" in head else {}
        names: list[str] = []
        while self._left:
            for field, value in (self._take(_LIMIT) or self._fail()).items():
                if field == "except_names":
                    names += map(self._named, value.split())
                elif field in limits:  # the later one would silently replace the earlier
                    raise Misunderstood("The same limit is set twice.")
                else:
                    limits[field] = self._limit(field, value)
        action = VERBS[head["verb"].lower()]
        subject = {Metric.HEALTH: Scope.INBOX, Metric.DNS: Scope.DOMAIN}.get(condition.metric, Scope.SEQUENCE)
        only = self._named(head.get("only", ""))
        if not all(map(str.strip, names)) or ("only" in head and not only.strip()):
            raise Misunderstood("The name in quotes is empty.")
        usual = {"per_day": PER_DAY[action], "at_once": SEQUENCES_AT_ONCE * (action is Action.ACT)}
        return Rule(
            action=action,
            scope=Scope(head.get("scope", subject).lower()),
            only=only,
            condition=condition,
            except_names=tuple(names),
            **usual | limits,
        )

    def _condition(self) -> Condition:
        fitting = ((test, found) for test in Comparison if (found := self._take(_form(test))))
        test, found = next(fitting, None) or self._fail()
        return Condition(
            metric=Metric(found["metric"].lower()),
            test=test,
            limit=float(found.get("limit", 0)),
            sends=int(found.get("sends") or ENOUGH_SENDS * ("{sends}" in _FORMS[test][1])),
            window=self._length(found["window"]) if "window" in found else timedelta(),
        )

    def _limit(self, field: str, value: str) -> Any:
        if field == "duration":
            return self._length(value)
        if field != "except_hours":
            return int(value)
        hours, _, zone = value.partition(" ")
        start, end = map(parse_time, hours.split("-"))
        if start is None or end is None or start == end or (zone and not find_zone(zone)):
            self._fail(value)
        return QuietHours(start=start, end=end, zone=zone or "UTC")


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
    """A name for a rule that was given none, by what it is about: `bounces-5`, `no-replies-200`, `health-60-2`."""
    condition = rule.condition
    words = {Comparison.SILENCE: f"no-replies-{condition.sends}", Comparison.BROKEN: "dns-broken"}
    usual = f"{condition.metric.replace(' ', '-')}-{show_limit(condition.limit)}"
    name, number = words.get(condition.test, usual), 1
    while (free := name if number == 1 else f"{name}-{number}") in taken:
        number += 1
    return free
