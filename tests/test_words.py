"""The docs, and the answers that docs/copy.md renders, stay in plain English: what was replaced doesn't come back."""

from __future__ import annotations

import re

import pytest

from tests.test_docs import PAGES

pytestmark = pytest.mark.lint

REPLACED = re.compile(
    r"""\b(?:
      (?:be|is|are|was|not|now)\ told\b | tells?\ about | somebody | whoever | nobody\ (?:waits|has\ it|is\ interested)
    | waits\ for\ someone | needs?\ a\ look | checks\ are\ fine | what\ can\ wait | only\ reads | takes?\ it\ back
    | in\ vain | anew | meanwhile | in\ the\ meantime | mend | plainer | stumbled | wasn't\ asked | was\ set\ aside
    | by\ (?:itself|themselves) | wake\ now | to\ undo: | went\ wrong\ here | is\ (?:already\ there|there\ already)
    | is\ no\ (?:duration|event|channel|page|date|period|day|port) | no\ answer\ (?:yet|within|in\ time)
    | could\ be\ (?:paused|resumed) | there\ are:\ | e-mail | colours? | organisations? | \d\ %
    )""",
    re.IGNORECASE | re.VERBOSE,
)


def test_docs_and_answers_hold_no_replaced_phrase() -> None:
    lines = ((page.name, line) for page in PAGES for line in page.read_text(encoding="utf-8").splitlines())
    assert [(name, phrase[0], line) for name, line in lines if (phrase := REPLACED.search(line))] == []
