"""`outreach init`, `manifest` and `--version`. Each imports what it needs, since the bot's parts take a second.

`init --interactive` checks each answer with the service, the database or Slack. One that fails is asked again, or kept
if the person wants: Slack may be down, or the database not created yet.
"""

from __future__ import annotations

import asyncio
import base64
import getpass
import json
import os
import secrets
import sys
from argparse import Namespace
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cli.console.exit_codes import Failed, WrongUsage
from cli.console.interactive import attended, must_be_free
from cli.console.resources import log_to_stderr
from shared.settings import DEFAULT, Settings, SettingsError, load
from shared.settings.sections import VARIABLES, SettingPath
from shared.settings.template import NOTHING, commented_template
from shared.storage.files import make_private_folder, replacing
from shared.text.sanitize import visible

if TYPE_CHECKING:
    from cli.doctor import Finding

Answers = dict[str, str]
"""The answers by the variable of the setting."""
Check = Callable[[Settings], Coroutine[Any, Any, "list[Finding]"]]

DATABASE = "OUTREACH_DATABASE_URL"
QUESTIONS = {
    "OUTREACH_BASE_URL": "Address of the service, ends in /v1",
    "OUTREACH_API_KEY": "API key, from the account settings",
    DATABASE: "Database URL (Enter: SQLite in your state folder)",
    "SLACK_BOT_TOKEN": "Bot token (xoxb-…), from OAuth & Permissions",
    "SLACK_APP_TOKEN": "App-level token (xapp-…) with connections:write",
    "SLACK_SIGNING_SECRET": "Signing secret, from Basic Information",
    "OUTREACH_ALERT_CHANNEL": "Id of the alert channel (C…), at the end of its details",
}
SECRET = ("OUTREACH_API_KEY", "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET")
TAKEN = ("SLACK_API_URL", "OUTREACH_STATE_DIR")
"""The checks need these, and no question asks for them: they are saved with the answers."""


def init(options: Namespace) -> None:
    """Write the file; one that is there is overwritten only with `--yes`."""
    path: Path = options.file
    must_be_free(path, overwrite=options.yes, option="--yes")
    values: Mapping[SettingPath, str] = NOTHING
    steps: Sequence[str] = ["Fill in the base URL and the key, then try: outreach doctor"]
    if options.interactive:
        values, steps = _ask_settings()
    make_private_folder(path.parent)
    with replacing(path) as fresh:
        fresh.write_text(commented_template(values), encoding="utf-8")
    _say("\n".join([f"Wrote {path}.", *steps]))


def manifest(options: Namespace) -> None:
    """Print it for the bot's public address (by default the one in the settings), or for Socket Mode."""
    from bot.slack.manifest import ADDRESS, render
    from bot.slack.manifest import manifest as as_data

    socket_mode = options.socket_mode
    url = options.url or (None if socket_mode else load(config=options.config).public_url)
    if bool(url) == socket_mode:
        raise WrongUsage(
            "name the bot's public address with --url or OUTREACH_PUBLIC_URL, or --socket-mode, which needs none"
        )
    address = _slack_address(url) if url else ""
    if options.json:  # as `.slack/hooks.json` hands it to Slack's own command line
        print(json.dumps(as_data(address or ADDRESS, socket_mode=socket_mode), ensure_ascii=False))
    else:
        sys.stdout.write(render(address, socket_mode=socket_mode))


def version() -> str:
    """The version, the commit and the database schema in a line."""
    from shared.api.version import VERSION
    from shared.build import read_commit
    from shared.store.db.migrate import HEAD

    return f"outreach {VERSION} (commit {read_commit() or 'unknown'}, schema {HEAD})"


def _slack_address(url: str) -> str:
    """The address to which Slack sends requests; raises `WrongUsage` unless `url` is an https address."""
    from bot.http.asgi import SLACK

    parts = urlsplit(url.strip())
    if parts.scheme != "https" or not parts.hostname or parts.query or parts.fragment:
        raise WrongUsage(f"“{url}” isn't an address Slack can use. Use one like https://bot.example.com.")
    return url.strip().rstrip("/").removesuffix(SLACK) + SLACK


