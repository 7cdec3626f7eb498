"""What commands make of values: a lead as one record, the days of a report, and how a setting is cured."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from shared.api.models import Lead
from shared.commands.leads import record_of
from shared.commands.run import setting_hint
from shared.commands.stats import _spans
from shared.commands.times import DayRange


def test_a_lead_is_one_flat_record_with_the_names_of_its_own_fields() -> None:
    raw = {
        "leadId": "ld_1",
        "email": "a@b.c",
        "custom": {"role": "CTO", "email": "x@y.z"},
        "tags": ["é", 2],
        "same": "a@b.c",
    }
    record = record_of(Lead(id="ld_1", email="a@b.c", raw=raw))
    assert (record["id"], record["email"], record["role"]) == ("ld_1", "a@b.c", "CTO")
    assert (record["custom.email"], record["tags"], record["same"]) == ("x@y.z", '["é", 2]', "a@b.c")
    assert "leadId" not in record, "it is the id"


@pytest.mark.parametrize(("days", "lengths"), [(1, [1]), (62, [1] * 62), (63, [7] * 9), (64, [7] * 9 + [1])])
def test_a_long_report_counts_weeks(days: int, lengths: list[int]) -> None:
    first = date(2026, 1, 1)
    spans = _spans(DayRange(start=first, end=first + timedelta(days=days - 1)))
    assert [(span.end - span.start).days + 1 for span in spans] == lengths
    assert [span.start for span in spans[1:]] == [span.end + timedelta(days=1) for span in spans[:-1]]


def test_each_part_of_a_client_has_its_setting() -> None:
    hints = [setting_hint(name) for name in ("api_key", "base_url", "fields.inbox.health_score")]
    for hint, words in zip(
        hints, ("OUTREACH_API_KEY", "OUTREACH_BASE_URL", "[fields.inbox]: health_score ="), strict=True
    ):
        assert words in hint
