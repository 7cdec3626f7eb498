"""`outreach doctor`: every check, one line each with its fix. It changes nothing."""

from __future__ import annotations

import asyncio
import contextlib
import json
import stat
from argparse import Namespace
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from cli.console import card_output, exit_codes
from cli.console.resources import log_to_stderr
from shared.api.errors import OutreachError, Unauthorized, Unreadable
from shared.api.events import PROBE_SIGNATURE, SIGNATURE_HEADER
from shared.api.models import Subscription
from shared.api.pace import Priority
from shared.api.transport import describe_network_error
from shared.commands.base import Result
from shared.commands.run import open_client
from shared.domain.card import Card, Fact, Tone
from shared.domain_health.lookup import system_resolvers
from shared.frozen import frozen
from shared.records.records import RecordsUnavailable
from shared.settings import Need, Settings, SettingsError, Workspace, load
from shared.storage.database import connection_advice, temporary_engine
from shared.store.db import migrate
from shared.store.db.engine import Database
from shared.store.instance import Instance, SeenBot
from shared.store.webhooks import SecretCipher, WebhookSubscriptions
from shared.text.formats import show_number
from shared.text.sanitize import visible

WORDS = {Tone.GOOD: "passed", Tone.WARN: "warning", Tone.BAD: "failed"}
NOTICEABLE_SECONDS, FATAL_SECONDS = 5.0, 120.0
"""Slack refuses requests that are five minutes old, and signs with its own clock."""
PATIENCE_SECONDS = 60
"""A check waits so long for the other side: a Raspberry Pi, or a busy machine, takes many for what others do in one."""
TIMEOUT = aiohttp.ClientTimeout(total=PATIENCE_SECONDS)
SUBSCRIBE = "outreach webhooks create --url https://YOUR-HOST/webhooks/outreach"
DATABASE_FIX = "Check that the server runs, the name and password are right, the folder is writable and the disk isn't full. See OUTREACH_DATABASE_URL."


@frozen
class Finding:
    """A check, its result (BAD makes the doctor exit with 1), what was found, and the fix."""

    check: str
    tone: Tone
    found: str
    fix: str = ""


def good(check: str, found: str) -> Finding:
    return Finding(check=check, tone=Tone.GOOD, found=found)


def doubtful(check: str, found: str, *, fix: str) -> Finding:
    return Finding(check=check, tone=Tone.WARN, found=found, fix=fix)


def bad(check: str, found: str, *, fix: str) -> Finding:
    return Finding(check=check, tone=Tone.BAD, found=found, fix=fix)


def run(options: Namespace) -> int:
    """Print the findings; 1 if any is bad."""
    result = asyncio.run(_examine(options))
    code = card_output.answer(result, as_json=options.json)
    return exit_codes.FAILED if result.card.failure else code


async def _examine(options: Namespace) -> Result:
    log_to_stderr()
    settings, findings = _read_settings(options.config)
    if settings is None:
        return _result(findings)
    named = options.workspace
    workspaces = (settings.workspace(named),) if named else tuple(settings.workspaces.values())
    # First, so that its imports take nothing of the time of the other checks.
    slack = await slack_findings(settings) if settings.slack.bot_token else []
    checks = (
        *(service_findings(settings, workspace) for workspace in workspaces),
        database_findings(settings),
        delivery_findings(settings),
    )
    for some in (slack, *await asyncio.gather(*checks), _resolvers(settings)):
        findings += some
    return _result(findings)


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


def _read_settings(config: Path | None) -> tuple[Settings | None, list[Finding]]:
    """The settings, as far as they can be read, and what was found about them."""
    check = "Configuration"
    try:
        settings = load(config=config, needs=tuple(Need))
    except SettingsError as refusal:
        faults = [bad(check, f"{fault.name} {fault.problem}", fix=fault.fix) for fault in refusal.problems]
        try:
            # Without needs, so that what is set is still checked.
            return load(config=config), faults
        except SettingsError:
            return None, faults
    sources = f"{settings.file} and the environment" if settings.file else "the environment"
    findings = [good(check, f"complete, from {sources}")]
    for file in filter(None, (settings.file, *settings.secret_files)):
        if file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            fix = f"If it contains keys: chmod go= {file}"
            findings.append(doubtful(check, f"other users of this machine can read {file}", fix=fix))
    return settings, findings