def _ask_settings() -> tuple[Mapping[SettingPath, str], Sequence[str]]:
    """Every answer by its place in the file, and what to do next."""
    from cli import doctor

    log_to_stderr()
    answers = {name: value for name in TAKEN if (value := os.environ.get(name, "").strip())}
    for name, value in answers.items():
        _say(f"From the environment, and saved too: {name} = {visible(value)}")
    _say("The outreach service")
    _until_good(
        answers,
        ("OUTREACH_BASE_URL", "OUTREACH_API_KEY"),
        lambda settings: doctor.service_findings(settings, settings.workspaces[DEFAULT]),
    )
    _say("The database")
    _until_good(answers, (DATABASE,), doctor.database_findings)
    _say("Slack (for alerts and commands; the shell and the dashboard work without it)")
    steps = ["It contains a key. Keep it private.", "Next:", "  outreach status", "  outreach dashboard"]
    if public := _ask_address():
        answers["OUTREACH_PUBLIC_URL"] = public
        socket_mode = not _yes("Can Slack reach that address too? (n: Socket Mode, which needs none)")
        how = "--socket-mode" if socket_mode else f"--url {public}"
        _say(
            f"On api.slack.com/apps create an app from a manifest, and paste the output of: outreach manifest {how}"
        )
        way_in = "SLACK_APP_TOKEN" if socket_mode else "SLACK_SIGNING_SECRET"
        names = ("SLACK_BOT_TOKEN", way_in, "OUTREACH_ALERT_CHANNEL")
        _until_good(answers, names, doctor.slack_findings)
        answers["OUTREACH_SECRET_KEY"] = base64.b64encode(secrets.token_bytes(32)).decode()
        steps = [
            "It contains keys. Keep it private and keep a copy: without it, the secrets in the database can't be read.",
            "Next:",
            "  outreach bot",
            f"  outreach webhooks create --url {public}/webhooks/outreach",
            "  outreach doctor",
        ]
    return {path: answers[name] for path, name in VARIABLES.items() if answers.get(name)}, steps


def _ask_address() -> str:
    """The bot's public address; empty where Slack is left out for now."""
    while address := _read("Public https address of the bot (Enter: without Slack)"):
        try:
            return _slack_address(address).partition("/slack/")[0]
        except WrongUsage as refusal:
            _say(f"  {refusal}")
    return ""


def _until_good(answers: Answers, names: Sequence[str], check: Check) -> None:
    """Ask, check and show what was found, until nothing is wrong or the person keeps it."""
    from cli.doctor import BAD

    while True:
        for name in names:
            settings = _ask(name, answers)
        findings = asyncio.run(check(settings))
        for finding in findings:
            _say(visible(f"  {finding.check}: {finding.text}"))
        if not any(finding.status == BAD for finding in findings):
            return
        if not _yes("Enter these again? (n: keep them)"):
            return


def _ask(name: str, answers: Answers) -> Settings:
    """Ask until the answer is one that the setting takes; gives the settings of all answers so far."""
    before = answers.get(name, "")
    hint = " (Enter: as before)" if before else ""
    while True:
        answer = _read(QUESTIONS[name] + hint, secret=name in SECRET) or before
        if not answer and name != DATABASE:
            _say("  A value is required.")
            continue
        try:
            # Only what was answered: a file in the working folder would fill the gaps.
            settings = load(config=Path(os.devnull), environ={**answers, name: answer})
        except SettingsError as refusal:
            for problem in refusal.problems:
                _say(f"  That {problem.problem} {problem.fix}")
        else:
            answers[name] = answer
            return settings


def _yes(question: str) -> bool:
    return not _read(f"{question} [Y/n]").lower().startswith("n")


def _read(question: str, *, secret: bool = False) -> str:
    """A line; a secret is not shown while it is typed. Raises `Failed` at the end of the input."""
    prompt = f"{question}: "
    try:
        # `getpass` reads the terminal itself, past a pipe from which a script gives the answers.
        if secret and attended():
            return getpass.getpass(prompt).strip()
        # `input` would write its prompt to stdout.
        print(prompt, end="", file=sys.stderr, flush=True)
        return input().strip()
    except EOFError:
        raise Failed("the input ended early, so nothing was written") from None


def _say(text: str) -> None:
    print(text, file=sys.stderr)
