"""Typed settings from the environment and `outreach.toml`; everything missing or wrong is reported at once.

Secrets are `SecretStr` from the first moment, and no message repeats a value that was given.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from shared.settings.sections import (
    DEFAULT,
    FIELDS,
    SECRETS,
    VARIABLES,
    Roles,
    SettingPath,
    Settings,
    SlackSettings,
    UnknownWorkspace,
    Workspace,
    WorkspaceSection,
    in_file,
    keys_of,
    workspace_tables,
)
from shared.settings.value_types import CLAIM, MEMBERS
from shared.storage.files import (
    FILE_NAME,
    SUFFIX,
    SecretFile,
    Unusable,
    find_config,
    named_file,
    secret_files,
)

__all__ = [
    "CLAIM",
    "DEFAULT",
    "MEMBERS",
    "Need",
    "Roles",
    "SettingProblem",
    "Settings",
    "SettingsError",
    "SlackSettings",
    "UnknownWorkspace",
    "Workspace",
    "load",
]

PLAIN_WORDS = {
    "bool_parsing": "is neither on nor off: use true or false.",
    "bool_type": "is neither on nor off: use true or false.",
    "int_parsing": "is not a whole number.",
    "float_parsing": "is not a number.",
    "string_type": "is not text. Put it in quotes.",
    "dict_type": "is not a table.",
    "frozen_set_type": "is not a list: use [ and ].",
    "tuple_type": "is not a list: use [ and ].",
    "missing": "is missing.",
    "model_type": "is not a table.",
}
_UNKNOWN = frozenset({"extra_forbidden", "unexpected_keyword_argument", "literal_error"})
"""Pydantic's words for a key that a model, a dataclass or a mapping doesn't have."""


class Need(StrEnum):
    """A group of settings that a command cannot do without."""

    API = "api"
    SLACK = "slack"
    ALERTS = "alerts"


START = "Run `outreach init --interactive`. No account? `outreach demo`."
"""The advice for people who have no key yet."""


class SettingProblem(NamedTuple):
    """A mistake in one setting and its fix, which is empty if the problem says it."""

    name: str
    problem: str
    fix: str = ""


class SettingsError(Exception):
    """Some settings are missing or invalid."""

    def __init__(self, problems: Collection[SettingProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__(str(self))

    def __str__(self) -> str:
        count = len(self.problems)
        head = "1 setting needs" if count == 1 else f"{count} settings need"
        lines = (
            f"  {problem.name} {problem.problem}\n      {problem.fix}".rstrip() for problem in self.problems
        )
        start = any(problem.name == "OUTREACH_API_KEY" for problem in self.problems)
        return "\n".join([f"{head} attention:", *lines, *([START] if start else [])])


def load(
    *,
    config: Path | None = None,
    needs: Collection[Need] = (),
    environ: Mapping[str, str] = os.environ,
) -> Settings:
    """Read environment and file; raises `SettingsError` with everything that is missing or wrong."""
    file = find_config(config, environ=environ)
    problems: list[SettingProblem] = []
    read: dict[str, Any] | None = None
    try:
        read = file.tables() if file else {}
    except Unusable as why:
        problems.append(SettingProblem(*why.args))
    given = read or {}
    # Slack writes these names in capitals, and people copy them.
    if slack := _table(given.get("slack")):
        given["slack"] = {key.lower(): value for key, value in slack.items()}
    sources = Sources(given, environ)
    problems += sources.problems
    if read is not None:
        # What a file that can't be read holds isn't missing.
        problems += [_absent(*path) for path in _missing(given, needs=needs) if path not in sources.unread]
    files = (*([file.path] if file else []), *sources.files)
    try:
        settings = Settings.model_validate(given, context=files)
    except ValidationError as error:
        refused = [_explain(details, sources.names) for details in error.errors(include_input=False)]
        # What several elements of a list have wrong is said once.
        raise SettingsError(dict.fromkeys([*problems, *refused])) from None
    rules: dict[SettingPath, Sequence[Any]] = {
        ("routes", "rules"): settings.routes.rules,
        ("guardrails",): settings.guardrail_sections,
    }
    unknown = [
        in_file((*place, number, "workspace"))
        for place, some in rules.items()
        for number, rule in enumerate(some)
        if rule.workspace and not settings.has_workspace(rule.workspace)
    ]
    unknown += [] if settings.has_workspace(settings.default_workspace) else ["OUTREACH_WORKSPACE"]
    fix = f"Use one of: {', '.join(settings.workspaces)}."
    problems += [SettingProblem(name, "is an unknown workspace.", fix) for name in unknown]
    if problems:
        raise SettingsError(problems)
    return settings


class Sources:
    """Puts variables and secrets from files into what the settings file gave, and knows where each value is from.

    The environment (variables, `…_FILE`, credentials) wins over the file. Two sources of the same rank are a
    problem: which one is current, only a person knows.
    """

    def __init__(self, given: dict[str, Any], environ: Mapping[str, str]) -> None:
        self.problems: list[SettingProblem] = []
        self.names: dict[SettingPath, str] = {}
        """The variable or file that gave each value that isn't in the settings file itself."""
        self.unread: set[SettingPath] = set()
        """The settings that were given, but can't be used."""
        self.files: list[Path] = []
        self._given, self._environ = given, environ
        names = _table(given.get("workspaces"))
        own = [path[-1] for path in SECRETS if path[0] == "workspaces"]
        for path in (*VARIABLES, *(("workspaces", name, key) for name in names for key in own)):
            try:
                self._take(path)
            except Unusable as why:
                self.problems.append(SettingProblem(*why.args))
                self.unread.add(path)

    def _take(self, path: SettingPath) -> None:
        """Set a setting from its only source: a variable, or a file. Raises `Unusable`."""
        *tables, key = path
        table: Any = self._given
        for name in tables:
            table = table.setdefault(name, {}) if isinstance(table, dict) else None
        if not isinstance(table, dict):  # which is told as a mistake of the file
            return
        variable, key_file = VARIABLES.get(path, ""), key + SUFFIX.lower()
        origins: list[str | SecretFile] = [variable] if self._environ.get(variable, "").strip() else []
        if not variable or path in SECRETS:
            # A credential of a workspace is named like its place in the file.
            origins += secret_files(variable or ".".join(path), self._environ)
            named = table.pop(key_file, None)
            if named is not None and not origins:
                origins = [in_file(path)] if table.get(key) else []
                origins.append(named_file(in_file((*tables, key_file)), named))
        if len(origins) > 1:
            problem = f"is set more than once: {' and '.join(map(str, origins))}."
            raise Unusable(variable or in_file(path), problem, "Keep one of them.")
        for origin in origins:
            table[key] = origin.read() if isinstance(origin, SecretFile) else self._environ[origin]
            self.files += [origin.path] if isinstance(origin, SecretFile) else []
            self.names[path] = str(origin)


