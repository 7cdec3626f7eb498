"""The words of a guardrail's sentence. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from shared.guardrails.rule import QUOTES, Action, Metric, Scope

LONGEST = 600
SHORTEST_WINDOW, LONGEST_WINDOW = timedelta(hours=1), timedelta(days=30)
ENOUGH_SENDS = 50
PER_DAY, PER_DAY_ACT, AT_ONCE = 5, 3, 2
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
COUNT = re.compile(r"[0-9]{1,7}")
NUMBER = re.compile(r"[0-9]{1,7}(?:\.[0-9]{1,4})?")
UNITS = re.compile(r"(?:minute|min|hour|day|week)s?|m|h|d|w")
ABOVE, BELOW = {">", "above", "over", "exceed", "exceeds", "more"}, {"<", "below", "under", "less", "fewer"}


@dataclass(frozen=True, slots=True)
class Token:
    """A word in lower case, or what stood in quotes."""

    text: str
    quoted: bool = False
    given: str = ""

    def is_one_of(self, words: Collection[str]) -> bool:
        return not self.quoted and any(word == self.text for word in words)


def tokenize(text: str) -> list[Token]:
    found = []
    for match in TOKEN.finditer(text):
        if match["name"] is not None:
            found.append(Token(re.sub(r"\\(.)", r"\1", match["name"], flags=re.DOTALL), quoted=True))
        else:
            word = match["word"]
            found.append(Token(word.lower(), given=word))
    return found
