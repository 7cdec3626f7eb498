"""The settings' names and the file that may hold them: one table, read by the loader, `outreach init` and the faults.

Kept apart from `settings` so that what a setting is called, means and defaults to is said once (contract, section 3).
"""

from __future__ import annotations

import difflib
import os
import textwrap
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

APPLICATION = "outreach-ops"
FILE_NAME = "outreach.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting: its key in the file, its variable in the environment, what it means."""

    key: str
    variable: str
    meaning: str
    example: str
    default: str = ""
    table: str = ""

    @property
    def name(self) -> str:
        """The key that is unique among all: `slack_bot_token`."""
        return f"{self.table}_{self.key}" if self.table else self.key


SETTINGS = (
    Setting(
        key="base_url",
        variable="OUTREACH_BASE_URL",
        meaning="The service's address; it ends in /v1.",
        example="https://api.example.com/v1",
    ),
    Setting(
        key="api_key",
        variable="OUTREACH_API_KEY",
        meaning="The bearer key of one workspace, from the account settings.",
        example="the key",
    ),
    Setting(
        key="webhook_secret",
        variable="OUTREACH_WEBHOOK_SECRET",
        meaning="The signing secret of deliveries; several, separated by commas, during a change of secret. "
        "Not needed when `outreach webhooks create` made the subscription: it stores the secret.",
        example="the secret",
    ),
    Setting(
        key="alert_channel",
        variable="OUTREACH_ALERT_CHANNEL",
        meaning="The id of the Slack channel for alerts (the channel's details show it at the end).",
        example="C0123456789",
    ),
    Setting(
        key="rate",
        variable="OUTREACH_RATE",
        meaning="Requests per second for the key, shared by every process that uses it. The service allows 10 in any second; beyond 9.5 it goes no faster, because uneven travel would make them 11.",
        example="9.5",
        default="9.5",
    ),
    Setting(
        key="database_url",
        variable="OUTREACH_DATABASE_URL",
        meaning="sqlite:///PATH, or postgresql://USER@HOST/NAME for several bot processes.",
        example="sqlite:////var/lib/outreach/outreach.db",
        default="SQLite in your state folder",
    ),
    Setting(
        key="host",
        variable="OUTREACH_HOST",
        meaning="The address on which the bot listens.",
        example="127.0.0.1",
        default="127.0.0.1",
    ),
    Setting(
        key="port",
        variable="OUTREACH_PORT",
        meaning="The port on which the bot listens; 0 takes a free one.",
        example="3000",
        default="3000",
    ),
    Setting(
        key="poll_seconds",
        variable="OUTREACH_POLL_SECONDS",
        meaning="The dashboard's base interval, in seconds.",
        example="30",
        default="30",
    ),
    Setting(
        key="log_level",
        variable="OUTREACH_LOG_LEVEL",
        meaning="DEBUG, INFO, WARNING, ERROR or CRITICAL.",
        example="INFO",
        default="INFO",
    ),
    Setting(
        key="default_workspace",
        variable="OUTREACH_WORKSPACE",
        meaning="The workspace that a command without @NAME means, where there are several.",
        example="acme",
    ),
    Setting(
        table="slack",
        key="bot_token",
        variable="SLACK_BOT_TOKEN",
        meaning="The bot's token, from OAuth & Permissions.",
        example="xoxb-…",
    ),
    Setting(
        table="slack",
        key="signing_secret",
        variable="SLACK_SIGNING_SECRET",
        meaning="The app's signing secret, from Basic Information.",
        example="the secret",
    ),
    Setting(
        table="slack",
        key="app_token",
        variable="SLACK_APP_TOKEN",
        meaning="When set, Slack is reached by Socket Mode; deliveries still come over HTTP.",
        example="xapp-…",
    ),
    Setting(
        table="slack",
        key="api_url",
        variable="SLACK_API_URL",
        meaning="The Web API's base.",
        example="https://slack.com/api/",
        default="Slack's",
    ),
)
BY_NAME: Mapping[str, Setting] = {setting.name: setting for setting in SETTINGS}
SECTIONS = ("slack", "workspaces", "fields", "routes", "alerts", "roles", "thresholds", "dashboard")
WORKSPACE_KEYS = ("base_url", "api_key", "webhook_secret", "alert_channel", "rate", "fields")
KEYS_OF: Mapping[str, tuple[str, ...]] = {
    "workspaces": WORKSPACE_KEYS,
    "thresholds": ("healthy", "bad"),
    "fields": ("sequence", "inbox", "stats", "lead"),
    "roles": ("admin", "operator", "commands", "channels"),
    "routes": ("fallback", "mention", "quiet", "timezone", "rules", "channels"),
    "alerts": (
        "remind_after",
        "escalate_after",
        "escalate_to",
        "escalate_mention",
        "spike_count",
        "spike_window",
        "spike_percent",
    ),
    "dashboard": (
        "theme",
        "read_only",
        "ascii",
        "jitter",
        "refresh_at",
        "alarm_command",
        "intervals",
        "keys",
    ),
    "dashboard.intervals": (
        "sequences",
        "interested",
        "inboxes",
        "today",
        "previous",
        "sequence",
        "inbox",
        "step",
        "variant",
    ),
}


