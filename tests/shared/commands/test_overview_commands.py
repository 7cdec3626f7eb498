"""`help`, `status`, `inboxes` and `stats`, over the real client."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest

from shared.api.models import Inbox
from shared.commands import COMMANDS, Role, parse
from shared.commands.run import NO_RECORDS, run
from shared.commands.running import inbox_lists as inboxes
from shared.domain import evidence
from shared.domain.card import Tone
from shared.domain.evidence import Contest, Rate
from shared.domain.health import DEFAULT, roll_up
from shared.domain_health.report import Check, CheckReport, Code, DomainReport, Value
from shared.records.records import AlertsSummary
from shared.settings import load
from tests.growth import LINEAR, lines_run
from tests.shared.doubles import NOW, CommandHarness, MemoryRecords, facts, result_of, said, text


async def test_help_marks_commands_without_permission(harness: CommandHarness) -> None:
    harness.role = Role.READER
    card = await harness.say("help")
    assert card.table is not None
    assert len(card.table.rows) == len(COMMANDS)
    assert "pause" in card.footer


async def test_status_shows_everything(harness: CommandHarness) -> None:
    assert harness.records is not None
    harness.records.alerts = AlertsSummary(
        waiting=2, oldest_waiting_at=NOW - timedelta(seconds=40), last_delivery_at=NOW - timedelta(minutes=3)
    )
    answer = facts(await harness.say("status"))
    assert answer["Service"] == "reachable"
    assert answer["Sequences"] == "2 active, 1 paused"
    assert answer["Inboxes"] == "1 of 4 inboxes bad · 1 of unknown health"
    assert answer["Today"] == "4,000 sends, 100 replies, 22 positive, 4 meetings"
    assert answer["Alerts"] == "2 waiting, the oldest for 40 s"
    assert answer["Last delivery"] == "3 min ago"
    assert (
        "GET",
        "/stats",
        {"group_by": "sequence", "from": "2026-03-10", "to": "2026-03-10"},
    ) in harness.service.requests


async def test_status_tells_the_dns_of_its_domains_and_what_is_unknown(harness: CommandHarness) -> None:
    assert harness.records is not None
    shown = await harness.say("status")
    assert facts(shown)["DNS"] == "3 domains unknown"
    broken = CheckReport(
        check=Check.SPF, value=Value.PROBLEM, code=Code.MISSING, checked_at=NOW, confirmed=True
    )
    harness.records.domains.known["poor.com"] = DomainReport(domain="poor.com", checks=(broken,))
    result = result_of(await run(parse("status"), harness.context))
    assert facts(said(result))["DNS"] == "problems of poor.com (SPF); 2 domains unknown"
    assert result.rows[0]["dns_problems"] == {"poor.com": ["spf"]}
    harness.records.domains.is_down = True
    assert facts(await harness.say("status"))["DNS"] == "unknown: the database is gone"


async def test_status_without_the_service_says_nothing_of_changes(harness: CommandHarness) -> None:
    with harness.failing("GET /inboxes", httpx.ConnectError("refused")):
        card = await harness.say("status")
    assert "can't be reached" in text(card)
    assert "changed" not in text(card)


async def test_status_names_the_channels_that_take_nothing(harness: CommandHarness) -> None:
    assert harness.records is not None
    harness.records.alerts = AlertsSummary(dead=2, held=1, broken_channels={"C1": "is_archived"})
    card = await harness.say("status")
    assert facts(card)["Alerts"] == "0 waiting, 2 undeliverable, 1 held until quiet hours end"
    assert facts(card)["Channels that reject posts"] == "C1 (archived)"


async def test_status_lists_timers_of_a_newer_version(harness: CommandHarness) -> None:
    assert harness.records is not None
    harness.records.alerts = AlertsSummary(unknown_timers=("brew",))
    assert facts(await harness.say("status"))["Timers"].startswith("brew: due")
    harness.records.alerts = AlertsSummary()
    assert "Timers" not in facts(await harness.say("status"))


async def test_status_names_timed_pauses_of_workspaces_that_are_not_in_the_settings(
    harness: CommandHarness,
) -> None:
    assert harness.records is not None
    settings = load(environ={"OUTREACH_BASE_URL": "https://api.example/v1", "OUTREACH_API_KEY": "key"})
    context = replace(harness.context, settings=settings)
    label = "Timed pauses of unknown workspaces"
    harness.records.alerts = AlertsSummary(timers={"default": 1, "globex": 2})
    assert facts(said(await run(parse("status"), context)))[label].startswith("2 pauses in globex: ")
    harness.records.alerts = AlertsSummary(timers={"default": 1})
    assert label not in facts(said(await run(parse("status"), context)))


async def test_a_partial_status_says_what_is_missing_and_why(harness: CommandHarness) -> None:
    harness.records = None
    with harness.failing("GET /inboxes", httpx.Response(500, text="<h1>oops</h1>")):
        card = await harness.say("status")
    by_label = facts(card)
    assert by_label["Sequences"] == "2 active, 1 paused"
    assert by_label["Inboxes"].startswith("unknown: ")
    assert by_label["Alerts"] == f"unknown: {NO_RECORDS}"
    assert by_label["Service"].startswith("partly available")
    assert card.tone is Tone.BAD
    assert card.data is not None
    assert card.data[0]["inboxes"] is None
    assert card.data[0]["reachable"] is False


async def test_status_with_a_revoked_key_says_so_once_for_all(harness: CommandHarness) -> None:
    refusal = httpx.Response(401, json={"error": {"code": "unauthorized"}})
    with (
        harness.failing("GET /inboxes", refusal),
        harness.failing("GET /stats", refusal),
        harness.failing("GET /sequences", refusal),
    ):
        assert facts(await harness.say("status"))["Service"].startswith("not available")


async def test_status_survives_broken_records(harness: CommandHarness) -> None:
    harness.records = MemoryRecords(broken=True)
    assert facts(await harness.say("status"))["Alerts"] == "unknown: the database is gone"


async def test_inboxes_come_by_domain_the_worst_first(harness: CommandHarness) -> None:
    card = await harness.say("inboxes")
    assert card.table is not None
    assert [row.cells[0] for row in card.table.rows] == [
        "poor.com",
        "  c@poor.com",
        "odd.com",
        "  d@odd.com",
        "good.com",
        "  b@good.com",
        "  a@good.com",
    ]
    assert card.table.rows[0].tone is Tone.BAD
    assert card.table.rows[0].cells[2] == 0.41
    assert card.text == ("2 healthy, 1 bad, 1 unknown · 3 domains",)
    assert card.data is not None
    assert {"email": "d@odd.com", "health_score": None, "daily_limit": None, "status": None} in card.data


async def test_an_inbox_of_unknown_health_is_never_healthy(harness: CommandHarness) -> None:
    emails = [row["email"] for row in (await harness.say("inboxes unhealthy")).data or ()]
    assert emails == ["c@poor.com", "d@odd.com"]


def test_ten_times_as_many_inboxes_and_domains_are_ten_times_the_work() -> None:
    def work(count: int) -> int:
        boxes = [Inbox(email=f"sam@{n}.example", health_score=90, daily_limit=40) for n in range(count)]
        domains = roll_up(boxes)
        return lines_run(lambda: inboxes._table(domains, boxes, DEFAULT))

    assert work(300) <= LINEAR * work(30)


async def test_inboxes_of_one_domain_or_of_none(harness: CommandHarness) -> None:
    assert len((await harness.say("inboxes GOOD.com")).data or ()) == 2
    assert "Did you mean good.com?" in text(await harness.say("inboxes goood.com"))


async def test_no_inboxes_at_all_are_no_good_news(harness: CommandHarness) -> None:
    harness.service.inboxes = []
    card = await harness.say("inboxes")
    assert (card.buttons, card.tone, card.data) == ((), Tone.UNKNOWN, ())


@pytest.mark.parametrize("line", ["sequences", "sequences paused", "inboxes", "leads", "stats 7d"])
async def test_what_is_empty_offers_no_button_that_leads_to_nothing(
    harness: CommandHarness, line: str
) -> None:
    service = harness.service
    service.sequences, service.inboxes, service.leads, service.stats = [], [], [], []
    assert (await harness.say(line)).buttons == ()


async def test_stats_have_counts_rates_bars_and_names(harness: CommandHarness) -> None:
    card = await harness.say("stats")
    assert card.title == "Stats by sequence, last 30 days"
    assert card.table is not None
    assert [row.cells for row in card.table.rows] == [
        ("Spring", 3000, 60, "2.0% ±0.6", 12, "0.4% ±0.3", 1, 0.5),
        ("Q3 Founders", 1000, 40, "4.0% ±1.4", 10, "1.0% ±0.8", 3, 1.0),
        ("All", 4000, 100, "2.5% ±0.5", 22, "0.5% ±0.3", 4, 0.625),
    ]
    assert card.data is not None
    counts = {"group": "sq_3", "sends": 3000, "replies": 60, "positive_replies": 12, "meetings": 1}
    assert counts.items() <= card.data[0].items()
    low, high = card.data[0]["reply_rate_low"], card.data[0]["reply_rate_high"]
    assert (card.data[0]["reply_rate"], low, high) == (
        0.02, pytest.approx(0.01557, abs=1e-4), pytest.approx(0.02568, abs=1e-4),
    )  # fmt: skip
    assert ("GET", "/stats", {"group_by": "sequence"}) in harness.service.requests


async def test_stats_are_computed_beside_the_event_loop(
    harness: CommandHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []
    contest = evidence.contest

    def compared(groups: Iterable[tuple[str, Rate | None]]) -> Contest | None:
        threads.append(threading.get_ident())
        return contest(groups)

    monkeypatch.setattr(evidence, "contest", compared)
    await harness.say("stats by inbox")
    assert threads
    assert threading.get_ident() not in threads


async def test_stats_of_seven_days_end_on_the_services_today_and_are_compared(
    harness: CommandHarness,
) -> None:
    card = await harness.say("stats by step 7d")
    asked = [query for _, path, query in harness.service.requests if path == "/stats"]
    assert asked[0] == {"group_by": "step", "from": "2026-03-04", "to": "2026-03-10"}
    assert asked[1:] == [  # the same seven weekdays before
        {"group_by": "step", "from": "2026-02-25", "to": "2026-03-03"},
        {"group_by": "sequence", "from": "2025-02-25", "to": "2026-02-25"},  # was anything sent by then?
    ]
    assert facts(card)["Sends"] == "4,000"
    assert facts(card)["Replies"] == "100 (2.5% ± 0.5), no clear change"
    assert card.text[-2:] == (
        "4 to 10 March, including today so far.",
        "Compared with 25 February to 3 March (same weekdays). Sends aren't compared until today is over.",
    )


@pytest.mark.parametrize(
    ("first_day", "compared"),
    [("2025-06-01", True), ("2026-01-05", True), ("2026-01-06", False), ("2026-02-01", False)],
)
async def test_a_month_is_compared_only_with_a_period_that_is_fully_known(
    harness: CommandHarness, *, first_day: str, compared: bool
) -> None:
    harness.service.first_day = first_day
    card = await harness.say("stats last month")
    assert card.title == "Stats by sequence, last month (1 to 28 February)"
    asked = [query for _, path, query in harness.service.requests if path == "/stats"]
    assert {"group_by": "sequence", "from": "2026-01-04", "to": "2026-01-31"} in asked
    # 4 January is a Sunday: Monday is the first day on which something may have been sent
    assert {"group_by": "sequence", "from": "2025-01-04", "to": "2026-01-05"} in asked
    assert any(line.startswith("Compared with") for line in card.text) is compared
    assert ("no clear change" in facts(card)["Sends"]) is compared


async def test_last_week_shows_its_dates_by_the_services_day(harness: CommandHarness) -> None:
    assert (await harness.say("stats last week")).title == "Stats by sequence, last week (2 to 8 March)"
    assert (await harness.say("stats this week")).title == "Stats by sequence, this week so far"


async def test_the_better_group_is_named_with_how_sure_it_is(harness: CommandHarness) -> None:
    card = await harness.say("stats")
    assert card.text[0] == "Replies: Q3 Founders beats Spring, with 99% confidence: 4.0% vs 2.0%."
    assert card.text[1].startswith("Interested replies: Q3 Founders beats Spring, with 9")
    assert "different people" in card.text[2]


async def test_groups_that_chance_may_explain_are_not_ranked(harness: CommandHarness) -> None:
    harness.service.stats = [
        {"group": "A", "sends": 500, "replies": 20, "positive_replies": 5, "meetings": 0},
        {"group": "B", "sends": 500, "replies": 14, "positive_replies": 5, "meetings": 0},
        {"group": "C", "sends": 9, "replies": 9, "positive_replies": 9, "meetings": 0},
    ]
    card = await harness.say("stats by variant")
    assert "too early to compare Variant A and Variant B: 4.0% vs 2.8%" in card.text[0]
    assert "too early to compare" in card.text[1]
    assert card.table is not None
    assert card.table.rows[2].cells[3] == "too few"


async def test_variants_are_compared_only_within_a_sequence_where_rows_tell_it(
    harness: CommandHarness,
) -> None:
    harness.service.stats = [
        {"group": "A", "sequence_id": "sq_1", "sends": 900, "replies": 60, "positive_replies": 5},
        {"group": "B", "sequence_id": "sq_1", "sends": 900, "replies": 20, "positive_replies": 5},
        {"group": "A", "sequence_id": "sq_3", "sends": 900, "replies": 300, "positive_replies": 5},
    ]
    card = await harness.say("stats by variant")
    assert card.text[0] == "Replies in sq_1: Variant A beats Variant B, with 99% confidence: 6.7% vs 2.2%."
    assert "Only rows of the same sequence are compared." in card.text
    assert not any("33.3%" in line for line in card.text)


async def test_a_day_that_is_not_over_is_compared_with_no_whole_one(harness: CommandHarness) -> None:
    card = await harness.say("stats today")
    assert card.title == "Stats by sequence, today so far"
    assert facts(card)["Sends"] == "4,000"
    assert len([path for _, path, _ in harness.service.requests if path == "/stats"]) == 1


async def test_sequences_with_the_same_name_show_their_ids(harness: CommandHarness) -> None:
    for one in harness.service.sequences:
        one["name"] = "Webinar"
    card = await harness.say("stats")
    assert card.table is not None
    assert [row.cells[0] for row in card.table.rows] == ["Webinar (sq_3)", "Webinar (sq_1)", "All"]
    assert card.charts


async def test_a_count_that_one_group_does_not_know_is_unknown_in_the_total(harness: CommandHarness) -> None:
    del harness.service.stats[0]["replies"]
    card = await harness.say("stats")
    assert facts(card)["Replies"].startswith("–")
    assert card.table is not None
    cells = card.table.rows[1].cells
    assert (cells[2], cells[3], cells[-1]) == (None, "–", None)


async def test_stats_of_nothing_say_so(harness: CommandHarness) -> None:
    harness.service.stats = []
    card = await harness.say("stats 2026-01-01..2026-01-31")
    assert (card.data, card.table) == ((), None)
    assert "No activity" in text(card)