async def slack_findings(settings: Settings) -> list[Finding]:
    """Check what Slack says; the module imports most of the bot, a second that the event loop must not stand still."""
    slack = await asyncio.to_thread(import_module, "cli.doctor.slack")
    findings: list[Finding] = await slack.examine(settings)
    return findings


async def service_findings(settings: Settings, workspace: Workspace) -> list[Finding]:
    """One read with the key; its answer's Date header is the service's clock."""
    if not workspace.base_url or not workspace.api_key.get_secret_value():
        return []  # said under Configuration
    check, theirs = f"API key of {workspace.name}", None
    address = f"Check that {workspace.base_url} is the right address and reachable from here."
    try:
        async with asyncio.timeout(PATIENCE_SECONDS), open_client(settings, workspace) as client:
            try:
                sequences = await client.list_sequences(priority=Priority.INTERACTIVE)
            finally:
                theirs = client.service_time
    except TimeoutError:
        finding = bad(check, f"no response within {PATIENCE_SECONDS} s", fix=address)
    except Unauthorized:
        fix = "Create a key in the account settings and set OUTREACH_API_KEY."
        finding = bad(check, "rejected: missing or revoked", fix=fix)
    except Unreadable as fault:
        finding = doubtful(check, str(fault), fix="Set [fields] to match the response.")
    except OutreachError as fault:
        finding = bad(check, str(fault), fix=address)
    else:
        finding = good(check, f"accepted, {len(sequences)} sequences")
    return [finding, clock(theirs, now=datetime.now(UTC))] if theirs else [finding]


def clock(theirs: datetime, *, now: datetime) -> Finding:
    """Compare the clocks; the header counts whole seconds."""
    apart = abs((now - theirs).total_seconds())
    if apart < NOTICEABLE_SECONDS:
        return good("Clock", "matches the service's")
    word = f"{apart:,.0f} s {'ahead of' if now > theirs else 'behind'} the service's"
    fix = "Set this machine's clock, ideally with NTP: Slack's signatures expire after five minutes."
    return (bad if apart >= FATAL_SECONDS else doubtful)("Clock", word, fix=fix)


async def database_findings(settings: Settings) -> list[Finding]:
    """Create a table in a transaction that is rolled back."""
    address = settings.database.render_as_string(hide_password=True)
    try:
        await asyncio.to_thread(_try_out, settings)
    except migrate.UnusableSchema as refusal:
        return [bad("Database", str(refusal), fix="`outreach database status` shows both versions.")]
    except (SQLAlchemyError, OSError) as fault:
        reason = str(getattr(fault, "orig", None) or fault).strip().partition("\n")[0]
        return [bad("Database", f"{address}: {reason}", fix=connection_advice(reason) or DATABASE_FIX)]
    return [good("Database", f"{address} is writable")]


def _try_out(settings: Settings) -> None:
    with temporary_engine(settings.database) as engine, engine.connect() as connection:
        with connection.begin() as transaction:
            # Both databases roll back a new table, so nobody ever sees it.
            connection.execute(sa.text("CREATE TABLE outreach_doctor (n INTEGER)"))
            transaction.rollback()
        migrate.read_state(connection).check()


def _resolvers(settings: Settings) -> list[Finding]:
    count = len(settings.dns.resolvers) or len(system_resolvers())
    if not settings.dns.enabled:
        return [good("DNS", "domains aren't checked: [dns] enabled = false")]
    if count > 1:
        return [good("DNS resolvers", show_number(count, "resolver"))]
    which = "one resolver" if count else "no resolver"
    fix = 'Two must confirm a problem. Set [dns] resolvers, such as resolvers = ["9.9.9.9", "1.1.1.1"].'
    return [doubtful("DNS resolvers", f"{which}: problems are shown, but never alerted", fix=fix)]


class _Stored(NamedTuple):
    """The state of the bot in its database; empty if it does not answer or no bot has used it."""

    instance: str | None = None
    seen: SeenBot | None = None
    subscriptions: Mapping[str, tuple[Subscription, ...]] = {}
    problems: Mapping[str, str] = {}


async def _read_stored(settings: Settings) -> _Stored:
    try:
        database = await asyncio.to_thread(Database, settings.database)
    except (SQLAlchemyError, OSError):
        return _Stored()
    instance, stored = Instance(database), WebhookSubscriptions(database, SecretCipher(settings.secret_keys))
    try:
        return _Stored(
            await instance.known_id(),
            await instance.last_seen(),
            {name: await stored.list(name) for name in settings.workspaces},
            (await stored.secrets()).problems,
        )
    except RecordsUnavailable:
        return _Stored()
    finally:
        await database.aclose()


