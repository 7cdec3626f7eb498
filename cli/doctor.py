"""`outreach doctor`: every check, one line each with its fix. It changes nothing."""

from __future__ import annotations

import asyncio
import contextlib
import json
import stat
from argparse import Namespace
from collections.abc import Awaitable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from bot.interactions.gate import set_channels
from bot.slack.directory import UserDirectory
from bot.slack.manifest import SCOPES, SPARE
from bot.slack.web_api import SlackError
from cli.console import card_output
from cli.console.resources import log_to_stderr, open_web_api
from shared.api.errors import OutreachError, Unreadable
from shared.api.events import PROBE_SIGNATURE, SIGNATURE_HEADER
from shared.api.models import Subscription
from shared.api.pace import Priority
from shared.api.transport import describe_network_error
from shared.api.values import as_object, as_text
from shared.commands.base import Result
from shared.commands.run import open_client
from shared.domain.card import Card, Fact, Tone
from shared.domain_health.lookup import system_resolvers
from shared.records.records import RecordsUnavailable
from shared.settings import Need, Settings, SettingsError, Workspace, load
from shared.storage.database import DATABASE_FIX, temporary_engine
from shared.store.db import migrate
from shared.store.db.engine import Database
from shared.store.instance import Instance, SeenBot
from shared.store.webhooks import SecretCipher, WebhookSubscriptions
from shared.text.formats import show_number
from shared.text.sanitize import visible

GOOD, WARN, BAD = Tone.GOOD, Tone.WARN, Tone.BAD
WORDS = {GOOD: "passed", WARN: "warning", BAD: "failed"}
NOTICEABLE_SECONDS, FATAL_SECONDS = 5.0, 120.0
"""Slack refuses requests that are five minutes old, and signs with its own clock."""
PATIENCE_SECONDS = 60
"""A check waits so long for the other side: a Raspberry Pi, or a busy machine, takes many for what others do in one."""
TIMEOUT = aiohttp.ClientTimeout(total=PATIENCE_SECONDS)
SUBSCRIBE = "outreach webhooks create --url https://YOUR-HOST/webhooks/outreach"
START_BOT = "Start it: outreach bot"
NETWORK = "Check the network, SLACK_API_URL and the proxy."
UPDATE = "Update the app from manifest.yml and install it again."


class Finding(NamedTuple):
    """A check, its result (BAD makes the doctor exit with 1), what was found, and the fix."""

    check: str
    tone: Tone
    found: str
    fix: str = ""

    @property
    def text(self) -> str:
        return f"{WORDS[self.tone]}: {self.found.rstrip('.')}{self.fix and f'. {self.fix}'}"


def run(options: Namespace) -> int:
    """Print the findings; 1 if any is bad."""
    log_to_stderr()
    findings = asyncio.run(_examine(options.config, options.workspace))
    tones = [finding.tone for finding in findings]
    passed, doubts, failed = (tones.count(tone) for tone in WORDS)
    card = Card(
        title=f"{passed} passed, {show_number(doubts, 'warning')}, {failed} failed",
        tone=BAD if failed else WARN if doubts else GOOD,
        failure=failed > 0,
        facts=tuple(Fact(finding.check, finding.text, tone=finding.tone) for finding in findings),
    )
    rows = [
        {"check": check, "status": WORDS[tone], "found": found, "fix": fix or None}
        for check, tone, found, fix in findings
    ]
    return card_output.answer(Result(card=card, rows=tuple(rows)), options)


async def _examine(config: Path | None, named: str | None) -> Sequence[Finding]:
    settings, findings = _read_settings(config)
    if settings is None:
        return findings
    workspaces = [settings.workspace(named)] if named else list(settings.workspaces.values())
    checks = await asyncio.gather(
        slack_findings(settings),
        *(service_findings(settings, workspace) for workspace in workspaces),
        database_findings(settings),
        delivery_findings(settings),
    )
    return [*findings, *(finding for some in checks for finding in some), _resolvers(settings)]


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
    sources = f"{settings.file} and the environment" if settings.file else "the environment"
    findings = [Finding(check, GOOD, f"complete, from {sources}")]
    for file in filter(None, (settings.file, *settings.secret_files)):
        if file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            text, fix = (
                f"other users of this machine can read {file}",
                f"If it contains keys: chmod go= {file}",
            )
            findings.append(Finding(check, WARN, text, fix))
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
        tone = WARN if isinstance(fault, Unreadable) else BAD
        finding = Finding(check, tone, f"{fault.endpoint}: {fault.message} {fault.cause}".strip(), fault.hint)
    except TimeoutError:
        fix = f"Check that {workspace.base_url} is the right address and reachable from here."
        finding = Finding(check, BAD, f"no response within {PATIENCE_SECONDS} s", fix)
    return [finding, clock(theirs, now=datetime.now(UTC))] if theirs else [finding]


