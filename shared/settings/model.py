"""Every setting, declared once: its type, default, meaning, variable and example.

The loader, its messages, `outreach init` and docs/settings.md are made from these models.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Self

import platformdirs
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
from sqlalchemy.engine import URL

from shared.commands.table import Role
from shared.domain.alert_settings import AlertPolicy, ChannelPolicy, QuietHours, Routing, Rule, SpikeRule
from shared.domain.health import DEFAULT as DEFAULT_THRESHOLDS
from shared.domain.health import Thresholds
from shared.domain.records import Subscription
from shared.domain.recurrence import parse_time
from shared.settings import value_types as of
from shared.storage.database import parse_url, sibling_url
from shared.text.slack_ids import bare

APPLICATION = "outreach-ops"
DEFAULT = "default"


class UnknownWorkspace(Exception):
    """There is no such workspace in the settings."""

    def __init__(self, name: str, *, known: Collection[str]) -> None:
        self.name, self.known = name, tuple(known)
        super().__init__(f"unknown workspace “{name}”; known: {', '.join(self.known)}")


def setting(default: Any, meaning: str = "", *, example: Any = None, variable: str = "", **rest: Any) -> Any:
    """A field with what the documentation says of it; for a table of tables the example is a name."""
    extra: JsonDict = {"variable": variable}
    return Field(default, description=meaning, examples=[example], json_schema_extra=extra, **rest)


class Section(BaseModel):
    """A table of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class WorkspaceSection(Section):
    """`[workspaces.NAME]`, or what stands outside of any table."""

    base_url: of.BaseUrl = setting(
        "",
        "The service's address; it ends in /v1.",
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
        "The signing secret of deliveries; several, separated by commas, during a change of secret. "
        "Not needed when `outreach webhooks create` made the subscription: it stores the secret.",
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
        "Requests per second for the key, shared by every process that uses it. The service allows 10 in any "
        "second; more than 9.5 is not used, because network jitter could push it above 10.",
        variable="OUTREACH_RATE",
        example=9.5,
    )
    fields: Mapping[of.Resource, Mapping[str, str]] = setting(
        {},
        "Where a response has a value, if its format isn't known (a dotted path).",
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


class Workspace(WorkspaceSection):
    """One workspace of the service: where it is, its key, its secrets as far as the settings have them."""

    model_config = ConfigDict(validate_by_name=True)

    name: str
    thresholds: Thresholds = DEFAULT_THRESHOLDS


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
        "When set, Slack is reached by Socket Mode; deliveries still come over HTTP.",
        variable="SLACK_APP_TOKEN",
        example="xapp-your-token",
    )
    config_token: of.Secret | None = setting(
        None,
        "An app configuration token, with which `outreach doctor` has Slack check the manifest. Lives 12 hours.",
        variable="SLACK_CONFIG_TOKEN",
        example="xoxe.xoxp-your-token",
    )
    client_id: Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+$")] | None = setting(
        None,
        "When set, Slack workspaces install the bot by OAuth at /slack/install, and SLACK_BOT_TOKEN is not used. "
        "From Basic Information. Needs OUTREACH_SECRET_KEY, which encrypts the tokens.",
        variable="SLACK_CLIENT_ID",
        example="1234567890.1234567890",
    )
    client_secret: of.Secret | None = setting(
        None,
        "The app's client secret, from Basic Information.",
        variable="SLACK_CLIENT_SECRET",
        example="your-secret",
    )
    api_url: of.WebAddress | None = setting(
        None,
        "The Web API's base. Default: Slack's.",
        variable="SLACK_API_URL",
        example="https://slack.com/api/",
    )


class ThresholdsSection(Section):
    """`[thresholds]`."""

    healthy: of.Percent = setting(DEFAULT_THRESHOLDS.healthy, example=80)
    bad: of.Percent = setting(DEFAULT_THRESHOLDS.bad, example=60)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.bad > self.healthy:
            raise of.wrong("has bad above healthy.", "Let bad be the lower of the two.")
        return self


