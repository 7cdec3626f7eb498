"""What each setting may be, for pydantic, and its refusals in words.

Kept apart from `settings` so that nothing else of the program meets pydantic's models.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from shared.settings import config_table
from shared.settings.alerts_section import Channel, GivenAlerts, GivenRoutes, wrong
from shared.settings.dashboard_section import GivenDashboard
from shared.settings.roles_section import GivenRoles
from shared.storage.database import DatabaseUnusable, parse_url

PLAIN_WORDS = {
    "int_parsing": "is no whole number.",
    "float_parsing": "is no number.",
    "string_type": "is no text; put it into quotes.",
    "dict_type": "is no table.",
}
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


def _base_url(text: str) -> str:
    url = _web_address(text).rstrip("/")
    if not url.endswith("/v1"):
        raise wrong("does not end in /v1.", "Add the version: https://HOST/v1")
    return url


def _web_address(text: str) -> str:
    try:
        parts = urlsplit(text.strip())
        plausible = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        plausible = False
    if not plausible or re.search(r"\s", text.strip()):
        raise wrong("is no web address.", "Write it in full: https://HOST/…")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise wrong("carries more than an address.", "Leave out any user, password, query or fragment.")
    return text.strip()


def _secret(value: SecretStr) -> SecretStr:
    text = value.get_secret_value()
    if not text.isascii() or not text.isprintable() or " " in text or not text:
        raise wrong("holds a space, a line break or a strange character.", "Copy it again, without any.")
    return value


def _secrets(value: Any) -> Any:
    return (
        tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value
    )


def _level(text: str) -> str:
    if text.upper() not in LEVELS:
        raise wrong("is no log level.", f"Use one of {', '.join(LEVELS)}.")
    return text.upper()


def _database(text: str) -> str:
    try:
        parse_url(text)
    except DatabaseUnusable:
        cure = "Write sqlite:///PATH or postgresql://USER@HOST/NAME"
        raise wrong("is no database address.", cure) from None
    return text


def _names(tables: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in tables:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name):
            raise wrong("holds a name that @NAME cannot say.", "Use letters, digits, dot, dash, underscore.")
    if len({name.casefold() for name in tables}) < len(tables):
        raise wrong("holds names that differ only in case.", "Rename one of these workspaces.")
    return tables


BaseUrl = Annotated[str, AfterValidator(_base_url)]
Secret = Annotated[SecretStr, AfterValidator(_secret)]
Secrets = Annotated[tuple[Secret, ...], NoDecode, BeforeValidator(_secrets)]
Rate = Annotated[float, Field(gt=0, le=10)]
Fields = Mapping[Literal["sequence", "inbox", "stats", "lead"], Mapping[str, str]]


class GivenWorkspace(BaseModel):
    """One `[workspaces.NAME]` table, or what stands outside of any."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    base_url: BaseUrl | None = None
    api_key: Secret | None = None
    webhook_secret: Secrets = ()
    alert_channel: Channel | None = None
    rate: Rate | None = None
    fields: Fields = {}

    def overlaid(self, top: Self) -> Self:
        """This table under what `top` sets: the environment wins."""
        return self.model_copy(
            update={key: value for key in type(top).model_fields if (value := getattr(top, key))}
        )


class GivenThresholds(BaseModel):
    """The `[thresholds]` of health."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    healthy: Annotated[float, Field(ge=0, le=100)] = 80
    bad: Annotated[float, Field(ge=0, le=100)] = 60

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.bad > self.healthy:
            raise wrong("says bad above healthy.", "Let bad be the lower of the two.")
        return self


class Given(BaseSettings):
    """Every setting as it was given, environment over file."""

    model_config = SettingsConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    base_url: BaseUrl | None = None
    api_key: Secret | None = None
    webhook_secret: Secrets = ()
    alert_channel: Channel | None = None
    rate: Rate | None = None
    fields: Fields = {}
    workspaces: Annotated[dict[str, GivenWorkspace], AfterValidator(_names)] = {}
    default_workspace: str | None = None
    database_url: Annotated[str, AfterValidator(_database)] | None = None
    host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 3000
    poll_seconds: Annotated[float, Field(ge=0.1, le=86_400)] = 30.0
    log_level: Annotated[str, AfterValidator(_level)] = "INFO"
    slack_bot_token: Secret | None = None
    slack_signing_secret: Secret | None = None
    slack_app_token: Secret | None = None
    slack_api_url: Annotated[str, AfterValidator(_web_address)] | None = None
    routes: GivenRoutes = GivenRoutes()
    alerts: GivenAlerts = GivenAlerts()
    roles: GivenRoles = GivenRoles()
    thresholds: GivenThresholds = GivenThresholds()
    dashboard: GivenDashboard = GivenDashboard()

    @classmethod
    def of(cls, *, environment: Mapping[str, str], file: dict[str, Any]) -> Self:
        """Validate both; raises pydantic's `ValidationError`, which `explain` puts into words."""
        return cls(environment=environment, file=file)  # type: ignore[call-arg] # read by the sources below

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 # pydantic-settings hands in all four
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 # likewise
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment that was handed in (not necessarily this process's), then the file."""
        assert isinstance(init_settings, InitSettingsSource)
        assert isinstance(env_settings, EnvSettingsSource)
        env_settings.env_vars = init_settings.init_kwargs["environment"]
        return env_settings, InitSettingsSource(settings_cls, init_settings.init_kwargs["file"])


def explain(error: ValidationError, *, environment: Collection[str]) -> list[dict[str, str]]:
    """Name, problem and cure of each refusal; never the value that was given."""
    return [_explain(details, environment=environment) for details in error.errors(include_input=False)]


def _explain(details: ErrorDetails, *, environment: Collection[str]) -> dict[str, str]:
    place = tuple(str(part) for part in details["loc"] if part != "[key]")
    name = _name_of(place, environment=environment)
    if details["type"] in {"extra_forbidden", "literal_error"}:
        return {"name": name, "problem": "is not a setting.", "cure": _suggestion(place)}
    context = details.get("ctx", {})
    told = PLAIN_WORDS.get(details["type"], f"is refused: {details['msg'][0].lower()}{details['msg'][1:]}.")
    problem = context.get("problem") or told
    setting = config_table.BY_NAME.get(place[0])
    return {
        "name": name,
        "problem": problem,
        "cure": context.get("cure") or (setting.meaning if setting else "Mend it."),
    }


def _name_of(place: tuple[str, ...], *, environment: Collection[str]) -> str:
    setting = config_table.BY_NAME.get(place[0])
    if setting and place[0] in environment:
        return setting.variable
    *tables, key = _as_in_file(place)
    where = f"[{'.'.join(tables)}] {key}" if tables else key
    return f"{setting.variable} ({where} in the file)" if setting else f"{where} (in the file)"


def _as_in_file(place: tuple[str, ...]) -> tuple[str, ...]:
    table, _, key = place[0].partition("_")
    return (table, key, *place[1:]) if table == "slack" and key else place


def _suggestion(place: tuple[str, ...]) -> str:
    *tables, key = _as_in_file(place)
    known: Collection[str] = [setting.key for setting in config_table.SETTINGS if setting.table in tables]
    if not tables:
        known = [
            *(setting.key for setting in config_table.SETTINGS if not setting.table),
            *config_table.SECTIONS,
        ]
    elif section := next(
        (name for name in (".".join(tables), tables[0]) if name in config_table.KEYS_OF), ""
    ):
        known = config_table.KEYS_OF[section]
    near = config_table.nearest(key, known)
    return f"Did you mean {near}?" if near else f"Known here: {', '.join(known)}."
