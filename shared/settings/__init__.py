"""Typed settings from the environment and `outreach.toml`; refused with every fault at once (contract, section 3).

Secrets are `SecretStr` from the first moment, and no message repeats a value that was given.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import platformdirs
from pydantic import SecretStr, ValidationError
from sqlalchemy.engine import URL

from shared.domain.alert_settings import AlertPolicy, Routing
from shared.domain.health import DEFAULT as DEFAULT_THRESHOLDS
from shared.domain.health import Thresholds
from shared.settings import config_table
from shared.settings.config_table import BY_NAME, commented_template
from shared.settings.model import Given, GivenWorkspace, explain
from shared.settings.roles_section import Roles
from shared.storage.database import beside, parse_url

__all__ = [
    "Fault",
    "Need",
    "Settings",
    "SettingsError",
    "SlackSettings",
    "UnknownWorkspace",
    "Workspace",
    "commented_template",
    "load",
]

DEFAULT = "default"


class Need(StrEnum):
    """What a command cannot do without."""

    API = "api"
    SLACK = "slack"
    ALERTS = "alerts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is wrong with one setting, and what mends it."""

    name: str
    problem: str
    cure: str


class SettingsError(Exception):
    """Some settings are missing or wrong."""

    def __init__(self, faults: Collection[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__(str(self))

    def __str__(self) -> str:
        head = "1 setting needs" if len(self.faults) == 1 else f"{len(self.faults)} settings need"
        lines = (f"  {fault.name} {fault.problem}\n      {fault.cure}" for fault in self.faults)
        return "\n".join([f"{head} attention:", *lines])


class UnknownWorkspace(Exception):
    """There is no such workspace in the settings."""

    def __init__(self, name: str, *, known: Collection[str]) -> None:
        self.name, self.known = name, tuple(known)
        super().__init__(f"there is no workspace “{name}”; known: {', '.join(self.known)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """One workspace of the service: where it is, its key, its secrets as far as the settings hold them."""

    name: str
    base_url: str
    api_key: SecretStr
    webhook_secrets: tuple[SecretStr, ...] = ()
    alert_channel: str | None = None
    rate: float = 9.5
    fields: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    thresholds: Thresholds = DEFAULT_THRESHOLDS


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackSettings:
    """How Slack is reached: HTTP with a signing secret, or Socket Mode when there is an app token."""

    bot_token: SecretStr | None = None
    signing_secret: SecretStr | None = None
    app_token: SecretStr | None = None
    api_url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that was set; the sections at the end are as the file has them."""

    file: Path | None
    host: str
    port: int
    database: URL
    state_dir: Path
    poll_seconds: float
    log_level: str
    slack: SlackSettings
    workspaces: Mapping[str, Workspace]
    default_workspace: str
    routes: Routing
    alert_policy: AlertPolicy
    roles: Roles
    dashboard: Mapping[str, Any]

    @property
    def budget_database(self) -> URL:
        if self.database.get_backend_name() != "sqlite":
            return self.database
        return URL.create("sqlite", database=str(_own_state() / "budget.db"))

    @property
    def history_database(self) -> URL:
        return beside(self.database, "history")

    def workspace(self, name: str | None = None) -> Workspace:
        """The named workspace (case ignored), or the default; raises `UnknownWorkspace`."""
        wanted = (name or self.default_workspace).casefold()
        for known, workspace in self.workspaces.items():
            if known.casefold() == wanted:
                return workspace
        raise UnknownWorkspace(name or "", known=self.workspaces)


def load(
    *,
    config: Path | None = None,
    needs: Collection[Need] = (),
    environ: Mapping[str, str] = os.environ,
) -> Settings:
    """Read environment and file; raises `SettingsError` with every fault at once."""
    faults: list[Fault] = []
    file, in_file = _read_file(config, environ=environ, faults=faults)
    in_environment = config_table.read_environment(environ)
    faults += _missing(in_file | in_environment, needs=needs)
    given: Given | None = None
    try:
        given = Given.of(environment=in_environment, file=in_file)
    except ValidationError as error:
        faults += [Fault(**told) for told in explain(error, environment=in_environment)]
    if faults or given is None:
        raise SettingsError(faults)
    return _settle(given, file=file)


def _read_file(
    config: Path | None, *, environ: Mapping[str, str], faults: list[Fault]
) -> tuple[Path | None, dict[str, Any]]:
    file, named_by = config_table.find_file(config, environ=environ)
    if file is None:
        return None, {}
    try:
        return file, config_table.read_file(file)
    except config_table.FileUnreadable as error:
        cure = "Mend the file, or name another; `outreach init` writes a fresh one."
        faults.append(Fault(name=named_by or str(file), problem=f"names a file in vain: {error}", cure=cure))
        return file, {}


def _missing(given: Mapping[str, Any], *, needs: Collection[Need]) -> list[Fault]:
    faults = [_absent(name) for name in _needed_slack(given, needs=needs) if not given.get(name)]
    per_workspace = [key for need, keys in _WORKSPACE_NEEDS.items() if need in needs for key in keys]
    for workspace, table in _tables(given).items():
        inherited = table if workspace == DEFAULT else {"base_url": given.get("base_url"), **table}
        absent = [key for key in per_workspace if not inherited.get(key)]
        faults += [_absent(key, workspace=workspace if "workspaces" in given else None) for key in absent]
    return faults


_WORKSPACE_NEEDS = {Need.API: ("base_url", "api_key"), Need.ALERTS: ("alert_channel",)}


def _needed_slack(given: Mapping[str, Any], *, needs: Collection[Need]) -> tuple[str, ...]:
    if Need.SLACK not in needs:
        return ()
    socket_mode = bool(given.get("slack_app_token"))
    return ("slack_bot_token",) if socket_mode else ("slack_bot_token", "slack_signing_secret")


def _tables(given: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Every workspace's own keys; the settings outside of any table are those of `default`."""
    named = given.get("workspaces")
    pairs = named.items() if isinstance(named, dict) else ()
    tables: dict[str, Mapping[str, Any]] = {name: keys for name, keys in pairs if isinstance(keys, dict)}
    if not tables or DEFAULT in tables or given.get("api_key"):
        tables[DEFAULT] = {
            **tables.get(DEFAULT, {}),
            **{key: given[key] for key in config_table.WORKSPACE_KEYS if given.get(key)},
        }
    return tables


def _absent(name: str, *, workspace: str | None = None) -> Fault:
    setting = BY_NAME[name]
    place = f"[{setting.table}] {setting.key}" if setting.table else setting.key
    if workspace not in {None, DEFAULT}:
        place = f"[workspaces.{workspace}] {setting.key}"
    example = "" if setting.example.startswith("the ") else f", e.g. {setting.example}"
    return Fault(
        name=setting.variable if workspace in {None, DEFAULT} else place,
        problem="is missing.",
        cure=f"{setting.meaning} Set it, or {place} in {config_table.FILE_NAME}{example}",
    )


def _settle(given: Given, *, file: Path | None) -> Settings:
    database, state_dir = _places(given.database_url)
    workspaces = _workspaces(given)
    default = given.default_workspace or next(iter(workspaces))
    settings = Settings(
        file=file,
        host=given.host,
        port=given.port,
        database=database,
        state_dir=state_dir,
        poll_seconds=given.poll_seconds,
        log_level=given.log_level,
        slack=SlackSettings(
            bot_token=given.slack_bot_token,
            signing_secret=given.slack_signing_secret,
            app_token=given.slack_app_token,
            api_url=given.slack_api_url,
        ),
        workspaces=workspaces,
        default_workspace=default,
        routes=given.routes.settled(),
        alert_policy=given.alerts.settled(),
        roles=given.roles.settled(),
        dashboard=given.dashboard.settled(),
    )
    return _with_own_names(settings)


def _places(database_url: str | None) -> tuple[URL, Path]:
    """The database and the folder of the program's other files: beside a SQLite file, else the user's own."""
    state = _own_state()
    if database_url is None:
        return parse_url(f"sqlite:///{state / 'outreach.db'}"), state
    url = parse_url(database_url)
    if url.get_backend_name() == "sqlite" and url.database and url.database != ":memory:":
        return url, Path(url.database).resolve().parent
    return url, state


def _own_state() -> Path:
    return Path(platformdirs.user_state_dir(config_table.APPLICATION, appauthor=False))


def _workspaces(given: Given) -> dict[str, Workspace]:
    own = GivenWorkspace(**{key: getattr(given, key) for key in config_table.WORKSPACE_KEYS})
    tables = dict(given.workspaces)
    if not tables or DEFAULT in tables or own.api_key is not None:
        tables = {DEFAULT: tables.pop(DEFAULT, GivenWorkspace()).overlaid(own), **tables}
    return {name: _workspace(name, table, top=given) for name, table in tables.items()}


def _workspace(name: str, table: GivenWorkspace, *, top: Given) -> Workspace:
    return Workspace(
        name=name,
        base_url=table.base_url or top.base_url or "",
        api_key=table.api_key or SecretStr(""),
        webhook_secrets=table.webhook_secret,
        alert_channel=table.alert_channel,
        rate=table.rate or top.rate or 9.5,
        fields={str(key): paths for key, paths in (*top.fields.items(), *table.fields.items())},
        thresholds=Thresholds(healthy=top.thresholds.healthy, bad=top.thresholds.bad),
    )


def _with_own_names(settings: Settings) -> Settings:
    """The same settings, with every workspace spelled as its table is. Raises `SettingsError`."""
    faults: list[Fault] = []

    def own(name: str, *, place: str) -> str:
        try:
            return settings.workspace(name).name
        except UnknownWorkspace as error:
            cure = f"Name one of: {', '.join(error.known)}."
            faults.append(Fault(name=place, problem="names an unknown workspace.", cure=cure))
            return name

    default = own(settings.default_workspace, place="OUTREACH_WORKSPACE")
    rules = [
        replace(rule, workspace=own(rule.workspace, place=f"{rule.place} workspace"))
        if rule.workspace
        else rule
        for rule in settings.routes.rules
    ]
    if faults:
        raise SettingsError(faults)
    return replace(settings, default_workspace=default, routes=replace(settings.routes, rules=rules))
