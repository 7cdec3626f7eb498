"""Answers of DNS, and the questions that a verdict still needs. Pure.

A check is a function of the answers so far. What it asks and nobody has answered is noted, and it is made again with
the new answers: so the same code runs on a resolver, on a test's zone, and on what another process has looked up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shared.domain_health.report import Code
from shared.frozen import frozen

MOST_QUESTIONS = 120
"""Questions about one domain: the selectors, and an SPF record at its limit with its addresses, are about 70."""
LONGEST_NAME = 253


@dataclass(frozen=True, slots=True)
class Question:
    """A name, and a type of records."""

    name: str
    type: str


@frozen
class Answer:
    """A resolver's answer."""

    records: tuple[bytes, ...] = ()
    """The records: TXT as text, with its strings joined (RFC 7208, 3.3); others as zone files write them."""
    ttl: float = 0.0
    """Seconds for which it holds."""
    is_gone: bool = False
    """There is no such name; else there may be no records of this type."""
    failure: Code | None = None
    """The reason why it says nothing of what is in DNS."""


class Unanswered(Exception):  # no error: the check is made again with more answers
    """A check needs an answer that isn't there yet."""


class Failed(Exception):
    """An answer that a check needs is unknown."""

    def __init__(self, code: Code) -> None:
        self.code = code
        super().__init__(code)


class Answers:
    """The answers so far."""

    def __init__(self, known: Mapping[Question, Answer]) -> None:
        self._known = known
        self.asked: dict[Question, None] = {}
        """The questions that are still to be looked up, in order."""
        self.used: dict[Question, None] = {}

    def find(self, name: str, kind: str) -> Answer:
        """Raises `Unanswered` where nobody has looked yet."""
        question = Question(name.rstrip(".").lower(), kind)
        self.used[question] = None
        if not is_name(question.name):
            return Answer(is_gone=True)
        answer = self._known.get(question)
        if answer is None:
            self.asked[question] = None
            raise Unanswered
        return answer

    def known(self, name: str, kind: str) -> Answer:
        """Raises `Unanswered`, or `Failed` where the answer is unknown."""
        answer = self.find(name, kind)
        if answer.failure:
            raise Failed(answer.failure)
        return answer

    def texts(self, name: str) -> tuple[Answer, tuple[str, ...]]:
        """The TXT records of a name; bytes beyond ASCII as they are, one character each. Raises as `known`."""
        answer = self.known(name, "TXT")
        return answer, tuple(record.decode("latin-1") for record in answer.records)


def is_name(name: str) -> bool:
    """True if a name fits into a query (RFC 1035, 2.3.4)."""
    labels = name.split(".")
    return len(name) <= LONGEST_NAME and all(0 < len(label) <= 63 for label in labels) and name.isascii()
