"""`outreach doctor`: every check, one line each with its fix; or the format of the service's responses."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import AsyncIterator, Sequence

from cli.console import card_output, exit_codes
from cli.console.resources import log_to_stderr
from cli.doctor import configuration, service, slack
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
        return card_output.answer(asyncio.run(_shapes(options)), as_json=options.json)
    result = asyncio.run(_examine(options))
    code = card_output.answer(result, as_json=options.json)
    return exit_codes.FAILED if result.card.failure else code


async def _examine(options: Namespace) -> Result:
    log_to_stderr()
    settings, findings = configuration.read_settings(options.config)
    if settings is None:
        return _result(findings)
    named = options.workspace
    workspaces = (settings.workspace(named),) if named else tuple(settings.workspaces.values())
    if settings.slack.bot_token:
        # Before the first request: a second of imports, ten of a busy machine, would use up its time.
        await asyncio.to_thread(slack.import_bot)
    checks = (
        *(service_findings(settings, workspace) for workspace in workspaces),
        listed(slack.examine(settings)),
        listed(configuration.database(settings)),
        listed(service.deliveries(settings)),
        listed(configuration.domains(settings)),
    )
    for some in await asyncio.gather(*checks):
        findings += some
    return _result(findings)


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


def _result(findings: Sequence[Finding]) -> Result:
    tones = [finding.tone for finding in findings]
    failed, doubts = tones.count(Tone.BAD), tones.count(Tone.WARN)
    facts, rows = [], []
    for finding in findings:
        status, fix = WORDS[finding.tone], f". {finding.fix}" if finding.fix else ""
        value = f"{status}: {finding.found.rstrip('.')}{fix}"
        facts.append(Fact(label=finding.check, value=value, tone=finding.tone))
        about = {"check": finding.check, "status": status, "found": finding.found}
        rows.append({**about, "fix": finding.fix or None})
    passed = len(findings) - failed - doubts
    card = Card(
        title=f"{passed} passed, {show_number(doubts, 'warning')}, {failed} failed",
        tone=Tone.BAD if failed else Tone.WARN if doubts else Tone.GOOD,
        failure=failed > 0,
        facts=tuple(facts),
    )
    return Result(card=card, rows=tuple(rows))


async def _shapes(options: Namespace) -> Result:
    """Read every endpoint that can be read; an answer in an unknown format still has a shape."""
    settings = load(config=options.config, needs=(Need.API,))
    async with open_client(settings, settings.workspace(options.workspace)) as client:
        reads = (client.list_sequences(), client.list_inboxes(), client.stats(), client.list_leads())
        answers = await asyncio.gather(*reads, return_exceptions=True)
        shapes = client.shapes
    failed = [answer for answer in answers if isinstance(answer, OutreachError)]
    if failed and not shapes:
        raise failed[0]
    for failure in failed:
        exit_codes.print_error(str(failure))
    lines = [(endpoint, line) for endpoint in shapes for line in sorted(shapes[endpoint])]
    text = ("Paths and types of the responses, never a value. Safe to share with the maintainers.",)
    table = Table(columns=columns("Endpoint", "Shape"), rows=tuple(Row(cells=line) for line in lines))
    card = Card(title="Response format of the service", text=text, table=table)
    return Result(card=card, rows=tuple({"endpoint": endpoint, "shape": line} for endpoint, line in lines))
