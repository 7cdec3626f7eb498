"""Checks whether the DNS of the sending domains is checked, and what the bot found."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime

from cli.console.resources import open_records
from cli.doctor.finding import Finding, doubtful, good
from shared.commands.domain import Domain
from shared.domain.card import Tone
from shared.domain.dns_facts import dns_fact, problem_text, problems_of
from shared.domain_health.lookup import system_resolvers
from shared.domain_health.report import DomainReport
from shared.records.records import RecordsUnavailable
from shared.settings import Settings
from shared.text.formats import show_number

MOST = 5


async def domains(settings: Settings) -> AsyncIterator[Finding]:
    """The resolvers, and the domains with problems; nothing is looked up."""
    if not settings.dns.enabled:
        yield good("DNS", "domains aren't checked: [dns] enabled = false")
        return
    count = len(settings.dns.resolvers) or len(system_resolvers())
    if count < 2:
        found = "one resolver" if count else "no resolver"
        yield doubtful(
            "DNS resolvers",
            f"{found}: problems are shown, but never alerted",
            fix='Two must confirm a problem. Set [dns] resolvers, such as resolvers = ["9.9.9.9", "1.1.1.1"].',
        )
    else:
        yield good("DNS resolvers", show_number(count, "resolver"))
    try:
        async with open_records(settings) as records:
            reports = await records.domains.reports()
    except RecordsUnavailable as error:
        yield doubtful("DNS", f"unknown: {error}", fix="See Database above.")
        return
    for finding in _of(reports, now=datetime.now(UTC)):
        yield finding


def _of(reports: Mapping[str, DomainReport], *, now: datetime) -> list[Finding]:
    if not reports:
        return [doubtful("DNS", "no domain checked yet", fix="A running bot checks them within minutes.")]
    broken = {name: found for name, report in reports.items() if (found := problems_of(report, now=now))}
    findings = [
        doubtful(
            f"DNS of {name}",
            "; ".join(problem_text(one, now=now) for one in problems),
            fix=f"`outreach {Domain(name=name).line}` says what to do.",
        )
        for name, problems in list(broken.items())[:MOST]
    ]
    others = [dns_fact(report, now=now) for name, report in reports.items() if name not in broken]
    unknown = [fact for fact in others if fact.tone is Tone.UNKNOWN]
    if len(broken) > MOST:
        more = show_number(len(broken) - MOST, "more domain")
        findings.append(doubtful("DNS", f"problems of {more}", fix="`outreach status` lists them."))
    if unknown:
        findings.append(
            doubtful(
                "DNS",
                f"{show_number(len(unknown), 'domain')} unknown",
                fix="Check that the bot runs and its resolvers answer.",
            )
        )
    elif not broken:
        findings.append(good("DNS", f"{show_number(len(others), 'domain')} good"))
    return findings
