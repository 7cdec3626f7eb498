"""A guardrail as values, and as a sentence. Pure."""

from __future__ import annotations

import re
from datetime import timedelta
from enum import StrEnum

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
        """The sentence that `sentence.parse` reads back to the same rule."""
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
