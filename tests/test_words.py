"""The product's texts stay in plain English: phrases that were replaced don't come back."""

from __future__ import annotations

import re

import pytest

from tests.copy_page.page import ROOT, product_files, strings_of

pytestmark = pytest.mark.lint

BANNED = (
    r"There is no [“']here",
    r"[”}] is no (?:duration|event|channel|page|date|period|day|e-mail|port|web address)\b",
    r"\bNobody (?:knows whether|waits|has it|can be asked)",
    r"\bBe told\b",
    r"\bis (?:now )?told of\b",
    r"\bHave a channel told\b",
    r"waits for somebody",
    r"Waiting for somebody",
    r"\bneeds? a look\b",
    r"\bchecks are fine\b",
    r"of its own\b.*trouble|trouble of its own",
    r"is not for you here",
    r"somebody else's",
    r"to be asked (?:anew|yourself)",
    r"what can wait waits",
    r"comes back by itself",
    r"went wrong here",
    r"\bMend\b",
    r"organisation",
    r"\bin vain\b",
    r"lists what there is",
    r"e-mail address",
    r"this should not have happened",
    r"is there already",
    r"built anew",
    r"\bwhoever\b",
    r"\bof its own\b",
    r"\bthere was nothing to\b",
    r"(?<![Tt]here )\bis no (?!longer\b|more\b|such\b)[a-z]+",
    r"\bnobody is interested\b",
    r"(?i)\bonly reads\b",
    r"\btakes? (?:it )?back\b",
    r"\bgoing on (?:after|alone|at)\b",
    r"\bgoes on where\b",
    r"\bno answer (?:in time|yet|within)\b",
    r"\bwas set aside\b",
    r"\bnot told\b",
    r"\bin the meantime\b",
    r"\bplainer\b",
    r"\bstumbled\b",
    r"\b\d %",
    r" colour|colour ",
    r"\be-mail\b",
    r"\bSlack says\b",
    r"\bby (?:itself|themselves)\b",
    r"\banew\b",
    r"\bmeanwhile\b",
    r"\b[Ss]omebody\b",
    r"\btells? about\b",
    r"\bWake now\b",
    r"\bTo undo:",
    r"\bis back\b.*[Ss]nooze",
    r"\bwasn't asked\b",
    r"\bhas (?:its|no) digest\b",
    r"\bsubscriptions? ended\b",
    r"[Tt]here are: ",
    r"\bon already\b",
    r"\bleft out\b",
    r"\bcould be (?:paused|resumed)\b",
    r"[a-z]; (?:use|add|try|set|choose|see|write|name) ",
)


def test_strings_hold_no_banned_phrase() -> None:
    phrases = [re.compile(phrase) for phrase in BANNED]
    assert [
        (str(path.relative_to(ROOT)), phrase.pattern, text)
        for path in product_files()
        for text in strings_of(path)
        for phrase in phrases
        if phrase.search(text)
    ] == []
