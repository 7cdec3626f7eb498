"""The words of a guardrail's sentence. Pure."""

from __future__ import annotations

import re
from datetime import timedelta

from shared.guardrails.rule import QUOTES, Action, Metric, Scope

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


def word_at(text: str, start: int = 0) -> str:
    """The word that begins there, in quotation marks, cut if it is long."""
    found = TOKEN.search(text, start)
    word = (found["name"] or found["word"] or "").lower() if found else ""
    return f"“{word}”" if len(word) <= 40 else f"“{word[:39]}…”"