class DashboardSection(Section):
    """`[dashboard]`. The dashboard reads it leniently while it starts; what is wrong is reported a moment later."""

    theme: of.Theme = setting(of.THEMES[0], example="night")
    read_only: StrictBool = setting(default=False, example=False)
    ascii: StrictBool = setting(default=False, example=False)
    jitter: Annotated[float, Field(ge=0, le=0.5)] = setting(0.1, example=0.1)
    refresh_at: of.TimeOfDay = setting("", example="04:00")
    alarm_command: str = setting("", example="notify-send")
    intervals: Mapping[of.Source, of.Seconds] = setting({}, example={"sequences": 30, "inboxes": 120})
    keys: Mapping[str, str] = setting({}, example={"faults": "x", "page.hours": "z"})


class RuleSection(Section):
    """`[[routes.rules]]`."""

    channel: of.Channel = setting(..., example="C0123456789")
    events: Annotated[tuple[of.EventName, ...], Field(min_length=1)] = setting(
        ..., example=["reply.interested"]
    )
    sequence: str = setting("", example="Q3 founders")
    inbox: str = setting("", example="mail.example.com")
    condensed: bool = setting(default=False, example=False)
    mention: of.Mention = setting("", example="U0123456789")
    workspace: str = ""

    def rules(self, number: int) -> list[Rule]:
        """One rule per event; `number` is its place in the file, from 1."""
        about = self.model_dump(include={"channel", "sequence", "inbox", "condensed"})
        return [
            Rule(
                subscription=Subscription(event=event, **about),
                mention=self.mention,
                workspace=self.workspace,
                place=f"[[routes.rules]] no. {number}",
            )
            for event in self.events
        ]


class ChannelSection(Section):
    """`[routes.channels.ID]`; what is not set is as in `[routes]`."""

    mention: of.Mention | None = setting(None, example="S0123456789")
    quiet: of.Hours | None = setting(None, example="18:00-09:00")
    timezone: of.Zone | None = setting(None, example="America/New_York")


class RoutesSection(Section):
    """`[routes]`."""

    fallback: of.Channel | None = setting(None, example="C0123456789")
    mention: of.Mention = setting("", example="S0123456789")
    quiet: of.Hours | None = setting(None, example="20:00-08:00")
    timezone: of.Zone = setting("UTC", example="Europe/Berlin")
    rules: tuple[RuleSection, ...] = ()
    channels: dict[of.Channel, ChannelSection] = setting(
        {},
        "Overrides for one channel: whom alerts mention, the quiet hours (or off) and their time zone.",
        example="C0123456789",
    )

    def channel_policy(self, own: ChannelSection) -> ChannelPolicy:
        mention = self.mention if own.mention is None else own.mention
        hours = self.quiet if own.quiet is None else own.quiet
        return ChannelPolicy(mention=mention, quiet=_quiet(hours, zone=own.timezone or self.timezone))


def _quiet(hours: str | None, *, zone: str) -> QuietHours | None:
    start, _, end = (parse_time(part.strip()) for part in (hours or "").partition("-"))
    return None if start is None or end is None else QuietHours(start=start, end=end, zone=zone)


class AlertsSection(Section):
    """`[alerts]`."""

    remind_after: of.Duration = setting(timedelta(minutes=5), example="5m")
    escalate_after: of.Duration = setting(timedelta(minutes=15), example="15m")
    escalate_to: of.Channel | None = setting(None, example="C0123456789")
    escalate_mention: of.Mention = setting("", example="here")
    unfinished_after: of.Duration = setting(timedelta(hours=4), example="4h")
    spike_count: Annotated[int, Field(ge=2, le=100_000)] = setting(10, example=10)
    spike_window: of.Duration = setting(timedelta(hours=1), example="1h")
    spike_percent: of.Percent = setting(5, example=5)


class LinksSection(Section):
    """`[links]`."""

    lead: of.LeadPage = setting("", example="https://crm.example.com/contacts?q={email}")


class ReportSection(Section):
    """`[report]`."""

    name: str = setting("", example="Example Agency")
    colour: of.Colour = setting("", example="#2563eb")
    logo: of.File | None = setting(None, example="/etc/outreach/logo.svg")
    folder: of.Folder | None = setting(None, example="/var/www/reports")
    url: of.WebAddress | None = setting(None, example="https://reports.example.com/")


class Roles(Section):
    """`[roles]`: ids of users (U…, W…) and user groups (S…), or `members`."""

    admin: frozenset[of.Who] | None = setting(None, example=["U0123456789"])
    """None: the admins of the Slack workspace."""
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
        return frozenset(one for one in named if re.fullmatch(r"S[A-Z0-9]{2,20}", bare(one)))


