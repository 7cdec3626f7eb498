"""The settings, each key declared once: its type, default, meaning, variable and example; and what is derived from them.

The loader, its messages and `outreach init` are made from these models.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    SecretStr,
    StrictBool,
    field_validator,
    model_validator,
)
from pydantic.config import JsonDict
from pydantic.fields import FieldInfo

from shared.domain.health import Thresholds
from shared.domain.roles import Role
from shared.domain.wall_clock import QuietHours, moment, parse_time
from shared.records import Subscription
from shared.settings import value_types as of
from shared.storage.files import sibling_file, sqlite_file, user_state_folder

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

ROTA = "routes"
"""The name of `[routes.rota]`, beside those of channels."""


def setting(default: Any, meaning: str = "", *, example: Any = None, variable: str = "", **rest: Any) -> Any:
    """A field with what the documentation says of it; for a table of tables the example is a name.

    A default is its own example, unless another is given.
    """
    extra: JsonDict = {"variable": variable}
    return Field(default, description=meaning, examples=[example], json_schema_extra=extra, **rest)


DEFAULT = "default"
"""The workspace of what is set outside of any table."""


class Section(BaseModel):
    """A table of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class WorkspaceSection(Section):
    """`[workspaces.NAME]`, or what stands outside of any table."""

    base_url: of.BaseUrl = setting(
        "",
        "The service's URL, which ends in /v1.",
        variable="OUTREACH_BASE_URL",
        example="https://api.example.com/v1",
    )
    api_key: of.Secret = setting(
        SecretStr(""),
        "The API key of one workspace, from the account settings.",
        variable="OUTREACH_API_KEY",
        example="your-key",
    )
    webhook_secrets: of.Secrets = setting(
        (),
        "The signing secret of deliveries, or several, separated by commas, during a rotation. "
        "Not needed after `outreach webhooks create`, which stores the secret.",
        alias="webhook_secret",
        variable="OUTREACH_WEBHOOK_SECRET",
        example="your-secret",
    )
    alert_channel: of.Channel | None = setting(
        None,
        "The id of the Slack channel for alerts (the channel's details show it at the end).",
        variable="OUTREACH_ALERT_CHANNEL",
        example="C0123456789",
    )
    rate: of.Rate = setting(
        9.5,
        "Requests per second for the key, shared by every process of the state folder (or of the PostgreSQL database) "
        "that uses it. The service allows 10 in any second. This program uses at most 9.5, because network jitter "
        "could push it above 10.",
        variable="OUTREACH_RATE",
    )
    fields: of.FieldPaths = setting(
        {},
        "Dotted paths to values in responses, if their format isn't known.",
        example={
            "sequence": {"steps": "cadence.step_count"},
            "inbox": {"health_score": "metrics.health.value"},
        },
    )

    @property
    def given(self) -> dict[str, Any]:
        """The keys of a workspace that were set."""
        named = self.model_fields_set & WorkspaceSection.model_fields.keys()
        return {name: value for name in named if (value := getattr(self, name))}


