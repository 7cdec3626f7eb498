"""`outreach doctor`: every check, one line each with its fix."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import AsyncIterator, Sequence
from importlib import import_module

from cli.console import card_output, exit_codes
from cli.console.resources import log_to_stderr
from cli.doctor import configuration, service
from cli.doctor.finding import PATIENCE, Finding, bad
from shared.commands.base import Result
from shared.commands.run import open_client
from shared.domain.card import Card, Fact, Tone
from shared.settings import Settings, Workspace
from shared.text.formats import show_number

WORDS = {Tone.GOOD: "passed", Tone.WARN: "warning", Tone.BAD: "failed"}


def run(options: Namespace) -> int:
    """Print the findings; 1 if any is bad."""
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
    # First, so that its imports take nothing of the time of the other checks.
    slack = await slack_findings(settings) if settings.slack.bot_token else []
    checks = (
        *(service_findings(settings, workspace) for workspace in workspaces),
        listed(configuration.database(settings)),
        listed(service.deliveries(settings)),
        listed(configuration.domains(settings)),
    )
    for some in (slack, *await asyncio.gather(*checks)):
        findings += some
    return _result(findings)


async def slack_findings(settings: Settings) -> list[Finding]:
    slack = await asyncio.to_thread(import_module, "cli.doctor.slack")
    return await listed(slack.examine(settings))


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
