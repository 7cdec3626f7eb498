"""Parses the sentence of a guardrail; an invalid one is rejected with what was expected. Pure."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import lru_cache

from shared.guardrails.rule import QUOTES, Action, Comparison, Metric, Rule, Scope
from shared.text.sanitize import visible

LONGEST = 600
SHORTEST_WINDOW, LONGEST_WINDOW = timedelta(hours=1), timedelta(days=30)
ENOUGH_SENDS = 50
PER_DAY, PER_DAY_ACT, SEQUENCES_AT_ONCE = 5, 3, 2
ACTIONS = {"notify": Action.TELL, "tell": Action.TELL, "suggest": Action.SUGGEST, "pause": Action.ACT}
METRICS = {
    "bounces": Metric.BOUNCES,
    "bounce": Metric.BOUNCES,
    "opt-outs": Metric.OPT_OUTS,
    "opt-out": Metric.OPT_OUTS,
    "optouts": Metric.OPT_OUTS,
    "unsubscribes": Metric.OPT_OUTS,
    "out-of-office": Metric.OUT_OF_OFFICE,
    "ooo": Metric.OUT_OF_OFFICE,
    "replies": Metric.REPLIES,
    "reply": Metric.REPLIES,
    "positive": Metric.POSITIVE,
    "health": Metric.HEALTH,
    "dns": Metric.DNS,
}
SCOPES = {scope.value: scope for scope in Scope} | {
    "sequences": Scope.SEQUENCE,
    "inboxes": Scope.INBOX,
    "domains": Scope.DOMAIN,
}
TOKEN = re.compile(
    rf"[{QUOTES}](?P<name>(?:\\.|[^\\{QUOTES}])*)[{QUOTES}]|(?P<word>[<>]|[^\s,<>{QUOTES}]+|[^\s,])",
    re.DOTALL,
)
EXAMPLE = "suggest pausing sequence when bounces > 5% of at least 50 sends in 24h"
RULES = 4096
"""Sentences whose rules are remembered: jobs parse those of all workspaces at every look."""


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

    return _checked(read(visible(text)))


def _checked(rule: Rule) -> Rule:
    condition = rule.condition
    rates = {Comparison.RATE_ABOVE, Comparison.RATE_BELOW, Comparison.BELOW_BASELINE}
    if condition.test in rates and not 0 < condition.limit < 100:
        raise Misunderstood("A percentage must be between 0% and 100%.")
    if condition.metric is Metric.HEALTH and not 0 < condition.limit <= 100:
        raise Misunderstood("A health score must be between 0 and 100.")
    has_window = condition.test not in {Comparison.LEVEL_BELOW, Comparison.BROKEN}
    if has_window and not SHORTEST_WINDOW <= condition.window <= LONGEST_WINDOW:
        raise Misunderstood("A window must be between 1h and 30d.")
    # The service gives scores to inboxes only.
    if condition.metric is Metric.HEALTH and rule.scope is Scope.SEQUENCE:
        raise Misunderstood("Health belongs to inboxes and domains, not to sequences.")
    if condition.metric is Metric.DNS and rule.scope is not Scope.DOMAIN:
        raise Misunderstood("DNS belongs to domains.")
    if rule.action is not Action.TELL and rule.scope is Scope.INBOX:
        raise Misunderstood("The service can't pause one inbox: pause its domain, or notify about it.")
    if rule.duration is not None and rule.action is Action.TELL:
        raise Misunderstood("Only a pause can have a length.")
    if rule.at_once and rule.action is not Action.ACT:
        raise Misunderstood("Only a rule that pauses can limit the number of sequences.")
    if len(str(rule)) > LONGEST:
        raise Misunderstood(f"Written in full, that is longer than {LONGEST} characters.")
    return rule


def word_at(text: str, start: int = 0) -> str:
    """The word that begins there, in quotation marks, cut if it is long."""
    found = TOKEN.search(text, start)
    word = (found["name"] or found["word"] or "").lower() if found else ""
    return f"“{word}”" if len(word) <= 40 else f"“{word[:39]}…”"
