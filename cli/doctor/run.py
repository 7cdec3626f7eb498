"""`outreach doctor`: every check, one line each with its fix; or the format of the service's responses."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import AsyncIterator, Collection, Mapping, Sequence

from cli.console import card_output, exit_codes
from cli.console.resources import log_to_stderr
from cli.doctor import configuration, dns, service, slack
from cli.doctor.finding import PATIENCE, Finding, bad
from shared.api.errors import OutreachError
from shared.commands.base import Result
from shared.commands.run import open_client
from shared.domain.card import Card, Fact, Row, Table, Tone, columns
from shared.settings import Need, Settings, Workspace, load
from shared.text.formats import show_number

WORDS = {Tone.GOOD: "passed", Tone.WARN: "warning", Tone.BAD: "failed"}


def run(options: Namespace) -> int:
    """Print the findings; 1 if any is bad."""
    if options.shapes:
        return _show_shapes(options)
    findings = asyncio.run(_all(options))
    code = card_output.answer(_card(findings), as_json=options.json)
    return exit_codes.FAILED if any(f.tone is Tone.BAD for f in findings) else code


async def _all(options: Namespace) -> list[Finding]:
    log_to_stderr()
    settings, findings = configuration.read_settings(options.config)
    if settings is None:
        return findings
    named = options.workspace
    workspaces = (settings.workspace(named),) if named else tuple(settings.workspaces.values())
    if settings.slack.bot_token:
        # Before the first request: a second of imports, ten of a busy machine, would use up its time.
        await asyncio.to_thread(slack.import_bot)
    checked = await asyncio.gather(
        *(service_findings(settings, workspace) for workspace in workspaces),
        listed(slack.examine(settings)),
        configuration.database(settings),
        listed(service.deliveries(settings)),
        listed(dns.domains(settings)),
    )
    return [*findings, *(finding for found in checked for finding in found)]


async def service_findings(settings: Settings, workspace: Workspace) -> list[Finding]:
    if not workspace.base_url or not workspace.api_key.get_secret_value():
        return []  # said under Configuration
    try:
        async with asyncio.timeout(PATIENCE), open_client(settings, workspace) as client:
            return await listed(service.key(client, workspace))
    except TimeoutError:
        fix = f"Check that {workspace.base_url} is the right address and reachable from here."
        return [bad(f"API key of {workspace.name}", f"no response within {PATIENCE} s", fix=fix)]


async def listed(findings: AsyncIterator[Finding]) -> list[Finding]:
    return [finding async for finding in findings]


def _card(findings: Sequence[Finding]) -> Result:
    failed = sum(f.tone is Tone.BAD for f in findings)
    doubts = sum(f.tone is Tone.WARN for f in findings)
    passed = len(findings) - failed - doubts
    facts, rows = [], []
    for finding in findings:
        status = WORDS[finding.tone]
        fix = f". {finding.fix}" if finding.fix else ""
        value = f"{status}: {finding.found.rstrip('.')}{fix}"
        facts.append(Fact(label=finding.check, value=value, tone=finding.tone))
        found = {"found": finding.found, "fix": finding.fix or None}
        rows.append({"check": finding.check, "status": status, **found})
    card = Card(
        title=f"{passed} passed, {show_number(doubts, 'warning')}, {failed} failed",
        tone=Tone.BAD if failed else Tone.WARN if doubts else Tone.GOOD,
        failure=failed > 0,
        facts=tuple(facts),
    )
    return Result(card=card, rows=tuple(rows))


def _show_shapes(options: Namespace) -> int:
    shapes = asyncio.run(_shapes(options))
    lines = [(endpoint, line) for endpoint in shapes for line in sorted(shapes[endpoint])]
    rows = tuple(Row(cells=line) for line in lines)
    data: tuple[dict[str, object], ...] = tuple(
        {"endpoint": endpoint, "shape": line} for endpoint, line in lines
    )
    text = ("Paths and types of the responses, never a value. Safe to share with the maintainers.",)
    table = Table(columns=columns("Endpoint", "Shape"), rows=rows)
    card = Result(card=Card(title="Response format of the service", text=text, table=table), rows=data)
    return card_output.answer(card, as_json=options.json)


async def _shapes(options: Namespace) -> Mapping[str, Collection[str]]:
    """Read every endpoint that can be read; an answer in an unknown format still has a shape."""
    settings = load(config=options.config, needs=(Need.API,))
    async with open_client(settings, settings.workspace(options.workspace)) as client:
        reads = (client.list_sequences(), client.list_inboxes(), client.stats(), client.list_leads())
        answers = await asyncio.gather(*reads, return_exceptions=True)
        failed = [answer for answer in answers if isinstance(answer, OutreachError)]
        if failed and not client.shapes:
            raise failed[0]
        for failure in failed:
            exit_codes.print_error(str(failure))
        return client.shapes
