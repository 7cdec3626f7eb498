"""A client report as one self-contained HTML page without scripts. Pure.

Every text goes through `_text`, which also makes control and direction characters visible.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from html import escape

from shared.api.models import StatsRow
from shared.client_report import charts
from shared.client_report.model import MOST_REPLIES, Brand, ClientReport, DomainReport
from shared.client_report.style import style_sheet
from shared.domain import evidence
from shared.records.domains import DomainIncident
from shared.text.formats import UNKNOWN, show_count, show_days, show_number, show_rate, show_span
from shared.text.sanitize import visible

CSP = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""https://www.w3.org/TR/CSP3/#meta-element"""
MOST_EVENTS = 200


def page(report: ClientReport, brand: Brand) -> str:
    """The whole document."""
    title = f"{_headline(report)}, {_text(show_days(report.first, report.last))}"
    parts = (
        _header(report, brand),
        _figures(report),
        _charts(report),
        _sequences(report),
        _positive(report),
        _domains(report),
        _events(report),
        _footer(report),
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(CSP)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer"><meta name="robots" content="noindex">'
        f"<title>{title}</title><style>{style_sheet(brand.color)}</style></head>\n"
        f"<body>{''.join(parts)}</body></html>\n"
    )


def _text(value: object) -> str:
    return escape(visible(str(value)))


def _headline(report: ClientReport) -> str:
    return f"Outreach report{_text(report.whose)}"


def _header(report: ClientReport, brand: Brand) -> str:
    logo = f'<img src="{escape(brand.logo)}" alt="{_text(brand.name)}">' if brand.logo else ""
    agency = f"Prepared by {_text(brand.name)}<br>" if brand.name else ""
    still = ", including today so far" if report.running else ""
    return (
        f"<header>{logo}<div><h1>{_headline(report)}</h1>"
        f'<p class="range">{_text(show_days(report.first, report.last))} {report.last.year}{still}</p></div>'
        f'<p class="agency">{agency}{_moment(report.made_at)}</p></header>'
    )


def _moment(at: datetime) -> str:
    return f"{at.astimezone(UTC):%-d %b %Y %H:%M} UTC"


def _figures(report: ClientReport) -> str:
    total, before = report.total, report.before

    def rated(count: int | None, name: str) -> str:
        parts = [f"{evidence.show(count, total.sends)} of sends"] if total.sends else []
        parts.append(evidence.rate_change(total, before, name))
        return "<br>".join(_text(part) for part in parts if part)

    sent = evidence.sends_change(total, before, running=report.running)
    cells = (
        ("Sent", total.sends, _text(sent)),
        ("Replies", total.replies, rated(total.replies, "replies")),
        ("Positive replies", total.positive_replies, rated(total.positive_replies, "positive_replies")),
        ("Meetings", total.meetings, rated(total.meetings, "meetings")),
    )
    drawn = "".join(
        f'<div>{label}<b>{show_count(count)}</b><span class="faint">{more}</span></div>'
        for label, count, more in cells
    )
    return f'<section class="figures">{drawn}</section>{_compared(report)}'


def _compared(report: ClientReport) -> str:
    if report.before_days is None or report.before is None or not report.before.sends:
        return ""
    compared = evidence.show_compared(*report.before_days, running=report.running)
    return f'<p class="faint">{_text(compared)}</p>'