async def delivery_findings(settings: Settings) -> list[Finding]:
    """The bot at its own address, then the secrets, then each subscribed address.

    Only forged signatures are sent: a delivery with a good one would be stored and shown in `status`.
    """
    stored = await _read_stored(settings)
    async with aiohttp.ClientSession(timeout=TIMEOUT, trust_env=True) as http:
        findings = await _bot(http, settings, stored)
        for name, workspace in settings.workspaces.items():
            subscribed = stored.subscriptions.get(name, ())
            count = len(subscribed) + len(workspace.webhook_secrets)
            check = f"Webhook secrets of {name}"
            if problem := stored.problems.get(name):
                findings.append(bad(check, problem, fix="Set the key that the bot uses."))
            elif count:
                findings.append(good(check, f"{count} known"))
            else:
                findings.append(bad(check, "none: every delivery is rejected", fix=SUBSCRIBE))
            for url in dict.fromkeys(subscription.url for subscription in subscribed):
                findings.append(await _refuses(http, url))
    return findings


async def _bot(http: aiohttp.ClientSession, settings: Settings, stored: _Stored) -> list[Finding]:
    """Check that a bot runs, on the database that this shell looks at, and that Slack reaches it."""
    address, state = settings.details_url, dict[str, Any]()
    try:
        async with http.get(f"{address}/readyz") as answer:
            status, text = answer.status, await answer.text()
    except (aiohttp.ClientError, TimeoutError):
        seen = stored.seen
        if seen and seen.runs:
            return [good("Bot", f"seen {seen.age:.0f} s ago on {seen.host}, with this database")]
        return [doubtful("Bot", f"not running at {address}", fix="Start it: outreach bot")]
    with contextlib.suppress(ValueError, TypeError):  # some other program may listen there
        state = dict(json.loads(text))
    # Some other program may listen there, and answer with a page.
    not_ready = bad("Bot", f"not ready: {text[:200]}", fix="See its log.")
    findings = [good("Bot", f"ready at {address}") if status == 200 else not_ready]
    if theirs := visible(str(state.get("instance") or "")):
        findings.append(_same_database(settings, theirs, stored.instance))
    connection = state.get("socket_mode")
    if isinstance(connection, dict):
        findings.append(socket_mode(connection))
    elif connection and settings.slack.app_token:
        fix = "Start it again: outreach bot"
        findings.append(bad("Slack connection", "the running bot has no app token", fix=fix))
    return findings


def _same_database(settings: Settings, theirs: str, own: str | None) -> Finding:
    check = "Bot's database"
    if theirs == own:
        return good(check, "same as this shell's")
    place = f"{own or 'new'}, {settings.database.render_as_string(hide_password=True)}"
    fix = "Set the same OUTREACH_DATABASE_URL for both, or OUTREACH_STATE_DIR with SQLite."
    return bad(check, f"{settings.details_url} uses another ({theirs}) than this shell ({place})", fix=fix)


def socket_mode(state: Mapping[str, Any]) -> Finding:
    """The `socket_mode` of a bot's /readyz as a finding."""
    check = "Slack connection"
    if not state["connected"]:
        return bad(check, visible(str(state["trouble"])), fix="The bot keeps retrying. See its log.")
    last = f" (last reason: {visible(str(state['last_loss']))})" if state["rebuilds"] else ""
    age = f"last message {state['last_message_age']} s ago"
    return good(check, f"{age}, reconnected {state['rebuilds']}×{last}")


async def _refuses(http: aiohttp.ClientSession, url: str) -> Finding:
    """A delivery with a forged signature must be answered 401; anything else is not our bot."""
    check, headers = "Webhook address", {SIGNATURE_HEADER: PROBE_SIGNATURE}
    try:
        # The answer at this very address counts: nothing says that the service follows a redirect.
        async with http.post(url, data=b"{}", headers=headers, allow_redirects=False) as answer:
            status = answer.status
    except (aiohttp.ClientError, TimeoutError) as fault:
        fix = "Check that the bot runs and the address leads to it. Start it: outreach bot"
        return doubtful(check, f"{url} doesn't respond: {describe_network_error(fault)}", fix=fix)
    if status == 401:
        return good(check, f"{url} leads to the bot, which rejects forged signatures")
    fix = "The address must lead to the bot's /webhooks/outreach without a login or redirect."
    return bad(check, f"{url} returns {status} for a forged signature instead of 401", fix=fix)
