"""The types of settings: their validation, and how to fix an invalid value."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic_core import PydanticCustomError

from shared.commands.base import ALIASES, COMMANDS
from shared.domain.event_kinds import EVENTS
from shared.domain.roles import Role
from shared.domain.wall_clock import find_zone, parse_time
from shared.guardrails.rule import EXAMPLE, NAME, Misunderstood, parse
from shared.storage.files import sqlite_file
from shared.text.links import EMAIL_FIELD
from shared.text.tokenize import WORKSPACE, parse_duration

MEMBERS = "members"
"""Every full member of the Slack workspace."""
CLAIM = "claim"
"""Claiming, snoozing and handling alerts, which isn't a command of the table."""
LONGEST_PAGE = 1_000
"""Characters; Slack takes links of 3,000, and an address may be quoted to three times its length."""
SHORTEST_KEY = 16
"""Characters: what is encrypted with less is found by trying."""
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


def wrong(problem: str, fix: str) -> PydanticCustomError:
    return PydanticCustomError("setting", "{problem}", {"problem": problem, "fix": fix})


def _check(accepts: Callable[[str], object], problem: str, fix: str) -> AfterValidator:
    def check(text: str) -> str:
        if not accepts(text):
            raise wrong(problem, fix)
        return text

    return AfterValidator(check)


def _fits(pattern: str | re.Pattern[str], problem: str, fix: str) -> AfterValidator:
    return _check(re.compile(pattern).fullmatch, problem, fix)


def _one_of(choices: tuple[str, ...], problem: str) -> AfterValidator:
    return _check(choices.__contains__, problem, f"Use one of {', '.join(choices)}.")


def _parts(text: str, schemes: set[str], problem: str, fix: str) -> SplitResult:
    """The parts of a web address; refused with the problem and the fix where it is none."""
    try:
        parts = urlsplit(text)
        is_plausible = parts.scheme in schemes and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_plausible = False
    # `urlsplit` drops line breaks and tabs before it looks.
    if not is_plausible or re.search(r"\s", text):
        raise wrong(problem, fix)
    return parts


def _web_address(text: str) -> str:
    text = text.strip()
    parts = _parts(text, {"http", "https"}, "is not a web address.", "Write it in full: https://HOST/…")
    # Errors and pages show the address, where a password must not be.
    if parts.username or parts.password or parts.query or parts.fragment:
        raise wrong("contains more than an address.", "Leave out any user, password, query or fragment.")
    return text


def parse_host_port(text: str) -> tuple[str, int] | None:
    """Host and port of `HOST:PORT` or `[IPv6]:PORT`; None for anything else."""
    match = re.fullmatch(r"(?:\[([0-9a-fA-F:.]+)\]|([^\s:\[\]/@]+)):([0-9]{1,5})", text.strip(), re.ASCII)
    if match is None or not 1 <= int(match[3]) <= 65_535:
        return None
    return match[1] or match[2], int(match[3])


def _resolver(text: str) -> str:
    text = text.strip()
    address, port = parse_host_port(text) or (text, 53)
    try:
        is_v6 = ip_address(address).version == 6
    except ValueError:
        fix = "Write 9.9.9.9, 127.0.0.1:5353 or [::1]:5353."
        raise wrong("is not the address of a resolver.", fix) from None
    return f"[{address}]:{port}" if is_v6 else f"{address}:{port}"


def _lead_page(text: str) -> str:
    """An address with `{email}` in it, in the path or the query, where it is quoted."""
    text = text.strip()
    problem, fix = "is not an https address.", "Write it in full: https://crm.example/contacts?q={email}"
    # An address in the place of the host would choose where the link leads.
    if {"@", "{"} & {*_parts(text, {"https"}, problem, fix).netloc}:
        raise wrong(problem, fix)
    if text.count("{") != text.count(EMAIL_FIELD) or EMAIL_FIELD not in text or len(text) > LONGEST_PAGE:
        raise wrong("has no {email}, has another placeholder, or is too long.", "Use only {email}.")
    return text


def _secret(value: SecretStr) -> SecretStr:
    if not re.fullmatch("[!-~]+", value.get_secret_value()):
        raise wrong("contains a space, a line break or an invalid character.", "Copy it again without them.")
    return value