def _charts(report: ClientReport) -> str:
    labels = [
        (f"{one.first:%-d %b}" if one.first == one.last else f"{one.first:%-d %b} – {one.last:%-d %b}")
        for one in report.buckets
    ]
    counts = [one.counts for one in report.buckets]
    unit = "week" if any(one.first != one.last for one in report.buckets) else "day"
    sent = charts.bars(labels, [("Sent", "first", [row.sends for row in counts])], title=f"Sent by {unit}")
    replies = charts.bars(
        labels,
        [
            ("Replies", "second", [row.replies for row in counts]),
            ("Positive replies", "first", [row.positive_replies for row in counts]),
        ],
        title=f"Replies by {unit}",
    )
    return sent + replies


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are HTML already. A title that ends in # heads a column of numbers."""
    classes = [' class="number"' if title.endswith("#") else "" for title in titles]
    head = "".join(f"<th{c}>{_text(t.rstrip('#'))}</th>" for t, c in zip(titles, classes, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{c}>{cell}</td>" for cell, c in zip(row, classes, strict=True)) + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        if body
        else ""
    )


def _sequences(report: ClientReport) -> str:
    titles = ("Sequence", "Sent#", "Replies#", "Reply rate#", "Positive#", "Positive rate#", "Meetings#")
    rows = [_counts(row, row.group) for row in report.sequences]
    if len(rows) > 1:
        rows.append([f"<b>{cell}</b>" for cell in _counts(report.total, "All")])
    return "<h2>Activity by sequence</h2>" + (_table(titles, rows) or "<p>No activity in this period.</p>")


def _counts(row: StatsRow, name: str) -> list[str]:
    return [
        _text(name),
        show_count(row.sends),
        show_count(row.replies),
        evidence.show(row.replies, row.sends),
        show_count(row.positive_replies),
        evidence.show(row.positive_replies, row.sends),
        show_count(row.meetings),
    ]


def _positive(report: ClientReport) -> str:
    head = "<h2>Interested replies and time to claim</h2>"
    if report.positive is None:
        return f"{head}<p>Not available: the bot's records couldn't be read.</p>"
    if not report.positive:
        known = " by the bot, so their time to claim is unknown" if report.total.positive_replies else ""
        return f"{head}<p>No interested replies were recorded in this period{known}.</p>"
    named = any(one.email or one.lead for one in report.positive)
    rows = [
        (
            _moment(one.at),
            *((_text(one.lead), _text(one.company), _text(one.email)) if named else ()),
            _text(one.sequence or UNKNOWN),
            "not yet" if one.touched_after is None else show_span(one.touched_after),
        )
        for one in report.positive[:MOST_REPLIES]
    ]
    titles = ("Received", *(("Lead", "Company", "Email") if named else ()), "Sequence", "Time to claim#")
    return f"{head}<p>{_touches(report)}</p>{_table(titles, rows)}{_more(report.replies, MOST_REPLIES)}"


def _touches(report: ClientReport) -> str:
    touches, count = report.touches, show_number(report.replies, "interested reply")
    if touches is None or touches.median is None:
        return f"{count}, none claimed or done yet."
    typical = show_span(timedelta(seconds=touches.median))
    return (
        f"{count}; {touches.count:,} claimed or done, in {typical} (median), "
        f"{show_rate(touches.in_time / touches.count)} of them within an hour."
    )


def _more(count: int, shown: int) -> str:
    return f'<p class="faint">And {count - shown:,} more.</p>' if count > shown else ""


def _domains(report: ClientReport) -> str:
    head = "<h2>Health of sending domains</h2>"
    if report.domains is None:
        return f"{head}<p>Not available: the inboxes couldn't be read.</p>"
    titles, rows = (
        ["Domain", "Inboxes#", "Lowest score", "This period", "State"],
        map(_domain, report.domains),
    )
    if any(one.dns is not None for one in report.domains):
        titles.append("DNS")
        rows = map(_domain_with_dns, report.domains)
    return head + (_table(titles, rows) or "<p>No inboxes are connected.</p>")


def _domain_with_dns(one: DomainReport) -> list[str]:
    return [*_domain(one), f'<span class="tone-{one.dns_tone.value}">{_text(one.dns or UNKNOWN)}</span>']


def _domain(one: DomainReport) -> list[str]:
    score = UNKNOWN if one.score is None else f"{one.score:g}"
    return [
        _text(one.domain),
        f"{one.inboxes:,}",
        f"{charts.meter(one.score, style=one.tone.value)} {score}",
        charts.course(one.course, title="Lowest health score of the domain")
        or '<span class="faint">–</span>',
        f'<span class="tone-{one.tone.value}">{_text(one.text)}</span>',
    ]


def _events(report: ClientReport) -> str:
    head = "<h2>Incidents and actions</h2>"
    if report.incidents is None or report.changes is None:
        return f"{head}<p>Not available: the bot's records couldn't be read.</p>"
    events = [(one.at, _text(one.text), _handled(one)) for one in report.incidents]
    events += [(one.at, "", f"{_text(one.who)}: {_text(one.text)}") for one in report.changes]
    events.sort(key=lambda event: event[0])
    rows = [(_moment(at), what, done) for at, what, done in events[:MOST_EVENTS]]
    table = _table(("When", "DomainIncident", "Action"), rows)
    return (
        head
        + (table or "<p>The bot recorded no incidents or changes in this period.</p>")
        + _more(len(events), MOST_EVENTS)
    )


def _handled(one: DomainIncident) -> str:
    parts = []
    if one.handled_at is not None:
        who = f" by {_text(one.handled_by)}" if one.handled_by else ""
        parts.append(f"Acknowledged{who} after {show_span(one.handled_at - one.at)}")
    if one.recovered_at is not None:
        parts.append(f"sending again after {show_span(one.recovered_at - one.at)}")
    return "; ".join(parts)


def _footer(report: ClientReport) -> str:
    gaps = "".join(f"<p>{_text(gap)}</p>" for gap in report.gaps)
    return (
        f"<footer>{gaps}<p>“7.1% ± 2.4” means that the true rate is between 4.7% and 9.5%, with 95% confidence. "
        f"“Too few”: under {evidence.LEAST_SENDS} sends, a rate isn't meaningful yet. A change is shown only if it is "
        "unlikely to be chance (under 5%). Days are in the service's time zone. Replies, incidents and changes are those "
        "that the bot recorded.</p></footer>"
    )