def _table(value: Any) -> dict[str, Any]:
    """The table itself; one that is none is told as a mistake of the file."""
    return value if isinstance(value, dict) else {}


def _missing(given: Mapping[str, Any], *, needs: Collection[Need]) -> Iterator[SettingPath]:
    slack = _table(given.get("slack"))
    # In Socket Mode nothing is signed.
    in_slack = ["bot_token"] if slack.get("app_token") else ["bot_token", "signing_secret"]
    yield from (("slack", key) for key in in_slack if Need.SLACK in needs and not slack.get(key))
    needed = ["base_url", "api_key"] if Need.API in needs else []
    needed += ["alert_channel"] if Need.ALERTS in needs else []
    pairs = _table(given.get("workspaces")).items()
    tables = {name: keys for name, keys in pairs if isinstance(keys, dict)}
    top = {key: given[key] for key in keys_of(WorkspaceSection) if given.get(key)}
    for name, values in workspace_tables(top, tables).items():
        where = () if name == DEFAULT else ("workspaces", name)
        yield from ((*where, key) for key in needed if not values.get(key))


def _absent(*path: str) -> SettingProblem:
    field = FIELDS[path if path in FIELDS else path[-1:]]
    (example,) = field.examples or [""]
    fix = f"{field.description} Set it, or {in_file(path)} in {FILE_NAME}, e.g. {example}"
    return SettingProblem(VARIABLES.get(path) or in_file(path), "is missing.", fix)


def _explain(details: ErrorDetails, names: Mapping[SettingPath, str]) -> SettingProblem:
    """Name, problem and fix of one refusal; never the value that was given."""
    place = tuple(part for part in details["loc"] if part != "[key]")
    path = tuple(map(str, place))
    # A mistake within a list is one of the setting that has the list.
    sources = (names[path[:length]] for length in (1, 2, 3) if path[:length] in names)
    name = next(sources, f"{in_file(place)} (in the file)")
    if details["type"] in _UNKNOWN:
        return SettingProblem(name, "is not a setting.", _suggestion(path, details))
    context = details.get("ctx", {})
    refused = f"is invalid: {details['msg'][0].lower()}{details['msg'][1:]}."
    field = next((FIELDS[path[:length]] for length in (1, 2) if path[:length] in VARIABLES), None)
    meaning = field.description if field else None
    usual = "Add it." if details["type"] == "missing" else "Correct it."
    problem = context.get("problem") or PLAIN_WORDS.get(details["type"], refused)
    return SettingProblem(name, problem, context.get("fix") or meaning or usual)


def _suggestion(path: SettingPath, details: ErrorDetails) -> str:
    """The nearest known key of the same table, or all of them."""
    names = re.findall(r"'([^']+)'", str(details.get("ctx", {}).get("expected", "")))
    if not names:
        tables: SettingPath = ()
        for part in path[:-1]:  # without the names of workspaces and channels, and the numbers of rules
            tables = (*tables, part) if (*tables, part) in FIELDS else tables
        names = [field[-1] for field in FIELDS if field[:-1] == tables]
    near = difflib.get_close_matches(path[-1].lower(), names, n=1)
    return f"Did you mean {near[0]}?" if near else f"Known settings: {', '.join(names)}."
