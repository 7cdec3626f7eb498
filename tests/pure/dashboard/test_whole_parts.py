"""Lists, cards and charts of a full account, whole: each text with the first letters of its ink behind it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from shared.api import models
from shared.api.models import Inbox, StatsRow
from shared.domain import card as cards
from shared.domain.card import Card, Fact, Row, Table, Tone
from shared.domain.health import DEFAULT
from shared.domain.reply_queue import QueuedReply
from shared.domain.snapshot import REJECTED, Snapshot
from shared.records import DomainPast, DomainPause, PauseEnd, Sample
from tests.kit.snapshots import NOW, account, board_of, fired, reading
from tui.model import facts
from tui.model.alarms import acknowledged, update
from tui.model.board import DomainFacts
from tui.model.columns import INBOXES, SEQUENCES, STATS_BY, Arrangement, Column, needs_of, place
from tui.model.course import Course, course_of, draw
from tui.model.facts import Read
from tui.model.frame import DOMAINS, Frame
from tui.model.happened import Mark, MarkKind
from tui.model.incident import Incident, Lane, LaneState, Segment, lane_lines, legend
from tui.model.lines import Line
from tui.model.replies import COLUMNS, ReplyLine
from tui.model.rich_card import render
from tui.model.workspaces import WORKSPACES, WorkspaceLine
from tui.screens.report import report
from tui.theme.words import Piece, width_of

SECOND, MINUTE, HOUR, DAY = (timedelta(seconds=seconds) for seconds in (1, 60, 3600, 86400))


def inked(pieces: Iterable[Piece]) -> str:
    return "".join(f"{text}<{ink.value[:2]}>" for text, ink in pieces if text)


def listed(columns: Sequence[Column], rows: Sequence[Line], room: int) -> list[str]:
    """A list in so many cells."""
    placed = place(columns, room, needs_of(columns, rows))
    table = [" ".join(f"{one.column.title}:{one.width}" for one in placed)]
    return table + ["|".join(inked(one.column.cell(row, one.width).pieces) for one in placed) for row in rows]


def arranged(columns: Sequence[Column], rows: Sequence[Line]) -> list[str]:
    """The keys of a list in each order and after some filters."""
    asked = [Arrangement(find=words) for words in ("acme", "active", "!1", "w a", "state:un")]
    asked.append(Arrangement().next_order(columns))
    while (after := asked[-1].next_order(columns)).order:
        asked.append(after)
    return [
        f"{one.find}{one.order} {one.descending}: {' '.join(row.key for row in one.of(rows, columns))}"
        for one in asked
    ]


def on_paper(card: Card, *, has_title: bool = True) -> str:
    console = Console(width=100, color_system=None)
    with console.capture() as capture:
        console.print(render(card, has_title=has_title))
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


DOMAINS_OF = {
    "paused.example": (("resting", 8.0), ("resting", 55.5)),
    "bad.example": (("active", 59.7), ("active", 12.0)),
    "risk.example": (("active", 64.1), ("warming", 91.25), ("active", 79.9)),
    "odd.example": (("dreaming", None), ("active", 100.0)),
    "well.example": (("active", 95.0), ("warming", 80.0)),
    "rule.example": (("resting", 40.0), ("active", 99.9)),
}
BOXES = tuple(
    Inbox(email=f"{'very-long-local-part' if n else 'a'}{n}@{domain}", status=status, health_score=score, daily_limit=None if score is None else 40 + n)
    for domain, boxes in DOMAINS_OF.items()
    for n, (status, score) in enumerate(boxes)
)  # fmt: skip
CAMPAIGNS = (
    models.Sequence(id="sq_1", name="Q3 founders", status="active", steps=4),
    models.Sequence(id="sq_2", name="Webinar", status="paused", steps=3),
    models.Sequence(id="sq_3", name="Webinar", status="paused", steps=None),
    models.Sequence(id="sq_4", name=None, status=None, steps=2),
    models.Sequence(
        id="sq_5", name="A name that is far too long for any column of a narrow list", status="new", steps=1
    ),
    models.Sequence(id="sq_6", name="Tiny", status="active", steps=1),
)
COUNTS = (
    StatsRow(group="sq_1", sends=14_000, replies=610, positive_replies=140, meetings=50),
    StatsRow(group="sq_2", sends=320, replies=31, positive_replies=0, meetings=None),
    StatsRow(group="sq_3", sends=9, replies=1, positive_replies=1, meetings=0),
    StatsRow(group="sq_5", sends=None, replies=None),
    StatsRow(group="sq_6", sends=0, replies=0, positive_replies=0, meetings=0),
)
PASTS = {
    "paused.example": DomainPast(
        reason="bounce rate 7.1%",
        pauses=(
            DomainPause(at=NOW - HOUR, reason="bounce rate 7.1%"),
            DomainPause(at=NOW - 3 * DAY, reason="spam", recovered_at=NOW - 2 * DAY),
            DomainPause(at=NOW - 9 * DAY, recovered_at=NOW - 9 * DAY + 20 * MINUTE),
        ),
        bounced=71, hard=40, opted_out=1, known_from=NOW - 40 * DAY,
        sequences=("Q3 founders", "sq_2", "webinar", "Tiny", "sq_5"),
    ),
    "bad.example": DomainPast(bounced=1, opted_out=2, known_from=NOW - 5 * DAY),
    "risk.example": DomainPast(known_from=NOW - 31 * DAY, sequences=("nosuch", "Tiny")),
}  # fmt: skip
PAUSES = (
    PauseEnd(sequence="sq_2", until=(NOW + 2 * DAY).timestamp(), by="ann"),
    PauseEnd(sequence="sq_3", until=(NOW + HOUR).timestamp()),
)
CHANGES = tuple(
    Mark(at=NOW - n * HOUR, kind=kind, subject=subject, text=f"{kind.value} {n}", about=about)
    for n, (kind, subject, about) in enumerate(
        [(MarkKind.STOPPED, "paused.example", "paused.example"), (MarkKind.SENDING, "a0@well.example", "well.example")]
        + [(MarkKind.PAUSED, "Webinar", "sq_2"), (MarkKind.RESUMED, "Webinar", "sq_2")] * 4
    )
)  # fmt: skip


def full() -> Snapshot:
    counts = tuple(
        StatsRow(group=one.email, sends=0 if n == 2 else 700 + n, replies=41)
        for n, one in enumerate(BOXES[:-1])
    )
    return replace(
        account(),
        inboxes=reading(BOXES),
        sequences=reading(CAMPAIGNS),
        stats={**account().stats, "sequence": reading(COUNTS), "inbox": reading(counts)},
        pauses=PAUSES,
        firings=(fired(rule="bounces-5", subject="rule.example", domain="rule.example"),),
    )


def frame(snapshot: Snapshot | None = None, *, later: timedelta = timedelta(), **more: Any) -> Frame:
    trends = {one.email: tuple(float(30 + 7 * k) for k in range(11)) for one in BOXES[::2]}
    known = DomainFacts(pasts=PASTS, broken={"risk.example": ("SPF", "DMARC")})
    board = board_of(snapshot or full(), trends=trends, domain_facts=known)
    raised = update((), board.conditions, now=NOW - MINUTE).alarms
    alarms = acknowledged(raised, [one.key for one in raised if one.where == "bad.example"], at=NOW)
    return Frame(board=board, now=NOW + later, changes=CHANGES, alarms=alarms, **more)


WAITING: Sequence[tuple[timedelta, str, dict[str, Any]]] = (
    (5 * MINUTE, "Ada", {"company": "Acme", "text": "Yes,\n please", "sequence": "Q3"}),
    (301 * SECOND, "Bob", {"turn_of": "ben"}),
    (HOUR, "", {"claimed_by": "ann", "claimed_at": NOW - MINUTE, "is_own": True}),
    (HOUR, "Dora", {"claimed_by": "ben"}),
    (2 * HOUR, "Emil", {"snoozed_until": NOW + 2 * DAY}),
    (-MINUTE, "Fay", {"text": "\x1b[31mred"}),
)
REPLIES = tuple(
    ReplyLine(
        reply=QueuedReply(
            alert_id=f"al_{n}", received_at=NOW - ago, lead=lead, email=f"{n}@x.example", **more
        ),
        now=NOW,
    )
    for n, (ago, lead, more) in enumerate(WAITING)
)
LISTS: Mapping[str, Callable[[], tuple[Sequence[Column], Sequence[Line]]]] = {
    "domains": lambda: (DOMAINS, frame().domain_lines),
    "inboxes": lambda: (INBOXES, frame().board.inboxes),
    "sequences": lambda: (SEQUENCES, frame().board.sequences),
    "steps": lambda: (STATS_BY["sequence"], frame().board.stats_by("sequence")),
    "replies": lambda: (COLUMNS, REPLIES),
    "workspaces": lambda: (
        WORKSPACES,
        [WorkspaceLine(frame=frame(later=later)) for later in (timedelta(), 2 * MINUTE, HOUR)]
        + [WorkspaceLine(frame=frame(calm())), WorkspaceLine(frame=Frame.empty("globex", now=NOW))],
    ),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_whole_in_every_width(snapshot: SnapshotAssertion, name: str) -> None:
    columns, lines = LISTS[name]()
    for room in (180, 100, 70, 40, 12):
        assert "\n".join(listed(columns, lines, room)) == snapshot(name=str(room))
    assert "\n".join(arranged(columns, lines)) == snapshot(name="arranged")
    heads = [listed(columns, lines, room)[0] for room in range(5, 230)]
    assert "\n".join(head for head, _ in itertools.groupby(heads)) == snapshot(name="heads")


def test_an_axis_has_round_times_where_they_fit(snapshot: SnapshotAssertion) -> None:
    lines = []
    for hours in (0.2, 0.5, 1, 2, 3, 6, 12, 24, 36, 37, 72, 168):
        incident = Incident(start=NOW - hours * HOUR, end=NOW)
        lines += [f"{hours} {columns}: {incident.axis(columns)}" for columns in (20, 47, 80, 150)]
    assert "\n".join(lines) == snapshot


def test_cards_of_domains_inboxes_and_sequences_are_whole(snapshot: SnapshotAssertion) -> None:
    now, dns = frame(), (Fact("SPF", "missing", tone=Tone.BAD), Fact("MX", "good", tone=Tone.GOOD))
    for line in now.domain_lines:
        for is_brief in (False, True):
            read = Read(dns=dns, advice=("Publish it",))
            card = facts.domain_card(now, line, read, is_brief=is_brief)
            assert on_paper(card) == snapshot(name=f"{line.key} {is_brief}")
    for inbox, sent in zip(now.board.inboxes, itertools.cycle((None, 3, 40, 41, 400)), strict=False):
        told = facts.inbox_card(now, inbox.key, Read(sent_today=sent))
        assert told is not None
        assert on_paper(told) == snapshot(name=inbox.key)
    assert facts.inbox_card(now, "nobody@well.example", Read()) is None
    for sequence in now.board.sequences:
        assert on_paper(facts.sequence_card(now, sequence)) == snapshot(name=sequence.key)
    for reply in REPLIES:
        assert on_paper(reply.card) == snapshot(name=reply.key)


def test_a_card_with_all_its_parts_is_whole(snapshot: SnapshotAssertion) -> None:
    columns = (cards.Column("Name"), cards.Column("Number", numeric=True))
    rows = (Row(("a\x1b", 1234.0)), Row((None, 2.5), tone=Tone.BAD))
    card = Card("Title", tone=Tone.WARN, text=("One", "Two\nlines"), quote=f"said\n{'so ' * 40}", footer="below",
        facts=(Fact("Fact", "of\nlines"),), details=(Fact("More", "bad", tone=Tone.BAD),), table=Table(columns, rows, total=7))  # fmt: skip
    for has_title in (True, False):
        assert on_paper(card, has_title=has_title) == snapshot(name=str(has_title))
    assert on_paper(replace(card, table=Table(columns, rows, total=2))) == snapshot(name="all rows")


def calm() -> Snapshot:
    return replace(account(), workspace="calm", inboxes=reading(BOXES[-4:-2]))


def headlines() -> Iterator[tuple[str, Frame]]:
    yield "a crisis", frame()
    yield "late", frame(later=HOUR)
    yield "calm", frame(calm())
    yield "calm and late", frame(calm(), later=DAY)
    refused = calm().inboxes.failed("no", cause=REJECTED, at=NOW - MINUTE)
    yield (
        "refused",
        frame(replace(full(), inboxes=full().inboxes.failed("no", cause=REJECTED, at=NOW - HOUR))),
    )
    yield "refused and calm", frame(replace(calm(), inboxes=refused), later=MINUTE)
    yield "unknown", frame(replace(calm(), inboxes=reading(BOXES[7:8])))
    yield "nothing", Frame.empty("globex", now=NOW)


def test_verdict_and_figures_say_what_fits(snapshot: SnapshotAssertion) -> None:
    for name, now in headlines():
        head = now.headline
        fitted = [f"{room}: {head.fitted(room).text}" for room in (200, 120, 80, 60, 40, 20)]
        figures = [f"{room}: {inked(now.figures(room).pieces)}" for room in (200, 120, 100, 60, 20, 5)]
        service = (
            [on_paper(Card("", facts=facts.service_facts(now.service, frame=now)))] if now.service else []
        )
        lines = [f"{head.tone.value} {head.is_stale} {head.weight}", *fitted, *figures, *service]
        assert "\n".join(lines) == snapshot(name=name)


def test_the_verdict_names_two_causes_and_counts_the_others() -> None:
    for count, named in ((1, "r0"), (2, "r0, r1"), (3, "r0, r1 and 1 more"), (4, "r0, r1 and 2 more")):
        domains = [f"d{n}.example" for n in range(count)]
        boxes = tuple(
            Inbox(email=f"a@{name}", status="resting", health_score=90.0, daily_limit=40) for name in domains
        )
        pauses = {name: (DomainPause(at=NOW - HOUR, reason=f"r{n}"),) for n, name in enumerate(domains)}
        pasts = {name: DomainPast(reason="", pauses=known) for name, known in pauses.items()}
        stopped = replace(account(), inboxes=reading(boxes))
        now = Frame(board=board_of(stopped, domain_facts=DomainFacts(pasts=pasts)), now=NOW)
        assert now.headline.text.endswith(f" · {named}")
        assert now.headline.parts[0].endswith(" paused"), "nothing else comes before the verdict"


def test_the_report_is_whole(snapshot: SnapshotAssertion) -> None:
    for name, now in headlines():
        lines = [inked(line.pieces) for line in report(now, width=120)]
        assert "\n".join(lines[: None if name == "a crisis" else 14]) == snapshot(name=name)
    many = [line.plain for line in report(frame(account(inboxes=203)), width=80)]
    assert "  … and 3 more" in many


def test_health_over_time_is_drawn_with_its_gaps(snapshot: SnapshotAssertion) -> None:
    values = (None, 95.0, 64.0, None, 0.0, 100.0, 79.0, 88.0)
    samples = [Sample(at=NOW - (8 - n) * HOUR, value=value) for n, value in enumerate(values)]
    for name, covered in {"all": (), "half": ((NOW - 6 * HOUR, NOW - 3 * HOUR), (NOW - HOUR, NOW))}.items():
        course = course_of(samples, start=NOW - DAY, end=NOW, points=24, covered=covered, thresholds=DEFAULT)
        assert course
        drawing = "\n".join(inked(line.pieces) for line in draw(course, width=60, height=7))
        assert f"{course.values} {course.start:%H:%M}\n{drawing}" == snapshot(name=name)
    given: dict[str, Any] = {"start": NOW - DAY, "end": NOW, "points": 9, "thresholds": DEFAULT}
    for value, lowest in ((None, 50), (95.0, 50), (55.1, 40), (37.9, 20), (12.5, 0), (3.0, 0)):
        assert Course(values=(value,), start=NOW - HOUR, end=NOW).lowest == lowest
    spans = [(NOW - 9 * HOUR, NOW - 8 * HOUR), (NOW - 4.5 * HOUR, NOW)]
    for first, start in ((7, 5), (0.1, 1 / 6)):
        at = NOW - first * HOUR
        sample = Sample(at=at, value=64.0)
        course = course_of([sample], covered=spans, **given)
        assert course
        assert course.start == NOW - start * HOUR
    assert course_of(samples[:1], covered=(), **given) is None
    assert course_of(samples[1:2], covered=[(NOW - 9 * DAY, NOW - 8 * DAY)], **given) is None


def test_lanes_are_drawn_whole(snapshot: SnapshotAssertion) -> None:
    stood: dict[str, Sequence[tuple[float, float, LaneState, int]]] = {
        state.value: ((360, 180, LaneState.HEALTHY, 0), (180, n % 2 * 60, state, n))
        for n, state in enumerate(LaneState)
    }
    # A few seconds of six hours are far less than a cell.
    stood["brief"] = ((60, 59.9, LaneState.PAUSED, 7), (59.9, 0, LaneState.HEALTHY, 0))
    stood |= {"never": (), "new": ((60, 0, LaneState.BAD, 1),)}
    lanes = []
    for name, parts in stood.items():
        segments = (
            Segment(start=NOW - since * MINUTE, end=NOW - until * MINUTE, state=state, affected=affected)
            for since, until, state, affected in parts
        )
        lanes.append(Lane(domain=f"{name}.example", inboxes=7, segments=tuple(segments)))
    marks = [
        Mark(
            at=NOW - n * 14 * MINUTE,
            kind=kind,
            subject="x",
            text=kind.value,
            about=("sq_1", "bad.example")[n % 2],
        )
        for n, kind in enumerate([*MarkKind] * 3)
    ]
    incident = Incident(start=NOW - 6 * HOUR, end=NOW, lanes=tuple(lanes)).with_marks(marks)
    drawing = [incident.summary, incident.axis(80), incident.axis(30)]
    drawing.append(replace(incident, start=NOW - 7 * DAY).axis(80))
    for cursor in (None, NOW - 100 * MINUTE):
        for line in lane_lines(incident, cursor=cursor):
            assert [width_of(line.bar(width)) for width in (8, 61, 250)] == [8, 61, 250]
            drawing += [f"{line.key} {line.tone.value} {inked(line.now)}", inked(line.bar(60))]
            drawing += [inked(words.pieces) for words in (line.reading, *line.happened)]
    drawing += [inked(words.pieces) for words in legend()]
    assert "\n".join(drawing) == snapshot
