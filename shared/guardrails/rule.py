"""A guardrail as values, and as a sentence that is read back to them. Pure."""

from __future__ import annotations

import re
from datetime import timedelta
from enum import StrEnum
from functools import lru_cache

from shared.domain.quiet_hours import QuietHours
from shared.frozen import frozen
from shared.text.sanitize import visible

QUOTES = '"“”„«»'
SPECIAL = re.compile(rf"[\\{QUOTES}]")


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
    return f'"{SPECIAL.sub(lambda found: chr(92) + found[0], name)}"'


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
    from shared.guardrails.grammar import read  # late: settings without a rule don't wait for the library

    rule = read(visible(text))
    if mistake := next((problem for problem, is_so in _mistakes(rule).items() if is_so), ""):
        raise Misunderstood(mistake)
    return rule


def _mistakes(rule: Rule) -> dict[str, bool]:
    """What makes no sense in a rule, and whether it is so in this one."""
    condition, acts, by_health = (
        rule.condition,
        rule.action is Action.ACT,
        rule.condition.metric is Metric.HEALTH,
    )
    is_rate = condition.test in {Comparison.RATE_ABOVE, Comparison.RATE_BELOW, Comparison.BELOW_BASELINE}
    has_window = condition.test not in {Comparison.LEVEL_BELOW, Comparison.BROKEN}
    fits = SHORTEST_WINDOW <= condition.window <= LONGEST_WINDOW
    only_tells, by_dns = rule.action is Action.TELL, condition.metric is Metric.DNS
    return {
        "A percentage must be between 0% and 100%.": is_rate and not 0 < condition.limit < 100,
        "A health score must be between 0 and 100.": by_health and not 0 < condition.limit <= 100,
        "A window must be between 1h and 30d.": has_window and not fits,
        # The service gives scores to inboxes only.
        "Health belongs to inboxes and domains, not to sequences.": by_health
        and rule.scope is Scope.SEQUENCE,
        "DNS belongs to domains.": by_dns and rule.scope is not Scope.DOMAIN,
        "The service can't pause one inbox: pause its domain, or notify about it.": (
            not only_tells and rule.scope is Scope.INBOX
        ),
        "Only a pause can have a length.": only_tells and rule.duration is not None,
        "Only a rule that pauses can limit the number of sequences.": bool(rule.at_once) and not acts,
        f"Written in full, that is longer than {LONGEST} characters.": len(str(rule)) > LONGEST,
    }