class GuardrailSection(Section):
    """`[[guardrails]]`."""

    name: of.GuardrailName = setting(..., example="bounces-5")
    rule: of.GuardrailRule = setting(
        ..., example="pause sequence for 4h when bounces > 5% of at least 50 sends in 24h"
    )
    workspace: str = setting("", example="acme")


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
        "budget, history, logs and the checkpoints of imports. Default: your state folder. Give the bot and "
        "your shell the same, where they run as different users.",
        alias="state_dir",
        variable="OUTREACH_STATE_DIR",
        example="/var/lib/outreach",
    )
    secret_keys: of.Secrets = setting(
        (),
        "Encrypts the webhook secrets and Slack's tokens in the database; the same for all processes that share it. Make one with "
        "`openssl rand -base64 32`. Several, separated by commas, during a change: the first encrypts, all decrypt.",
        alias="secret_key",
        variable="OUTREACH_SECRET_KEY",
        example="your-key",
    )
    host: Annotated[str, Field(min_length=1)] = setting(
        "127.0.0.1", "The address on which the bot listens.", variable="OUTREACH_HOST", example="127.0.0.1"
    )
    port: Annotated[int, Field(ge=0, le=65535)] = setting(
        3000, "The port on which the bot listens; 0 picks a free one.", variable="OUTREACH_PORT", example=3000
    )
    poll_seconds: Annotated[float, Field(ge=0.1, le=86_400)] = setting(
        30, "The dashboard's base interval, in seconds.", variable="OUTREACH_POLL_SECONDS", example=30
    )
    log_level: of.Level = setting(
        "INFO", "DEBUG, INFO, WARNING, ERROR or CRITICAL.", variable="OUTREACH_LOG_LEVEL", example="INFO"
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
        "Several workspaces: a table each; `@acme` picks one in a command.",
        alias="workspaces",
        example="acme",
    )
    thresholds: ThresholdsSection = setting(
        ThresholdsSection(), "The health score from which an inbox is healthy, and below which it is bad."
    )
    dashboard_section: DashboardSection = setting(
        DashboardSection(),
        "The terminal dashboard. Its keys are those of docs/dashboard.md; a page's own begin with “page.”.",
        alias="dashboard",
    )
    routes_section: RoutesSection = setting(
        RoutesSection(),
        "Where alerts go besides the alert channel. A mention is the id of a user (U…) or a group (S…), here, or none.",
        alias="routes",
    )
    alerts: AlertsSection = setting(
        AlertsSection(),
        "How long an interested reply may wait to be claimed and then to be marked done (off: nobody is reminded), "
        "and how many bounces or opt-outs at once are a spike.",
    )
    links: LinksSection = setting(
        LinksSection(),
        "Where a lead's page is in another program; {email} stands for the address. It gives alerts and leads a "
        "button “Open in CRM”.",
    )
    guardrail_sections: tuple[GuardrailSection, ...] = setting(
        (),
        "Rules that tell, suggest or pause, in the words of docs/guardrails.md. They hold for every workspace, "
        "or for one, and replace a shipped rule of the same name.",
        alias="guardrails",
    )
    report: ReportSection = setting(
        ReportSection(),
        "The page of `outreach report`: the agency's name, its colour, and its logo (a PNG or SVG file of at most "
        "256 KiB). With folder and url, `report` in Slack writes the page into the folder, and links to it under the url.",
    )
    roles: Roles = setting(Roles(), "Roles in Slack: ids of users (U…) and user groups (S…), or members.")
    _file: Path | None = PrivateAttr(None)

    @field_validator("workspace_sections")
    @classmethod
    def _distinct(cls, sections: dict[str, WorkspaceSection]) -> dict[str, WorkspaceSection]:
        if len({name.casefold() for name in sections}) < len(sections):
            raise of.wrong("holds names that differ only in case.", "Rename one of these workspaces.")
        return sections

    def model_post_init(self, context: Any) -> None:
        """Remember the file that the settings came from, handed in as the context of validation."""
        self._file = context

    @property
    def file(self) -> Path | None:
        return self._file

    @cached_property
    def workspaces(self) -> Mapping[str, Workspace]:
        sections = dict(self.workspace_sections)
        if not sections or DEFAULT in sections or "api_key" in self.given:
            sections = {DEFAULT: sections.pop(DEFAULT, WorkspaceSection()), **sections}
        return {name: self._workspace(name, section) for name, section in sections.items()}

    def _workspace(self, name: str, section: WorkspaceSection) -> Workspace:
        """A workspace's own keys, under what is set outside of any table for it, or for all."""
        top, own = self.given, section.given
        inherited = {key: top[key] for key in ("base_url", "rate") if key in top}
        thresholds = Thresholds(healthy=self.thresholds.healthy, bad=self.thresholds.bad)
        values = own | top if name == DEFAULT else inherited | own
        values["fields"] = {**self.fields, **section.fields}
        return Workspace(name=name, thresholds=thresholds, **values)

    @property
    def default_workspace(self) -> str:
        return self.own_name(self.chosen_workspace or next(iter(self.workspaces)))

    def own_name(self, name: str) -> str:
        """A workspace's name as its table spells it; a name that is no workspace's stays as it is."""
        return next((known for known in self.workspaces if known.casefold() == name.casefold()), name)

    def workspace(self, name: str | None = None) -> Workspace:
        """The named workspace (case ignored), or the default; raises `UnknownWorkspace`."""
        found = self.workspaces.get(self.own_name(name) if name else self.default_workspace)
        if found is None:
            raise UnknownWorkspace(name or "", known=self.workspaces)
        return found

    @cached_property
    def declared_workspaces(self) -> frozenset[str]:
        """The names of all, also where only some are shown."""
        return frozenset(self.workspaces)

    def only(self, names: Collection[str]) -> Self:
        """The same settings, with these of the workspaces alone; at least one must be there."""
        kept = {name: one for name, one in self.workspaces.items() if name in names}
        default = self.default_workspace
        chosen = default if default in kept else next(iter(kept))
        limited = self.model_copy(update={"chosen_workspace": chosen})
        vars(limited).update(workspaces=kept, declared_workspaces=self.declared_workspaces)
        return limited

    @cached_property
    def database(self) -> URL:
        return parse_url(self.database_url or f"sqlite:///{self._own_folder / 'outreach.db'}")

    @property
    def _own_folder(self) -> Path:
        return self.state_folder or user_state_folder()

    @property
    def state_dir(self) -> Path:
        """Where the program's other files are: where it is set, beside a SQLite file, or in the user's state folder."""
        path = self.database.database
        is_file = self.database.get_backend_name() == "sqlite" and path and path != ":memory:"
        if path and is_file and self.database_url and self.state_folder is None:
            return Path(path).resolve().parent
        return self._own_folder

    @property
    def budget_database(self) -> URL:
        if self.database.get_backend_name() != "sqlite":
            return self.database
        return URL.create("sqlite", database=str(self._own_folder / "budget.db"))

    @property
    def history_database(self) -> URL:
        return sibling_url(self.database, "history")

    @cached_property
    def routes(self) -> Routing:
        section = self.routes_section
        rules = [rule for n, one in enumerate(section.rules, 1) for rule in one.rules(n)]
        return Routing(
            fallback=section.fallback,
            mention=section.mention,
            quiet=_quiet(section.quiet, zone=section.timezone),
            zone=section.timezone,
            rules=tuple(replace(rule, workspace=self.own_name(rule.workspace)) for rule in rules),
            channels={name: section.channel_policy(own) for name, own in section.channels.items()},
        )

    @cached_property
    def alert_policy(self) -> AlertPolicy:
        alerts = self.alerts
        spike = SpikeRule(
            count=alerts.spike_count,
            window=alerts.spike_window or SpikeRule().window,
            share=alerts.spike_percent / 100,
        )
        return AlertPolicy(
            remind_after=alerts.remind_after,
            escalate_after=alerts.escalate_after,
            escalate_to=alerts.escalate_to,
            escalate_mention=alerts.escalate_mention,
            unfinished_after=alerts.unfinished_after,
            spike=spike,
        )

    def guardrails(self, workspace: str) -> Mapping[str, str]:
        """The sentences of a workspace's rules by their names."""
        meant = (
            one
            for one in self.guardrail_sections
            if not one.workspace or self.own_name(one.workspace) == workspace
        )
        return {one.name: one.rule for one in meant}

    @cached_property
    def dashboard(self) -> Mapping[str, Any]:
        """What `[dashboard]` sets, and nothing else."""
        return self.dashboard_section.model_dump(exclude_unset=True)


def user_state_folder() -> Path:
    return Path(platformdirs.user_state_dir(APPLICATION, appauthor=False))