class FileUnreadable(Exception):
    """The configuration file cannot be read."""


def find_file(config: Path | None, *, environ: Mapping[str, str]) -> tuple[Path | None, str]:
    """The file to read and what named it ("" where it was merely found); contract, section 3."""
    if config is not None:
        return config, "--config"
    if named := environ.get("OUTREACH_CONFIG", "").strip():
        return Path(named).expanduser(), "OUTREACH_CONFIG"
    places = (Path(), Path(platformdirs.user_config_dir(APPLICATION, appauthor=False)))
    return next((place / FILE_NAME for place in places if (place / FILE_NAME).is_file()), None), ""


def read_file(path: Path) -> dict[str, Any]:
    """The file's settings, flat, by `Setting.name`; raises `FileUnreadable` saying where it is no TOML."""
    try:
        document = tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise FileUnreadable(f"{path} cannot be read: {error.strerror or 'no such file'}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        # A TOML error tells line and column, never the line's text, which may be a secret.
        raise FileUnreadable(f"{path} is no valid TOML: {error}") from None
    return _flatten(document)


def _flatten(document: Mapping[str, Any]) -> dict[str, Any]:
    flat = {key.lower().removeprefix("outreach_"): value for key, value in document.items()}
    slack = flat.pop("slack", {})
    if not isinstance(slack, dict):
        return flat | {"slack": slack}
    return flat | {f"slack_{key.lower()}": value for key, value in slack.items()}


def read_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables that are set and not blank, by `Setting.name`."""
    return {
        setting.name: environ[setting.variable]
        for setting in SETTINGS
        if environ.get(setting.variable, "").strip()
    }


def nearest(word: str, known: Collection[str]) -> str | None:
    """The known word that `word` was probably meant to be."""
    return next(iter(difflib.get_close_matches(word.lower(), known, n=1)), None)


def commented_template() -> str:
    """An `outreach.toml` with every setting, its meaning and its default, all commented out."""
    top = [_commented(setting) for setting in SETTINGS if not setting.table]
    slack = [_commented(setting) for setting in SETTINGS if setting.table == "slack"]
    return "\n".join([_HEAD, *top, "[slack]\n", *slack, _TAIL])


def _commented(setting: Setting) -> str:
    default = f" Default: {setting.default}." if setting.default else ""
    plain = setting.key in {"rate", "port", "poll_seconds"}
    value = setting.example if plain else f'"{setting.example}"'
    told = textwrap.wrap(f"{setting.meaning}{default} ({setting.variable})", 96)
    return "".join(f"# {line}\n" for line in (*told, f"{setting.key} = {value}"))


_HEAD = """\
# Settings of outreach-ops. A variable of the environment wins over its line here.
# Keep this file private (chmod 600) when it holds keys.
"""

_TAIL = """\
# Several workspaces: a table each; `@acme` picks one in a command.
# [workspaces.acme]
# base_url = "https://api.example.com/v1"
# api_key = "the key"
# webhook_secret = "the secret"
# alert_channel = "C0123456789"
# rate = 9.5

# Where a response keeps a value, when its shape is none of those known (a dotted path).
# [fields.sequence]
# steps = "cadence.step_count"
# [fields.inbox]
# health_score = "metrics.health.value"

# From which health score an inbox is healthy, and below which it is bad.
# [thresholds]
# healthy = 80
# bad = 60

# The terminal dashboard. Keys by the names on the page docs/dashboard.md; a page's own begin with "page.".
# [dashboard]
# theme = "night"
# read_only = false
# ascii = false
# jitter = 0.1
# refresh_at = "04:00"
# alarm_command = "notify-send"
# [dashboard.intervals]
# sequences = 30
# inboxes = 120
# [dashboard.keys]
# faults = "x"
# "page.hours" = "z"

# Where alerts go beside the alert channel. A mention is the id of a user (U…) or a group (S…), here, or none.
# [routes]
# fallback = "C0123456789"
# mention = "S0123456789"
# quiet = "20:00-08:00"
# timezone = "Europe/Berlin"
# [[routes.rules]]
# channel = "C0123456789"
# events = ["reply.interested"]
# sequence = "Q3 founders"
# inbox = "mail.example.com"
# condensed = false
# mention = "U0123456789"
# What is otherwise in a channel: who is called, when there is quiet (or off), and where that clock is.
# [routes.channels.C0123456789]
# mention = "S0123456789"
# quiet = "18:00-09:00"
# timezone = "America/New_York"

# How long an interested reply may wait, and how many bounces or opt-outs at once are told of.
# [alerts]
# remind_after = "5m"
# escalate_after = "15m"
# escalate_to = "C0123456789"
# escalate_mention = "here"
# spike_count = 10
# spike_window = "1h"
# spike_percent = 5
"""