def _secret_keys(keys: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
    """The first one encrypts, so it must not be guessed; the others only read what was encrypted before."""
    if keys and len(keys[0].get_secret_value()) < SHORTEST_KEY:
        problem = f"is shorter than {SHORTEST_KEY} characters, and could be guessed."
        raise wrong(problem, "Create one with `openssl rand -base64 32`.")
    return keys


def _split(value: Any) -> Any:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _is_database(text: str) -> bool:
    if sqlite_file(text):
        return True
    from shared.storage.database import DatabaseUnusable, parse_url  # late: it loads SQLAlchemy

    try:
        parse_url(text)
    except DatabaseUnusable:
        return False
    return True


def _duration(value: Any) -> Any:
    if value in {"off", "never", None}:
        return None
    span = parse_duration(value) if isinstance(value, str) else value
    if not isinstance(span, timedelta):
        raise wrong("is not a duration.", "Write 5m, 1h30m, or off.")
    return span


def _are_quiet_hours(text: str) -> bool:
    start, _, end = (parse_time(part.strip()) for part in text.partition("-"))
    return text == "off" or (start is not None and end is not None and start != end)


def _guardrail(text: str) -> str:
    try:
        return str(parse(text))
    except Misunderstood as error:
        raise wrong(f"is not a rule: {error.problem}", f"For example: {EXAMPLE}") from None


WebAddress = Annotated[str, AfterValidator(_web_address)]
LeadPage = Annotated[str, AfterValidator(_lead_page)]
PublicUrl = Annotated[WebAddress, AfterValidator(lambda text: text.rstrip("/"))]
BaseUrl = Annotated[
    PublicUrl,
    _check(lambda text: text.endswith("/v1"), "does not end in /v1.", "Add the version: https://HOST/v1"),
]
HostPort = Annotated[
    str,
    _check(
        parse_host_port,
        "is not an address with a port.",
        "Write HOST:PORT, like 127.0.0.1:3001 or [::1]:3001.",
    ),
]
Resolvers = Annotated[tuple[Annotated[str, AfterValidator(_resolver)], ...], BeforeValidator(_split)]
Selector = Annotated[
    str,
    AfterValidator(str.lower),
    _fits(
        r"(?=.{1,100}$)[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?)*",
        "is not a DKIM selector.",
        "Use the s= of a DKIM-Signature, like google.",
    ),
]
Folder = Annotated[Path, AfterValidator(lambda path: path.expanduser().absolute())]
Secret = Annotated[SecretStr, AfterValidator(_secret)]
Secrets = Annotated[tuple[Secret, ...], BeforeValidator(_split)]
SecretKeys = Annotated[Secrets, AfterValidator(_secret_keys)]
Rate = Annotated[float, Field(gt=0, le=10)]
DatabaseUrl = Annotated[
    str,
    _check(_is_database, "is not a database address.", "Write sqlite:///PATH or postgresql://USER@HOST/NAME"),
]
Level = Annotated[str, AfterValidator(str.upper), _one_of(LEVELS, "is not a log level.")]
WorkspaceName = Annotated[
    str,
    _fits(
        WORKSPACE,
        "can't be used as @NAME.",
        "Use letters, digits, dot, dash, underscore.",
    ),
]
Channel = Annotated[
    str,
    _fits(
        r"(?!#)\S*",
        "is not a channel id.",
        "Use the id, like C0123456789. It is at the end of the channel's details.",
    ),
]
Mention = Annotated[
    str,
    _fits(
        r"[USW][A-Z0-9]{2,20}|here|none|",
        "is not a valid mention.",
        "Use the id of a user (U…) or a group (S…), here, or none.",
    ),
    AfterValidator(lambda text: "" if text == "none" else text),
]
User = Annotated[
    str,
    _fits(
        r"[UW][A-Z0-9]{2,20}",
        "is not the id of a person.",
        "Use the id, like U0123456789. The profile's menu in Slack copies it (Copy member ID).",
    ),
]
Duration = Annotated[timedelta | None, BeforeValidator(_duration), Field(validate_default=True)]
Zone = Annotated[str, _check(find_zone, "is not a time zone.", "Use an IANA name, like Europe/Berlin.")]
Hours = Annotated[
    str, _check(_are_quiet_hours, "are not quiet hours.", "Write them like 20:00-08:00, or off.")
]
EventName = Annotated[str, _one_of((*EVENTS, "*"), "is not an event.")]
_NOBODY = ("is not a valid role member.", "Use ids of users (U…) or user groups (S…), or members.")
Who = Annotated[str, _fits(r"[USW][A-Z0-9]{2,20}|members", *_NOBODY)]
RoleOrWho = Annotated[
    str,
    _fits(rf"[USW][A-Z0-9]{{2,20}}|members|{'|'.join(Role)}", *_NOBODY),
]
CommandName = Annotated[
    str,
    AfterValidator(lambda name: ALIASES.get(name, name)),
    _one_of((*COMMANDS, CLAIM), "has a name that is not a command."),
]
GuardrailName = Annotated[
    str,
    _fits(
        NAME,
        "is not the name of a rule.",
        "Use up to 40 lowercase letters, digits, dots and dashes.",
    ),
]
GuardrailRule = Annotated[str, AfterValidator(_guardrail)]
THEMES = ("night", "day", "contrast")
Theme = Annotated[str, _one_of(THEMES, "is not a theme.")]
NOTIFICATIONS = ("off", "osc9")
"""The ways to notify the desktop: not at all, or by the sequence that most terminals know."""
Notifications = Annotated[str, _one_of(NOTIFICATIONS, "is not a way to notify.")]
Seconds = Annotated[float, Field(ge=1, le=86_400)]
Resource = Literal["sequence", "inbox", "stats", "lead"]


def _field_paths(fields: Mapping[Resource, Mapping[str, str]]) -> Mapping[Resource, Mapping[str, str]]:
    """Refuse a name that nothing reads: the value would stay unknown, and nobody would see why."""
    if not fields:
        return fields
    from shared.api.decode import field_names  # late: most files have no such table

    for resource, paths in fields.items():
        names = field_names(resource)
        for name, path in paths.items():
            if name not in names:
                problem = f"has {resource}.{name}, which is not a value that can be placed."
                raise wrong(problem, f"Values of [fields.{resource}]: {', '.join(names)}.")
            if not all(path.split(".")):
                raise wrong(
                    f"has no path for {resource}.{name}.", 'Write the keys with dots: "metrics.health.value".'
                )
    return fields


FieldPaths = Annotated[Mapping[Resource, Mapping[str, str]], AfterValidator(_field_paths)]
Source = Literal[
    "sequences", "interested", "inboxes", "today", "previous", "sequence", "inbox", "step", "variant"
]