def clock(theirs: datetime, *, now: datetime) -> Finding:
    """Compare the clocks; the header counts whole seconds."""
    apart = abs((now - theirs).total_seconds())
    if apart < NOTICEABLE_SECONDS:
        return Finding("Clock", GOOD, "matches the service's")
    word = f"{apart:,.0f} s {'ahead of' if now > theirs else 'behind'} the service's"
    fix = "Set this machine's clock, ideally with NTP: Slack's signatures expire after five minutes."
    return Finding("Clock", BAD if apart >= FATAL_SECONDS else WARN, word, fix)


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
    count = len(settings.dns.resolvers) or len(system_resolvers())
    if not settings.dns.enabled:
        return Finding("DNS", GOOD, "domains aren't checked: [dns] enabled = false")
    if count > 1:
        return Finding("DNS resolvers", GOOD, show_number(count, "resolver"))
    found = f"{'one' if count else 'no'} resolver: problems are shown, but never alerted"
    fix = 'Two must confirm a problem. Set [dns] resolvers, such as resolvers = ["9.9.9.9", "1.1.1.1"].'
    return Finding("DNS resolvers", WARN, found, fix)


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
                findings.append(Finding(check, BAD, problem, "Set the key that the bot uses."))
            elif count:
                findings.append(Finding(check, GOOD, f"{count} known"))
            else:
                findings.append(Finding(check, BAD, "none: every delivery is rejected", SUBSCRIBE))
            urls = dict.fromkeys(subscription.url for subscription in subscribed)
            findings += [await _webhook_address(http, url) for url in urls]
    return findings


async def _bot(http: aiohttp.ClientSession, settings: Settings, stored: _Stored) -> list[Finding]:
    """Check that a bot runs, on the database that this shell looks at, and that Slack reaches it."""
    address, check = settings.details_url, "Bot"
    try:
        async with http.get(f"{address}/readyz") as answer:
            status, text = answer.status, await answer.text()
    except (aiohttp.ClientError, TimeoutError):
        if stored.seen and stored.seen.runs:
            seen = f"seen {stored.seen.age:.0f} s ago on {stored.seen.host}, with this database"
            return [Finding(check, GOOD, seen)]
        return [Finding(check, WARN, f"not running at {address}", START_BOT)]
    findings = [Finding(check, GOOD, f"ready at {address}")]
    if status != 200:
        findings = [Finding(check, BAD, f"not ready: {text[:200]}", "See its log.")]
    # Some other program may listen there, and answer with a page.
    try:
        state = as_object(json.loads(text))
    except ValueError:
        return findings
    if theirs := as_text(state.get("instance")):
        fix = "Set the same OUTREACH_DATABASE_URL for both, or OUTREACH_STATE_DIR with SQLite."
        own = f"{stored.instance or 'new'}, {settings.database.render_as_string(hide_password=True)}"
        other = f"{address} uses another ({visible(theirs)}) than this shell ({own})"
        is_same = theirs == stored.instance
        found = Finding("Bot's database", GOOD, "same as this shell's")
        findings.append(found if is_same else Finding("Bot's database", BAD, other, fix))
    connection = as_object(state.get("socket_mode"))
    if connection.get("connected") is False:
        problem, fix = visible(str(connection["trouble"])), "The bot keeps retrying. See its log."
        findings.append(Finding("Slack connection", BAD, problem, fix))
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
    async with open_web_api(settings) as api:
        fix = "Set SLACK_BOT_TOKEN to the app's xoxb-… token."
        token = await _called("Slack token", api.call("auth.test", seconds=PATIENCE_SECONDS), "", fix)
        if token.tone is BAD:
            # With this token, all other checks would fail for the same reason.
            return [token]
        who, where = (visible(str(api.identity.get(name) or "?")) for name in ("user", "team"))
        directory = UserDirectory(api, groups=settings.roles.groups)
        return [
            token._replace(found=f"{who} in {where}"),
            scopes(api.scopes),
            *[await _channel(directory, channel) for channel in sorted(set_channels(settings))],
            *await _socket_mode(settings),
        ]


async def _called(check: str, call: Awaitable[Any], found: str, fix: str) -> Finding:
    """The outcome of a call to Slack as a finding."""
    try:
        await call
    except SlackError as error:
        details = f": {', '.join(error.details)}" if error.details else ""
        return Finding(check, BAD, visible(f"{error}{details}"), fix if error.status else NETWORK)
    return Finding(check, GOOD, found)


def scopes(held: Collection[str]) -> Finding:
    """Check that the token has all scopes of the manifest."""
    check = "Slack scopes"
    if not held:
        return Finding(check, WARN, "Slack didn't list them", "Compare the app's scopes with manifest.yml.")
    missing = sorted({*SCOPES} - {*held})
    if lacks := [f"{scope} ({SCOPES[scope]})" for scope in missing if scope not in SPARE]:
        return Finding(check, BAD, f"missing: {'; '.join(lacks)}", UPDATE)
    if missing:
        effects = "; ".join(f"without {scope} {SPARE[scope]}" for scope in missing)
        return Finding(check, WARN, effects, UPDATE)
    return Finding(check, GOOD, f"all {len(SCOPES)} granted")


async def _channel(directory: UserDirectory, channel: str) -> Finding:
    """A channel of the settings, as the bot looks at it when it starts."""
    check, place = f"Slack channel {channel}", await directory.find_place(channel)
    if place.refusal:
        return Finding(check, BAD, visible(place.refusal.replace(f"<#{channel}>", channel)), place.fix)
    if place.note:
        return Finding(check, WARN, visible(place.note), "Try again.")
    known = await directory.channel(channel)
    name = visible((known and known.name) or channel)
    return Finding(check, GOOD, f"#{name} takes messages")


async def _socket_mode(settings: Settings) -> list[Finding]:
    """Open a connection by the app token; without one, Slack's requests arrive over HTTP."""
    if settings.slack.app_token is None:
        return []
    fix = "SLACK_APP_TOKEN must be an xapp-… token with connections:write. Turn on Socket Mode in the app."
    async with open_web_api(settings, token=settings.slack.app_token) as api:
        opening = api.call("apps.connections.open", seconds=PATIENCE_SECONDS)
        return [await _called("Slack Socket Mode", opening, "a connection can be opened", fix)]
