"""The page of a client report: it loads nothing, says what was read, and lets no text become markup."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from html.parser import HTMLParser

import pytest

from shared.api.models import StatsRow
from shared.client_report.logo import MOST_BYTES, logo_uri
from shared.client_report.model import (
    Brand,
    Bucket,
    Change,
    ClientReport,
    DomainReport,
    report_data,
    without_leads,
)
from shared.client_report.page import page
from shared.client_report.style import DARK, LEAST_CONTRAST, LIGHT, _parts, contrast, legible
from shared.domain.card import Tone
from shared.records.domains import DomainIncident
from shared.records.replies import PositiveReply, Waits

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
EVIL = '"><script>alert(1)</script><img src=x onerror=alert(2)>\u202e\x1b[31m'
REPORT = ClientReport(
    workspace="acme",
    first=date(2026, 3, 2),
    last=date(2026, 3, 8),
    made_at=NOON,
    sequences=(
        StatsRow(group="Q3 CTO", sends=1000, replies=71, positive_replies=20, meetings=4),
        StatsRow(group="New", sends=20, replies=1, positive_replies=0, meetings=None),
    ),
    before=StatsRow(group="total", sends=1000, replies=20, positive_replies=19, meetings=4),
    before_days=(date(2026, 2, 23), date(2026, 3, 1)),
    buckets=(
        Bucket(first=date(2026, 3, 2), last=date(2026, 3, 2), counts=StatsRow(group="d", sends=500, replies=40)),
        Bucket(first=date(2026, 3, 3), last=date(2026, 3, 3), counts=StatsRow(group="d", sends=520, replies=32)),
    ),
    replies=2,
    touches=Waits(count=1, median=420.0, p90=420.0, in_time=1),
    positive=(
        PositiveReply(
            at=NOON, sequence="Q3 CTO", touched_after=timedelta(minutes=7),
            lead="Ada Lovelace", company="Engines Ltd", email="ada@engines.example",
        ),
        PositiveReply(at=NOON, sequence="Q3 CTO", lead="Bob", email="bob@b.example"),
    ),
    domains=(
        DomainReport(
            domain="mail.example", inboxes=3, score=41, tone=Tone.BAD, text="1 bad", course=(80.0, 60.0, 41.0)
        ),
    ),
    incidents=(
        DomainIncident(
            at=NOON, text="The service paused mail.example", handled_by="ann",
            handled_at=NOON + timedelta(minutes=9), recovered_at=NOON + timedelta(hours=26),
        ),
    ),
    changes=(Change(at=NOON, who="ann", text="Q3 CTO (sq_1) paused; reason: ada@engines.example complained"),),
)  # fmt: skip
LOGO = logo_uri(b'<svg xmlns="http://www.w3.org/2000/svg"/>')
BRAND = Brand(name="Northline", color="#0f766e", logo=LOGO)


class Reader(HTMLParser):
    """Collects the tags, the attributes and the words that a browser would show."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def shown(self) -> str:
        return " ".join(self.words)


def test_the_page_loads_nothing_and_forbids_it() -> None:
    text = page(REPORT, BRAND)
    assert "http:" not in text
    assert "https:" not in text
    assert "@import" not in text
    assert "url(" not in text
    read = Reader(text)
    assert not {"script", "link", "iframe", "object", "embed", "base", "form"} & set(read.tags)
    loaded = [value for name, value in read.attributes if name in {"src", "href", "srcset", "data", "action"}]
    assert loaded == [LOGO]
    (policy,) = (value for _, value in read.attributes if value.startswith("default-src"))
    assert "default-src 'none'" in policy


def test_the_page_has_every_section() -> None:
    shown = Reader(page(REPORT, BRAND)).shown
    for text in (
        "Outreach report for acme", "2 to 8 March", "Prepared by", "Northline", "1,020", "7.1% ± 1.8",
        "too few", "▲ 253%", "no clear change", "23 February to 1 March (same weekdays)",
        "in 7 min (median)", "not yet", "mail.example", "1 bad", "The service paused mail.example",
        "Acknowledged", "after 9 min", "sending again after 26 h", "paused; reason",
    ):  # fmt: skip
        assert text in shown, text


