"""The settings model, and values derived from it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    Field,
    PrivateAttr,
    field_validator,
)

from shared.domain.health import Thresholds
from shared.settings import value_types as of
from shared.settings.sections import (
    AlertPolicy,
    DashboardSection,
    DnsSection,
    GuardrailSection,
    LinksSection,
    RetentionSection,
    Roles,
    Routing,
    SlackSettings,
    Workspace,
    WorkspaceSection,
    setting,
    workspace_tables,
)
from shared.storage.config_file import sibling_file, sqlite_file, user_state_folder

if TYPE_CHECKING:
    from sqlalchemy.engine import URL


class UnknownWorkspace(Exception):
    """This workspace isn't in the settings."""

    def __init__(self, name: str, *, known: Collection[str]) -> None:
        self.name, self.known = name, tuple(known)
        super().__init__(
            f"No outreach workspace is named “{name}”. Outreach workspaces: {', '.join(self.known)}."
        )


class Settings(WorkspaceSection):
    """Everything that can be set, and what the program makes of it. Keys outside of any table set `default`."""

    database_url: of.DatabaseUrl | None = setting(
        None,
        "sqlite:///PATH, or postgresql://USER@HOST/NAME for several bot processes. "
        "Default: SQLite in your state folder.",
        variable="OUTREACH_DATABASE_URL",
        example="sqlite:////var/lib/outreach/outreach.db",
        repr=False,
    )
    state_folder: of.Folder | None = setting(
        None,
        "The folder of all local files: the database (unless OUTREACH_DATABASE_URL names another), the request "
        "budget, history, logs and the checkpoints of imports. Default: your state folder. Use the same "
        "folder for the bot and your shell if they run as different users.",
        alias="state_dir",
        variable="OUTREACH_STATE_DIR",
        example="/var/lib/outreach",
    )
    secret_keys: of.SecretKeys = setting(
        (),
        "Encrypts the webhook secrets in the database. Use the same one for all processes that share the database. Create one with "
        "`openssl rand -base64 32`. Several, separated by commas, during a rotation: the first encrypts, all decrypt.",
        alias="secret_key",
        variable="OUTREACH_SECRET_KEY",
        example="your-key-of-32-random-bytes",
    )
    host: Annotated[str, Field(min_length=1)] = setting(
        "127.0.0.1", "The address on which the bot listens.", variable="OUTREACH_HOST"
    )
    port: Annotated[int, Field(ge=0, le=65535)] = setting(
        3000, "The port on which the bot listens. 0 picks a free one.", variable="OUTREACH_PORT"
    )
    public_url: of.PublicUrl | None = setting(
        None,
        "The bot's address from outside, for the “Claim & reply” button and the manifest.",
        variable="OUTREACH_PUBLIC_URL",
        example="https://bot.example.com",
    )
    metrics_listen: of.HostPort | None = setting(
        None,
        "A separate address for /metrics and the detailed /readyz, which name workspaces and channels. /readyz on the "
        "bot's port then only says whether it is ready. Default: both on the bot's port.",
        variable="OUTREACH_METRICS_LISTEN",
        example="127.0.0.1:3001",
    )
    poll_seconds: Annotated[float, Field(ge=0.1, le=86_400)] = setting(
        30, "How often the dashboard polls, in seconds.", variable="OUTREACH_POLL_SECONDS"
    )
    log_level: of.Level = setting(
        "INFO", "DEBUG, INFO, WARNING, ERROR or CRITICAL.", variable="OUTREACH_LOG_LEVEL"
    )
    chosen_workspace: str | None = setting(
        None,
        "The workspace of commands without @NAME, if there are several.",
        alias="default_workspace",
        variable="OUTREACH_WORKSPACE",
        example="acme",
    )
    slack: SlackSettings = SlackSettings()
    workspace_sections: dict[of.WorkspaceName, WorkspaceSection] = setting(
        {},
        "Several workspaces: one table each. `@acme` selects one in a command.",
        alias="workspaces",
        example="acme",
    )
    thresholds: Thresholds = setting(
        Thresholds(),
        "The health score from which an inbox counts as healthy, and below which it counts as bad.",
    )
    dashboard: DashboardSection = setting(
        DashboardSection(),
        "The terminal dashboard. Key names are listed in docs/dashboard.md. Those of the page of replies start with “replies.”.",
    )
    routes: Routing = setting(
        Routing(),
        "Where alerts go besides the alert channel. A mention is the id of a user (U…) or a group (S…), here, or none.",
    )
    alerts: AlertPolicy = setting(
        AlertPolicy(),
        "When to remind about an interested reply that isn't claimed, or isn't marked done (off: never).",
    )
    retention: RetentionSection = setting(
        RetentionSection(),
        "For how many days the bot keeps what leads wrote (texts), and addresses, claims and the audit log (records). "
        "A repeated delivery is recognized as long as its record is kept.",
    )
    links: LinksSection = setting(
        LinksSection(),
        "The URL of a lead in your CRM, with {email} in place of the address. Adds an “Open in CRM” button to "
        "alerts and leads.",
    )
    guardrail_sections: tuple[GuardrailSection, ...] = setting(
        (),
        "Rules that notify, suggest a pause, or pause (see docs/guardrails.md). They apply to all workspaces, or to one, "
        "and replace a built-in rule of the same name.",
        alias="guardrails",
    )
    dns: DnsSection = setting(
        DnsSection(), "The checks of the sending domains' DNS (see docs/guardrails.md)."
    )
    roles: Roles = setting(Roles(), "Roles in Slack: ids of users (U…) and user groups (S…), or members.")
    _files: tuple[Path, ...] = PrivateAttr(())

    @field_validator("workspace_sections")
    @classmethod
    def _distinct(cls, sections: dict[str, WorkspaceSection]) -> dict[str, WorkspaceSection]:
        if len({name.casefold() for name in sections}) < len(sections):
            raise of.wrong("has names that differ only in case.", "Rename one of these workspaces.")
        return sections

    def model_post_init(self, context: Any) -> None:
        """Remember the files that the settings came from, handed in as the context of validation."""
        self._files = context or ()

    @property
    def files(self) -> tuple[Path, ...]:
        """The settings file, and those that secrets were read from."""
        return self._files

    @cached_property
    def workspaces(self) -> Mapping[str, Workspace]:
        own = {name: section.given for name, section in self.workspace_sections.items()}
        tables = workspace_tables(self.given, own)
        return {name: self._workspace(name, values) for name, values in tables.items()}

    def _workspace(self, name: str, values: dict[str, Any]) -> Workspace:
        """A workspace by its keys; its `fields` lie over those of all, key by key."""
        own = self.workspace_sections[name].fields if name in self.workspace_sections else {}
        values["fields"] = {
            resource: {**self.fields.get(resource, {}), **own.get(resource, {})}
            for resource in (*self.fields, *own)
        }
        return Workspace(name=name, thresholds=self.thresholds, **values)

    @property
    def default_workspace(self) -> str:
        return self.own_name(self.chosen_workspace or next(iter(self.workspaces)))

    def own_name(self, name: str) -> str:
        """A workspace's name as its table spells it; an unknown name stays as it is."""
        return next((own for own in self.workspaces if own.casefold() == name.casefold()), name)

    def has_workspace(self, name: str) -> bool:
        return self.own_name(name) in self.workspaces

    def workspace(self, name: str | None = None) -> Workspace:
        """The named workspace (case ignored), or the default; raises `UnknownWorkspace`."""
        place = self.workspaces.get(self.own_name(name) if name else self.default_workspace)
        if place is None:
            raise UnknownWorkspace(name or "", known=self.workspaces)
        return place

    @property
    def _database_address(self) -> str:
        return self.database_url or f"sqlite:///{self._own_folder / 'outreach.db'}"

    @cached_property
    def database(self) -> URL:
        from shared.storage.database import parse_url  # late: a first screen waits for no SQLAlchemy

        return parse_url(self._database_address)

    @property
    def database_file(self) -> Path | None:
        """The database's file; None for PostgreSQL, and in memory."""
        return sqlite_file(self._database_address)

    @property
    def _own_folder(self) -> Path:
        return self.state_folder or user_state_folder()

    @property
    def state_dir(self) -> Path:
        """The folder of the program's other files: as set, beside a SQLite file, or the user's state folder."""
        file = self.database_file
        if file and self.database_url and self.state_folder is None:
            return file.resolve().parent
        return self._own_folder

    @property
    def details_address(self) -> tuple[str, int] | None:
        """The address of /metrics and the detailed /readyz; None: they are on the bot's port."""
        address = of.parse_host_port(self.metrics_listen or "")
        return address if address != (self.host, self.port) else None

    @property
    def details_url(self) -> str:
        host, port = self.details_address or (self.host, self.port)
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @property
    def budget_database(self) -> URL:
        if self.database.get_backend_name() != "sqlite":
            return self.database
        return self.database.set(database=str(self._own_folder / "budget.db"), query={})

    @property
    def history_database(self) -> URL:
        file = self.history_file
        return self.database.set(database=str(file)) if file else self.database

    @property
    def history_file(self) -> Path | None:
        """The file of the history beside the database's; PostgreSQL has it in the same database."""
        return sibling_file(self.database_file, "history") if self.database_file else None

    def guardrails(self, workspace: str) -> Mapping[str, str]:
        """The sentences of a workspace's rules by their names."""
        meant = (
            section
            for section in self.guardrail_sections
            if not section.workspace or self.own_name(section.workspace) == workspace
        )
        return {section.name: section.rule for section in meant}
