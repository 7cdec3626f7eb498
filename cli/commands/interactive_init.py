"""The questions of `outreach init --interactive`; each answer is checked with the service, database or Slack.

Answers that fail the check are asked again, or kept if the person wants: Slack may be down, or the database not
created yet.
"""

from __future__ import annotations

import asyncio
import base64
import getpass
import os
import secrets
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

from cli.commands.set_up import slack_address
from cli.commands.webhooks import PATH
from cli.console import exit_codes
from cli.console.interactive import attended
from cli.doctor import run
from shared.domain.card import Tone
from shared.settings import DEFAULT, Settings, SettingsError, load
from shared.settings.declarations import VARIABLES, SettingPath
from shared.text.sanitize import visible

Answers = dict[str, str]
"""The answers by the variable of the setting."""
Check = Callable[[Settings], Coroutine[Any, Any, list[run.Finding]]]

QUESTIONS = {
    "OUTREACH_BASE_URL": "Address of the service, ends in /v1",
    "OUTREACH_API_KEY": "API key, from the account settings",
    "OUTREACH_DATABASE_URL": "Database URL (Enter: SQLite in your state folder)",
    "SLACK_BOT_TOKEN": "Bot token (xoxb-…), from OAuth & Permissions",
    "SLACK_APP_TOKEN": "App-level token (xapp-…) with connections:write",
    "SLACK_SIGNING_SECRET": "Signing secret, from Basic Information",
    "OUTREACH_ALERT_CHANNEL": "Id of the alert channel (C…), at the end of its details",
}
SECRET = ("OUTREACH_API_KEY", "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET")
TAKEN = ("SLACK_API_URL", "OUTREACH_STATE_DIR")
"""The checks need these, and no question asks for them: they are saved with the answers."""


def ask_settings() -> tuple[Mapping[SettingPath, str], str]:
    """Every answer by its place in the file, and the bot's public address."""
    answers = {name: value for name in TAKEN if (value := os.environ.get(name, "").strip())}
    for name, value in answers.items():
        _say(f"From the environment, and saved too: {name} = {visible(value)}")
    _say("The outreach service")
    service = ("OUTREACH_BASE_URL", "OUTREACH_API_KEY")
    _until_good(
        answers, service, lambda settings: run.service_findings(settings, settings.workspaces[DEFAULT])
    )
    _say("The database")
    _until_good(
        answers,
        ("OUTREACH_DATABASE_URL",),
        run.database_findings,
    )
    _say("Slack (for alerts and commands; the shell and the dashboard work without it)")
    public = _ask_address()
    if public:
        answers["OUTREACH_PUBLIC_URL"] = public
        _connect_slack(answers, public)
    return {path: answers[name] for path, name in VARIABLES.items() if answers.get(name)}, public


def _connect_slack(answers: Answers, public: str) -> None:
    socket_mode = not _yes("Can Slack reach that address too? (n: Socket Mode, which needs none)")
    how = "--socket-mode" if socket_mode else f"--url {public}"
    _say(
        f"On api.slack.com/apps create an app from a manifest, and paste the output of: outreach manifest {how}"
    )
    way_in = "SLACK_APP_TOKEN" if socket_mode else "SLACK_SIGNING_SECRET"
    _until_good(answers, ("SLACK_BOT_TOKEN", way_in, "OUTREACH_ALERT_CHANNEL"), run.slack_findings)
    answers["OUTREACH_SECRET_KEY"] = base64.b64encode(secrets.token_bytes(32)).decode()


def next_steps(public: str) -> Sequence[str]:
    if not public:
        return ("It contains a key. Keep it private.", "Next:", "  outreach status", "  outreach dashboard")
    return (
        "It contains keys. Keep it private and keep a copy: without it, the secrets in the database can't be read.",
        "Next:",
        "  outreach bot",
        f"  outreach webhooks create --url {public}{PATH}",
        "  outreach doctor",
    )


def _ask_address() -> str:
    """The bot's public address; empty where Slack is left out for now."""
    while address := _read("Public https address of the bot (Enter: without Slack)"):
        try:
            return slack_address(address).partition("/slack/")[0]
        except exit_codes.WrongUsage as refusal:
            _say(f"  {refusal}")
    return ""


def _until_good(answers: Answers, names: Sequence[str], check: Check) -> None:
    """Ask, check and show what was found, until nothing is wrong or the person keeps it."""
    while True:
        for name in names:
            answers[name] = _ask(name, before=answers.get(name, ""))
        try:
            # Only what was answered: a file in the working folder would fill the gaps.
            settings = load(config=Path(os.devnull), environ=answers)
        except SettingsError as refusal:
            _say(str(refusal))
            continue
        findings = asyncio.run(check(settings))
        for finding in findings:
            fix = f" {finding.fix}" if finding.fix else ""
            _say(visible(f"  {run.WORDS[finding.tone]}: {finding.check}: {finding.found}.{fix}"))
        is_wrong = any(finding.tone is Tone.BAD for finding in findings)
        if not is_wrong or not _yes("Enter these again? (n: keep them)"):
            return


def _ask(name: str, *, before: str) -> str:
    hint = " (Enter: as before)" if before else ""
    while True:
        answer = _read(QUESTIONS[name] + hint, secret=name in SECRET) or before
        if answer or name == "OUTREACH_DATABASE_URL":
            return answer
        _say("  A value is required.")


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
        sys.stderr.write(prompt)
        sys.stderr.flush()
        return input().strip()
    except EOFError:
        raise exit_codes.Failed("the input ended early, so nothing was written") from None


def _say(text: str) -> None:
    print(text, file=sys.stderr)
