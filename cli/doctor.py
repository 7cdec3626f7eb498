"""`outreach doctor`: every check, one line each with its fix. It changes nothing."""

from __future__ import annotations

import asyncio
import contextlib
import json
import stat
from argparse import Namespace
from collections import Counter
from collections.abc import Awaitable, Collection
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from bot.interactions.gate import set_channels
from bot.slack.directory import UserDirectory
from bot.slack.manifest import SCOPES, SPARE
from bot.slack.web_api import SlackError, open_web_api
from cli.console.resources import log_to_stderr
from shared.api.errors import OutreachError, Unreadable
from shared.api.events import PROBE_SIGNATURE, SIGNATURE_HEADER
from shared.api.pace import Priority
from shared.api.transport import describe_network_error
from shared.commands.base import Result
from shared.commands.run import open_client
from shared.domain.card import Card, Fact, Tone
from shared.domain_health.lookup import system_resolvers
from shared.records import RecordsUnavailable
from shared.settings import Need, Settings, SettingsError, Workspace, load
from shared.storage.database import DATABASE_FIX, temporary_engine
from shared.store.db import migrate
from shared.store.db.engine import Database
from shared.store.facts import Instance
from shared.store.webhooks import SecretCipher, Stored, WebhookSubscriptions
from shared.text.formats import show_number
from shared.text.sanitize import visible

GOOD, WARN, BAD = "passed", "warning", "failed"
TONES = {GOOD: Tone.GOOD, WARN: Tone.WARN, BAD: Tone.BAD}
NOTICEABLE_SECONDS, FATAL_SECONDS = 5.0, 120.0
"""Slack refuses requests that are five minutes old, and signs with its own clock."""
PATIENCE_SECONDS = 60
"""A check waits so long for the other side: a Raspberry Pi, or a busy machine, takes many for what others do in one."""
SUBSCRIBE = "outreach webhooks create --url https://YOUR-HOST/webhooks/outreach"
START_BOT = "Start it: outreach bot"


class Finding(NamedTuple):
    """A check, its result (BAD makes the doctor exit with 1), what was found, and the fix."""

    check: str
    status: str
    found: str
    fix: str = ""

    @property
    def text(self) -> str:
        """The finding in a line; Slack, the service or another program may have said a part of it."""
        return visible(f"{self.status}: {self.found.rstrip('.')}{self.fix and f'. {self.fix}'}")


async def run(options: Namespace) -> Result:
    """The findings; a failure if any is bad."""
    log_to_stderr()
    settings, findings = _read_settings(options.config)
    if settings:
        named = options.workspace
        workspaces = [settings.workspace(named)] if named else settings.workspaces.values()
        checks = await asyncio.gather(
            slack_findings(settings),
            *(service_findings(settings, workspace) for workspace in workspaces),
            database_findings(settings),
            _delivery_findings(settings),
        )
        findings += [*chain.from_iterable(checks), _resolvers(settings)]
    counts = Counter(finding.status for finding in findings)
    failed = counts[BAD]
    card = Card(
        title=f"{counts[GOOD]} passed, {show_number(counts[WARN], 'warning')}, {failed} failed",
        tone=TONES[BAD if failed else WARN if counts[WARN] else GOOD],
        failure=failed > 0,
        facts=[Fact(finding.check, finding.text, tone=TONES[finding.status]) for finding in findings],
    )
    rows = [{**finding._asdict(), "fix": finding.fix or None} for finding in findings]
    return Result(card=card, rows=rows)


def _read_settings(config: Path | None) -> tuple[Settings | None, list[Finding]]:
    """The settings, as far as they can be read, and what was found about them."""
    check = "Configuration"
    try:
        settings = load(config=config, needs=tuple(Need))
    except SettingsError as refusal:
        faults = [Finding(check, BAD, f"{each.name} {each.problem}", each.fix) for each in refusal.problems]
        # Without needs, so that what is set is still checked.
        with contextlib.suppress(SettingsError):
            return load(config=config), faults
        return None, faults
    findings = [Finding(check, GOOD, "complete")]
    for file in settings.files:
        if file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            fix = f"If it contains keys: chmod go= {file}"
            findings.append(Finding(check, WARN, f"other users of this machine can read {file}", fix))
    return settings, findings


