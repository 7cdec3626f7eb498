"""The sources of each setting: the settings file, a variable, or a file that holds one secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shared.frozen import frozen
from shared.settings.declarations import SECRETS, VARIABLES, SettingPath, in_file
from shared.storage.secret_file import (
    SUFFIX,
    SecretFile,
    SecretUnusable,
    credential_file,
    named_file,
    secret_files,
)


@frozen
class SettingProblem:
    """A mistake in one setting and its fix, which is empty if the problem says it."""

    name: str
    problem: str
    fix: str


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
        self._given = given
        for path, name in VARIABLES.items():
            here = [name] if environ.get(name, "").strip() else []
            self._take(path, [*here, *(secret_files(name, environ) if path in SECRETS else [])], environ)
        for *tables, key in sorted(SECRETS):
            for place in self._places(tuple(tables)):
                self._from_table((*place, key), environ)

    def _places(self, tables: SettingPath) -> list[SettingPath]:
        """The tables of the file at this path: of `workspaces` each one."""
        named = self._given.get("workspaces")
        names = named if isinstance(named, dict) else ()
        return [("workspaces", name) for name in names] if tables == ("workspaces",) else [tables]

    def _from_table(self, path: SettingPath, environ: Mapping[str, str]) -> None:
        """Take a secret that the settings file names with `…_file`, or the credential of a workspace."""
        table = self._table(path[:-1])
        if table is None:
            return
        named = table.pop(path[-1] + SUFFIX.lower(), None)
        credential = credential_file(".".join(path), environ) if path[0] == "workspaces" else None
        if path in self.names or path in self.unread:
            return
        where = in_file((*path[:-1], path[-1] + SUFFIX.lower()))
        if credential:
            self._take(path, [credential], environ)
        elif named is not None and not (isinstance(named, str) and named.strip()):
            problem = SettingProblem(name=where, problem="is not a path.", fix="Write it in quotes.")
            self._reject(path, problem)
        elif named is not None:
            here = [in_file(path)] if table.get(path[-1]) else []
            self._take(path, [*here, named_file(where, named)], environ)

    def _take(
        self, path: SettingPath, origins: Sequence[str | SecretFile], environ: Mapping[str, str]
    ) -> None:
        """Set a setting from its only origin: a variable's name, or a file."""
        if len(origins) > 1:
            problem = f"is set more than once: {' and '.join(map(str, origins))}."
            name = VARIABLES.get(path) or in_file(path)
            self._reject(path, SettingProblem(name=name, problem=problem, fix="Keep one of them."))
            return
        for origin in origins:
            try:
                value = origin.read() if isinstance(origin, SecretFile) else environ[origin]
            except SecretUnusable as why:
                self._reject(path, SettingProblem(name=str(origin), problem=why.problem, fix=why.fix))
                return
            self.files += [origin.path] if isinstance(origin, SecretFile) else []
            table = self._table(path[:-1])
            if table is not None:
                table[path[-1]] = value
            self.names[path] = str(origin)

    def _reject(self, path: SettingPath, problem: SettingProblem) -> None:
        self.problems.append(problem)
        self.unread.add(path)

    def _table(self, tables: SettingPath) -> dict[str, Any] | None:
        """The table at this path, made where it is missing; None where the file has something else there."""
        table: Any = self._given
        for name in tables:
            table = table.setdefault(name, {}) if isinstance(table, dict) else None
        return table if isinstance(table, dict) else None
