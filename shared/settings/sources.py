"""The sources of each setting: the settings file, a variable, or a file that holds one secret."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from shared.settings.declarations import SECRETS, VARIABLES, SettingPath, in_file
from shared.storage.secret_file import SUFFIX, SecretFile, SecretUnusable, named_file, secret_files


class SettingProblem(NamedTuple):
    """A mistake in one setting and its fix, which is empty if the problem says it."""

    name: str
    problem: str
    fix: str = ""


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
        named = given.get("workspaces")
        names = named if isinstance(named, dict) else ()
        own = [path[-1] for path in SECRETS if path[0] == "workspaces"]
        for path in (*VARIABLES, *(("workspaces", name, key) for name in names for key in own)):
            try:
                self._take(path)
            except SecretUnusable as why:
                self._reject(path, why.named_by, why.problem, why.fix)

    def _take(self, path: SettingPath) -> None:
        """Set a setting from its only source: a variable, or a file. Raises `SecretUnusable`."""
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
            self._reject(path, variable or in_file(path), problem, "Keep one of them.")
            return
        for origin in origins:
            table[key] = origin.read() if isinstance(origin, SecretFile) else self._environ[origin]
            self.files += [origin.path] if isinstance(origin, SecretFile) else []
            self.names[path] = str(origin)

    def _reject(self, path: SettingPath, name: str, problem: str, fix: str) -> None:
        self.problems.append(SettingProblem(name, problem, fix))
        self.unread.add(path)