async def service_findings(settings: Settings, workspace: Workspace) -> list[Finding]:
    """One read with the key; its answer's Date header is the service's clock."""
    if not workspace.base_url or not workspace.api_key.get_secret_value():
        return []  # said under Configuration
    check, theirs = f"API key of {workspace.name}", None
    try:
        async with asyncio.timeout(PATIENCE_SECONDS), open_client(settings, workspace) as client:
            try:
                sequences = await client.list_sequences(priority=Priority.INTERACTIVE)
                finding = Finding(check, GOOD, f"accepted, {len(sequences)} sequences")
            finally:
                theirs = client.service_time
    except OutreachError as fault:
        # An answer in an unknown shape proves that the key is accepted.
        status = WARN if isinstance(fault, Unreadable) else BAD
        finding = Finding(
            check, status, f"{fault.endpoint}: {fault.message} {fault.cause}".strip(), fault.hint
        )
    except TimeoutError:
        fix = f"Check that {workspace.base_url} is the right address and reachable from here."
        finding = Finding(check, BAD, f"no response within {PATIENCE_SECONDS} s", fix)
    return [finding, clock(theirs, now=datetime.now(UTC))] if theirs else [finding]


def clock(theirs: datetime, *, now: datetime) -> Finding:
    """Compare the clocks; the header counts whole seconds."""
    apart = (now - theirs).total_seconds()
    if abs(apart) < NOTICEABLE_SECONDS:
        return Finding("Clock", GOOD, "matches the service's")
    fix = "Set this machine's clock, ideally with NTP: Slack's signatures expire after five minutes."
    status = BAD if abs(apart) >= FATAL_SECONDS else WARN
    return Finding("Clock", status, f"{apart:+,.0f} s compared with the service's", fix)


async def database_findings(settings: Settings) -> list[Finding]:
    """Create a table in a transaction that is rolled back."""
    check, address = "Database", settings.database.render_as_string(hide_password=True)
    try:
        await asyncio.to_thread(_try_out, settings)
    except migrate.UnusableSchema as refusal:
        return [Finding(check, BAD, str(refusal), "`outreach database status` shows both versions.")]
    except (SQLAlchemyError, OSError) as fault:
        reason = str(getattr(fault, "orig", None) or fault).strip().partition("\n")[0]
        return [Finding(check, BAD, f"{address}: {reason}", DATABASE_FIX)]
    return [Finding(check, GOOD, f"{address} is writable")]


def _try_out(settings: Settings) -> None:
    with temporary_engine(settings.database) as engine, engine.connect() as connection:
        with connection.begin() as transaction:
            # Both databases roll back a new table, so nobody ever sees it.
            connection.execute(sa.text("CREATE TABLE outreach_doctor (n INTEGER)"))
            transaction.rollback()
        migrate.read_state(connection).check()


def _resolvers(settings: Settings) -> Finding:
    check, count = "DNS resolvers", len(settings.dns.resolvers) or len(system_resolvers())
    if count > 1 or not settings.dns.enabled:
        found = show_number(count, "resolver") if settings.dns.enabled else "domains aren't checked"
        return Finding(check, GOOD, found)
    found = f"{show_number(count, 'resolver')}: problems are shown, but never alerted"
    fix = 'Two must confirm a problem. Set [dns] resolvers, such as resolvers = ["9.9.9.9", "1.1.1.1"].'
    return Finding(check, WARN, found, fix)


async def _delivery_findings(settings: Settings) -> list[Finding]:
    """The bot at its own address, then the secrets, then each subscribed address.

    Only forged signatures are sent: a delivery with a good one would be stored and shown in `status`.
    """
    instance: str | None = None
    known: Stored = {}
    # A database that doesn't answer is said under Database.
    with contextlib.suppress(SQLAlchemyError, OSError, RecordsUnavailable):
        database = await asyncio.to_thread(Database, settings.database)
        async with contextlib.aclosing(database):
            instance = await Instance(database).known_id()
            cipher = SecretCipher(settings.secret_keys)
            known = await WebhookSubscriptions(database, cipher).all()
    timeout = aiohttp.ClientTimeout(total=PATIENCE_SECONDS)
    async with aiohttp.ClientSession(timeout=timeout, trust_env=True) as http:
        findings = await _bot(http, settings, instance)
        for name, workspace in settings.workspaces.items():
            check, subscribed = f"Webhook secrets of {name}", known.get(name, ())
            problem = next((made.problem for made in subscribed if made.problem), "")
            if problem:
                findings.append(Finding(check, BAD, problem, "Set the key that the bot uses."))
            elif count := len(subscribed) + len(workspace.webhook_secrets):
                findings.append(Finding(check, GOOD, f"{count} known"))
            else:
                findings.append(Finding(check, BAD, "none: every delivery is rejected", SUBSCRIBE))
            urls = dict.fromkeys(made.url for made in subscribed)
            findings += [await _webhook_address(http, url) for url in urls]
    return findings