def test_no_lead_is_named_unless_asked_for() -> None:
    hidden = without_leads(REPORT)
    texts = (page(hidden, BRAND), json.dumps(report_data(hidden)))
    for text in texts:
        assert not re.search(r"[\w.]+@[\w.]+", text)
        assert not {"Ada", "Engines", "Bob"} & set(re.findall(r"\w+", text))
    named = Reader(page(REPORT, BRAND)).shown
    assert "ada@engines.example" in named
    assert "Engines Ltd" in named


def test_hostile_texts_stay_texts() -> None:
    (reply, _), (incident,), (change,) = REPORT.positive or (), REPORT.incidents or (), REPORT.changes or ()
    hostile = replace(
        REPORT,
        workspace=EVIL,
        sequences=(StatsRow(group=EVIL, sends=100, replies=3),),
        positive=(replace(reply, lead=EVIL, company=EVIL, email=EVIL, sequence=EVIL),),
        domains=(DomainReport(domain=EVIL, inboxes=1, score=None, tone=Tone.UNKNOWN, text=EVIL),),
        incidents=(replace(incident, text=EVIL, handled_by=EVIL),),
        changes=(replace(change, who=EVIL, text=EVIL),),
        gaps=(EVIL,),
    )
    text = page(hostile, Brand(name=EVIL, color="red;}</style><script>", logo=LOGO))
    read = Reader(text)
    assert "script" not in read.tags
    assert read.tags.count("img") == 1
    assert not [name for name, _ in read.attributes if name.startswith("on")]
    assert "alert(1)" in read.shown
    assert "\u202e" not in text
    assert "\x1b" not in text


def test_unread_data_is_reported_and_not_zero() -> None:
    unread = replace(REPORT, positive=None, domains=None, incidents=None, changes=None, gaps=("No records.",))
    shown = Reader(page(unread, Brand())).shown
    assert shown.count("Not available") == 3
    assert "No records." in shown
    assert report_data(unread)["positive"] is None


def test_an_empty_range_has_a_page() -> None:
    nothing = replace(REPORT, sequences=(), before=None, buckets=(), positive=(), incidents=(), changes=())
    shown = Reader(page(nothing, Brand())).shown
    assert "No activity in this period." in shown
    assert "No interested replies were recorded" in shown
    assert "recorded no incidents or changes" in shown


@pytest.mark.parametrize("color", ["#000000", "#ffffff", "#ffff00", "#0a0a40", "#2563eb"])
def test_any_color_is_made_legible_on_both_grounds(color: str) -> None:
    for ground in (LIGHT, DARK):
        assert contrast(_parts(legible(color, ground)), _parts(ground)) >= LEAST_CONTRAST


def test_a_logo_is_a_small_png_or_svg() -> None:
    assert logo_uri(b"\x89PNG\r\n\x1a\n...").startswith("data:image/png;base64,")
    assert logo_uri(b'<?xml version="1.0"?>\n<!-- made by hand -->\n<svg >').startswith(
        "data:image/svg+xml;base64,"
    )
    for content, problem in (
        (b"<html><svg>", "neither"),
        (b"\x89PNG\r\n\x1a\n" + b"." * MOST_BYTES, "larger than"),
    ):
        with pytest.raises(OSError, match=problem):
            logo_uri(content)


def test_the_dns_of_domains_is_a_column_where_it_is_checked() -> None:
    assert "<th>DNS</th>" not in page(REPORT, BRAND)
    assert REPORT.domains is not None
    broken = replace(REPORT.domains[0], dns="DMARC: no record, a@b.example <u>", dns_tone=Tone.BAD)
    unchecked = replace(REPORT.domains[0], domain="other.example")
    drawn = page(without_leads(replace(REPORT, domains=(broken, unchecked))), BRAND)
    assert "<th>DNS</th>" in drawn
    assert '<span class="tone-bad">DMARC: no record, ' in drawn
    assert "a@b.example" not in drawn
    assert "<u>" not in drawn
    assert '<span class="tone-unknown">' in drawn