def workspace_tables(
    top: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """The keys of each workspace: its own, and what is set outside of any table for it or for all."""
    named = dict(tables)
    # A key outside of any table is a workspace of its own, beside those with tables.
    if not named or DEFAULT in named or top.get("api_key"):
        named = {DEFAULT: named.pop(DEFAULT, {}), **named}
    for_all = {key: top[key] for key in ("base_url", "rate") if key in top}
    return {name: {**own, **top} if name == DEFAULT else {**for_all, **own} for name, own in named.items()}


class Workspace(WorkspaceSection):
    """One workspace of the service: where it is, its key, its secrets as far as the settings have them."""

    model_config = ConfigDict(validate_by_name=True)

    name: str
    thresholds: Thresholds = Thresholds()


class SlackSettings(Section):
    """`[slack]`: HTTP with a signing secret, or Socket Mode when there is an app token."""

    bot_token: of.Secret | None = setting(
        None,
        "The bot's token, from OAuth & Permissions.",
        variable="SLACK_BOT_TOKEN",
        example="xoxb-your-token",
    )
    signing_secret: of.Secret | None = setting(
        None,
        "The app's signing secret, from Basic Information.",
        variable="SLACK_SIGNING_SECRET",
        example="your-secret",
    )
    app_token: of.Secret | None = setting(
        None,
        "When set, the bot uses Socket Mode for Slack. Deliveries still arrive over HTTP.",
        variable="SLACK_APP_TOKEN",
        example="xapp-your-token",
    )
    api_url: of.WebAddress | None = setting(
        None,
        "The Web API's base. Default: Slack's.",
        variable="SLACK_API_URL",
        example="https://slack.com/api/",
    )


class WebSection(Section):
    """`[dashboard.web]`."""

    hosts: tuple[str, ...] = setting(
        (),
        "Names under which browsers reach the dashboard through a proxy.",
        example=["dash.example.com"],
    )


class DashboardSection(Section):
    """`[dashboard]`."""

    theme: of.Theme = setting(of.THEMES[0], example="night")
    read_only: StrictBool = False
    ascii: StrictBool = False
    jitter: Annotated[float, Field(ge=0, le=0.5)] = 0.1
    alarm_command: str = setting("", example="notify-send")
    slack_user: of.User | None = setting(
        None,
        "Your id in Slack. You claim replies on the dashboard's page of replies "
        "in this name, with the permissions that it has in Slack. Default: the page is read-only.",
        example="U0123456789",
    )
    notifications: of.Notifications = setting("off", example="osc9")
    intervals: Mapping[of.Source, of.Seconds] = setting({}, example={"sequences": 30, "inboxes": 120})
    keys: Mapping[str, str] = setting({}, example={"filter": "x", "replies.claim": "C"})
    web: WebSection = setting(WebSection(), "The dashboard in browsers.")


class RouteRule(Section):
    """`[[routes.rules]]`: subscriptions of a channel that are kept in the file."""

    channel: of.Channel = setting(..., example="C0123456789")
    events: Annotated[tuple[of.EventName, ...], Field(min_length=1)] = setting(
        ..., example=["reply.interested"]
    )
    sequence: str = setting("", example="Q3 founders")
    inbox: str = setting("", example="mail.example.com")
    condensed: bool = False
    mention: of.Mention = setting("", example="U0123456789")
    workspace: str = ""
    """Empty: every workspace."""

    @property
    def subscriptions(self) -> tuple[Subscription, ...]:
        about = self.model_dump(include={"channel", "sequence", "inbox", "condensed"})
        return tuple(Subscription(event=event, **about) for event in self.events)

    def concerns(self, workspace: str) -> bool:
        return self.workspace.casefold() in {"", workspace.casefold()}


class Rota(Section):
    """`[routes.rota]`, and `[routes.channels.ID.rota]`: people who take turns with interested replies."""

    people: Annotated[tuple[of.User, ...], Field(min_length=1, max_length=50)] = setting(
        ...,
        "Who takes turns with interested replies, in this order (ids of users).",
        example=["U0123456789", "U0987654321"],
    )
    pass_after: of.Duration = setting(
        "10m", "When an unclaimed reply passes to the next person (off: never)."
    )
    _name: str = PrivateAttr(ROTA)

    @property
    def name(self) -> str:
        """`routes`, or the id of the channel that has a rota of its own: turns are counted by it."""
        return self._name


class ChannelPolicy(Section):
    """`[routes.channels.ID]`: whom alerts mention in a channel, its quiet hours, and whose turn a reply is."""

    mention: of.Mention = setting("", example="S0123456789")
    quiet: of.Hours | None = setting(None, example="20:00-08:00")
    timezone: of.Zone = setting("UTC", example="Europe/Berlin")
    broadcast: bool = setting(
        False,
        "Whether escalations, ended snoozes, recoveries and repeated pauses, which are posted in the thread of a card, are shown in the channel too.",
        example=True,
    )
    rota: Rota | None = setting(
        None,
        "Whose turn an interested reply is: its card mentions one person, and passes on while nobody claims it.",
    )

    @property
    def quiet_hours(self) -> QuietHours | None:
        start, _, end = (parse_time(part.strip()) for part in (self.quiet or "").partition("-"))
        return None if start is None or end is None else QuietHours(start=start, end=end, zone=self.timezone)

    def quiet_until(self, now: float) -> float | None:
        """The end of the quiet hours that `now` falls into, in Unix seconds; None outside of them."""
        hours = self.quiet_hours
        ends = hours.ends_after(moment(now)) if hours else None
        return None if ends is None else ends.timestamp()


class Routing(ChannelPolicy):
    """`[routes]`: where alerts go besides the alert channel, and the policy of each channel."""

    fallback: of.Channel | None = setting(None, example="C0123456789")
    rules: tuple[RouteRule, ...] = ()
    channels: dict[of.Channel, ChannelPolicy] = setting(
        {},
        "Overrides for one channel: whom alerts mention, the quiet hours (or off) and their time zone, and a rota of its own, with the same keys.",
        example="C0123456789",
    )

    def model_post_init(self, _context: Any) -> None:
        """Let each channel's own rota know its name."""
        for name, own in self.channels.items():
            if own.rota:
                own.rota._name = name  # noqa: SLF001 # it stands in the key, not in its table

    def channel_policy(self, channel: str) -> ChannelPolicy:
        """The policy of a channel; what it doesn't set is as in `[routes]`."""
        own = self.channels.get(channel)
        if own is None:
            return self
        # What the file has for this channel counts, also where it is the default.
        usual = ChannelPolicy.model_fields.keys() - own.model_fields_set
        return own.model_copy(update={name: getattr(self, name) for name in usual})

    @property
    def rotas(self) -> Mapping[str, Rota]:
        """All of them by name."""
        every = (self.rota, *(own.rota for own in self.channels.values()))
        return {rota.name: rota for rota in every if rota}


class AlertPolicy(Section):
    """`[alerts]`: how long an interested reply may wait."""

    remind_after: of.Duration = setting("5m")
    escalate_after: of.Duration = setting("15m")
    escalate_to: of.Channel | None = setting(None, example="C0123456789")
    """Another channel to post to; None: the thread, shown in the channel too."""
    escalate_mention: of.Mention = setting("", example="here")
    unfinished_after: of.Duration = setting("4h")
    """The claimer is reminded so long after the claim."""


class RetentionSection(Section):
    """`[retention]`."""

    texts_days: Annotated[int, Field(ge=1, le=3650)] = 30
    records_days: Annotated[int, Field(ge=7, le=3650)] = 90

    @model_validator(mode="after")
    def _texts_go_first(self) -> Self:
        if self.texts_days > self.records_days:
            raise ValueError(
                "texts_days must not exceed records_days: a record without its text comes after the text."
            )
        return self


class LinksSection(Section):
    """`[links]`."""

    lead: of.LeadPage = setting("", example="https://crm.example.com/contacts?q={email}")


class DnsSection(Section):
    """`[dns]`: the checks of the sending domains."""

    enabled: bool = setting(
        True,
        "Whether the DNS of the sending domains is checked. No query has anything in it but a domain's name.",
        variable="OUTREACH_DNS_ENABLED",
    )
    resolvers: of.Resolvers = setting(
        (),
        "The resolvers to ask, as addresses with an optional port. Only what two of them confirm is alerted. "
        "Default: the system's.",
        variable="OUTREACH_DNS_RESOLVERS",
        example=["9.9.9.9", "[2620:fe::fe]:53"],
    )
    every: of.Duration = setting(
        "6h",
        "How often a domain is checked. It is also checked when its health falls, and when it is paused.",
    )
    per_second: Annotated[float, Field(gt=0, le=50)] = setting(
        4, "Questions in a second, at most, over all domains and processes."
    )
    selectors: tuple[of.Selector, ...] = setting(
        (), "Selectors of your DKIM keys, besides those of the big senders.", example=["s2026"]
    )

    @model_validator(mode="after")
    def _not_too_often(self) -> Self:
        if self.every is None or not timedelta(minutes=1) <= self.every <= timedelta(days=7):
            raise of.wrong("has an interval that is not between 1 minute and 7 days.", 'Set every = "6h".')
        return self


class Roles(Section):
    """`[roles]`: ids of users (U…, W…) and user groups (S…), or `members`."""

    admin: frozenset[of.Who] | None = setting(None, example=["U0123456789"])
    """The admins; None means those of the Slack workspace."""
    operator: frozenset[of.Who] = setting(frozenset({of.MEMBERS}), example=["members"])
    outsiders: frozenset[of.Channel] = setting(
        frozenset(),
        "Channels where people from other organizations can view the channel's own workspace. Default: none.",
        example=["C0123456789"],
    )
    commands: dict[of.CommandName, frozenset[of.RoleOrWho]] = setting(
        {}, "Who can run a command, instead of everyone with its role.", example={"pause": ["S0123456789"]}
    )
    channels: dict[of.Channel, Role | frozenset[of.CommandName]] = setting(
        {},
        "The most that can be changed in a channel: what a role can do, or exactly these commands.",
        example={"C0123456789": "operator", "C0987654321": ["claim", "pause"]},
    )

    @property
    def groups(self) -> frozenset[str]:
        named = (self.admin or frozenset()) | self.operator | frozenset().union(*self.commands.values())
        return frozenset(who for who in named if re.fullmatch(r"S[A-Z0-9]{2,20}", who))


class GuardrailSection(Section):
    """`[[guardrails]]`."""

    name: of.GuardrailName = setting(..., example="bounces-5")
    rule: of.GuardrailRule = setting(
        ..., example="pause sequence for 4h when bounces > 5% of at least 50 sends in 24h"
    )
    workspace: str = setting("", example="acme")


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


# -- the declarations, by the path of each setting in the file

SettingPath = tuple[str, ...]


def in_file(path: Sequence[str | int]) -> str:
    """The setting as a person finds it in the file: `port`, `[dns] every`, `[[routes.rules]] no. 2 events`."""
    places = list(path)
    while len(places) > 1 and isinstance(places[-1], int):  # an element of a list is said with its key
        places.pop()
    *tables, key = map(str, places)
    for place, number in enumerate(places):
        if isinstance(number, int):
            return f"[[{'.'.join(tables[:place])}]] no. {number + 1} {'.'.join([*tables[place + 1 :], key])}"
    return f"[{'.'.join(tables)}] {key}" if tables else key


def keys_of(model: type[Any]) -> dict[str, FieldInfo]:
    """The keys that the file may have in a table; a table is a model of pydantic's, or a dataclass that it validates."""
    return {field.alias or name: field for name, field in model.__pydantic_fields__.items()}


def table_model(annotation: Any) -> type[Any] | None:
    """The model of a table, of a table of tables or of an array of tables."""
    if isinstance(annotation, type) and hasattr(annotation, "__pydantic_fields__"):
        return annotation
    return next((model for part in get_args(annotation) if (model := table_model(part))), None)


def _declared(model: type[Any], *tables: str) -> Iterator[tuple[SettingPath, FieldInfo]]:
    for key, field in keys_of(model).items():
        yield (*tables, key), field
        if inner := table_model(field.annotation):
            yield from _declared(inner, *tables, key)


def _variable(field: FieldInfo) -> str:
    extra = field.json_schema_extra
    return str(extra.get("variable", "")) if isinstance(extra, dict) else ""


def _contains_secret(annotation: Any) -> bool:
    return annotation is SecretStr or any(map(_contains_secret, get_args(annotation)))


FIELDS: Mapping[SettingPath, FieldInfo] = dict(_declared(Settings))
VARIABLES: Mapping[SettingPath, str] = {
    path: variable
    for path, field in FIELDS.items()
    if path[0] != "workspaces" and (variable := _variable(field))
}
SECRETS: frozenset[SettingPath] = frozenset(
    path for path, field in FIELDS.items() if not field.repr or _contains_secret(field.annotation)
)
"""No text may show these: secrets, and an address that may have a password in it. A file of their own may hold them.

Those below `workspaces` are of each workspace.
"""