async def _bot(http: aiohttp.ClientSession, settings: Settings, instance: str | None) -> list[Finding]:
    """Check that a bot runs here, and that it uses the database that this shell looks at."""
    address, check = settings.details_url, "Bot"
    try:
        async with http.get(f"{address}/readyz") as answer:
            status, text = answer.status, await answer.text()
    except (aiohttp.ClientError, TimeoutError):
        return [Finding(check, WARN, f"not running at {address}", START_BOT)]
    findings = [Finding(check, GOOD, f"ready at {address}")]
    if status != 200:
        findings = [Finding(check, BAD, f"not ready: {text[:200]}", "See its log.")]
    # Some other program may listen there, and answer with a page.
    with contextlib.suppress(ValueError, TypeError, KeyError):
        theirs = json.loads(text)["instance"]
        if theirs and theirs == instance:
            findings.append(Finding("Bot's database", GOOD, "same as this shell's"))
        elif theirs:
            own = settings.database.render_as_string(hide_password=True)
            fix = "Set the same OUTREACH_DATABASE_URL for both, or OUTREACH_STATE_DIR with SQLite."
            found = f"the bot at {address} uses another database than this shell ({own})"
            findings.append(Finding("Bot's database", BAD, found, fix))
    return findings


async def _webhook_address(http: aiohttp.ClientSession, url: str) -> Finding:
    """A delivery with a forged signature must be answered 401; anything else is not our bot."""
    check, headers = "Webhook address", {SIGNATURE_HEADER: PROBE_SIGNATURE}
    try:
        # The answer at this very address counts: nothing says that the service follows a redirect.
        async with http.post(url, data=b"{}", headers=headers, allow_redirects=False) as answer:
            status = answer.status
    except (aiohttp.ClientError, TimeoutError) as fault:
        fix = f"Check that the bot runs and the address leads to it. {START_BOT}"
        return Finding(check, WARN, f"{url} doesn't respond: {describe_network_error(fault)}", fix)
    if status == 401:
        return Finding(check, GOOD, f"{url} leads to the bot, which rejects forged signatures")
    found = f"{url} returns {status} for a forged signature instead of 401"
    fix = "The address must lead to the bot's /webhooks/outreach without a login or redirect."
    return Finding(check, BAD, found, fix)


async def slack_findings(settings: Settings) -> list[Finding]:
    """Token, scopes, every channel, and Socket Mode."""
    if settings.slack.bot_token is None:
        return []
    async with open_web_api(settings.slack) as api:
        fix = "Set SLACK_BOT_TOKEN to the app's xoxb-… token."
        token = await _called("Slack token", api.call("auth.test", seconds=PATIENCE_SECONDS), fix)
        if token.status == BAD:
            # With this token, all other checks would fail for the same reason.
            return [token]
        directory = UserDirectory(api, groups=settings.roles.groups)
        return [
            token._replace(found=f"{api.identity.get('user')} in {api.identity.get('team')}"),
            scopes(api.scopes),
            *[await _channel(directory, channel) for channel in sorted(set_channels(settings))],
            *await _socket_mode(settings),
        ]


async def _called(check: str, call: Awaitable[Any], fix: str) -> Finding:
    """The outcome of a call to Slack as a finding."""
    try:
        await call
    except SlackError as error:
        found = ": ".join(filter(None, (str(error), ", ".join(error.details))))
        # Without a status there was no answer.
        return Finding(check, BAD, found, fix if error.status else "Check the network and SLACK_API_URL.")
    return Finding(check, GOOD, "accepted")


def scopes(held: Collection[str]) -> Finding:
    """Check that the token has all scopes of the manifest."""
    check, update = "Slack scopes", "Update the app from manifest.yml and install it again."
    if not held:
        return Finding(check, WARN, "Slack didn't list them", "Compare the app's scopes with manifest.yml.")
    missing = sorted({*SCOPES} - {*held})
    if not missing:
        return Finding(check, GOOD, f"all {len(SCOPES)} granted")
    effects = "; ".join(f"{scope} ({SPARE.get(scope, SCOPES[scope])})" for scope in missing)
    return Finding(check, WARN if SPARE.keys() >= {*missing} else BAD, f"missing: {effects}", update)


async def _channel(directory: UserDirectory, channel: str) -> Finding:
    """A channel of the settings, as the bot looks at it when it starts."""
    check, place = f"Slack channel {channel}", await directory.find_place(channel)
    if place.refusal:
        return Finding(check, BAD, place.refusal.replace(f"<#{channel}>", channel), place.fix)
    return Finding(check, WARN, place.note) if place.note else Finding(check, GOOD, "takes messages")


async def _socket_mode(settings: Settings) -> list[Finding]:
    """Open a connection by the app token; without one, Slack's requests arrive over HTTP."""
    if settings.slack.app_token is None:
        return []
    fix = "SLACK_APP_TOKEN must be an xapp-… token with connections:write. Turn on Socket Mode in the app."
    async with open_web_api(settings.slack, token=settings.slack.app_token) as api:
        opening = api.call("apps.connections.open", seconds=PATIENCE_SECONDS)
        return [await _called("Slack Socket Mode", opening, fix)]
