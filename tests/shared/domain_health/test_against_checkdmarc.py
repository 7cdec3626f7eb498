"""Verdicts on 42 zones, compared with those of checkdmarc, which reads the RFCs independently.

The zones come from 200 random ones that checkdmarc 6 judged once: two for each pair of verdicts, without the
records that change neither. Where both differ by design, the zones have no such records: checkdmarc ignores what follows `all`, be
it invalid (by RFC 7208, 4.6 a syntax error anywhere breaks the record), and it rejects a wrong DMARC policy also where
there is a `rua` (by RFC 9989, 4.10.1 that is p=none).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shared.domain_health import spf
from shared.domain_health.answers import Answer, Answers, Question, Unanswered
from shared.domain_health.report import Check
from tests.shared.domain_health.zones import Zones, judged

JUDGED = json.loads(Path(__file__).with_name("checkdmarc_zones.json").read_text(encoding="utf-8"))
FINAL = {"+": "pass", "-": "fail", "~": "softfail", "?": "neutral", "": "neutral"}


def counted(domain: str, zones: Zones) -> tuple[str, int]:
    """The verdict on all other servers and the number of look-ups that the SPF record takes."""
    known: dict[Question, Answer] = {}
    texts = (text.decode() for text in zones.answer(Question(domain, "TXT")).records)
    record = next(text for text in texts if spf.is_spf(text))
    while True:
        answers = Answers(known)
        try:
            count = spf.evaluate(record, domain, answers)
        except Unanswered:
            known |= {one: zones.answer(one) for one in answers.asked}
        else:
            return FINAL[count.final], count.lookups


@pytest.mark.parametrize("zone", JUDGED, ids=lambda zone: f"{zone['spf']}-{zone['domain']}")
def test_a_zone_has_the_verdicts_that_checkdmarc_gives(zone: dict[str, Any]) -> None:
    zones = Zones(*zone["records"])
    found = judged(zones, zone["domain"])
    assert found[Check.SPF].code.name == zone["spf"]
    assert found[Check.DMARC].value.name == zone["dmarc"]
    if "lookups" in zone:
        assert counted(zone["domain"], zones) == (zone["others"], zone["lookups"])
