"""The sources of each setting: the settings file, a variable, or a file that holds one secret; and what was let go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
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


ONE_BOT = "run one bot with a database of its own for each Slack workspace, and set SLACK_BOT_TOKEN"
REMOVED: dict[str, str] = {
    # To let a setting go, add one line here. The key is one of:
    #   a section ("mcp"), a key ("dns.blocklists"), with * for any one name ("workspaces.*.color"),
    #   or an environment variable in capitals ("OUTREACH_MCP_ENABLED").
    # An array of tables is named like a table ("routes.rules.condensed").
    # The text ends the sentence "[mcp] was let go: ….": lower case, no period, and it says what
    # to use instead ("use `outreach mcp`, which reads only"). Keep the lines in order.
    "OUTREACH_MCP_CHANGES": "assistants only read, by `outreach mcp`",
    "OUTREACH_MCP_ENABLED": "use `outreach mcp` on your own machine, which can't change anything",
    "SLACK_CLIENT_ID": ONE_BOT,
    "SLACK_CLIENT_SECRET": ONE_BOT,
    "SLACK_CONFIG_TOKEN": "paste the manifest into Slack, which checks it",
    "alerts.spike_count": "the guardrail domain-bounces-10-1h counts bounces; add a rule of its name for another number",
    "alerts.spike_percent": "the guardrail domain-bounces-5-1h has the share; add a rule of its name for another",
    "alerts.spike_window": "the guardrails domain-bounces-10-1h and domain-bounces-5-1h look at the last hour",
    "dashboard.refresh_at": "a dashboard's memory stays flat; set RuntimeMaxSec= in its systemd unit to restart it anyway",
    "dashboard.web.listen": "the dashboard in browsers listens on 127.0.0.1; put a proxy in front of it",
    "dashboard.web.people": "everyone whom the proxy lets through may look, and nobody can change anything there",
    "dashboard.web.session_hours": "the proxy signs people in",
    "dashboard.web.trusted_proxies": "the proxy signs people in, and its headers are not read",
    "dns.blocklists": "ask the lists yourself; SPF, DKIM, DMARC and MX are still checked",
    "mcp": "use `outreach mcp` on your own machine, which can't change anything",
    "report": "use `outreach report --json`, and make a page of it yourself",
    "routes.*rota.away_status": "who doesn't want turns says `/outreach away`, and a turn passes on after pass_after",
    "routes.*rota.by": "a rota goes by turns; give a sequence an owner by a [[routes.rules]] with `mention`",
    "routes.*rota.field": "nothing chooses by a field of the lead; give a sequence an owner by a [[routes.rules]] with `mention`",
    "routes.*rota.group": "`mention` of the channel or of [routes] is mentioned when it is nobody's turn",
    "routes.*rota.hours": "who doesn't want turns says `/outreach away`, and a turn passes on after pass_after",
    "routes.*rota.owners": "give a sequence an owner by a [[routes.rules]] with `mention`",
    "routes.*rota.passes": "a reply passes to one other person, and then to `mention`",
    "slack.client_id": ONE_BOT,
    "slack.client_secret": ONE_BOT,
    "slack.config_token": "paste the manifest into Slack, which checks it",
}
"""The settings that were let go, and what replaces each: whoever still has one is told so in one sentence."""


def removed_variables(environ: Mapping[str, str]) -> Iterator[SettingProblem]:
    """The variables that were let go, or that name a file with their value, as far as they are set."""
    for name, instead in REMOVED.items():
        for variable in (name, name + SUFFIX) if name.isupper() else ():
            if environ.get(variable, "").strip():
                yield SettingProblem(variable, f"was let go: {instead}.")


def removed_key(place: Sequence[str | int], value: object) -> SettingProblem | None:
    """The sentence for an unknown key of the file that was known once; None if it never was."""
    *tables, key = (str(part) for part in place if not isinstance(part, int))
    names = (".".join((*tables, key)), ".".join((*tables, key.removesuffix(SUFFIX.lower()))))
    for pattern, instead in REMOVED.items():
        if any(fnmatchcase(name, pattern) for name in names):
            where = f"[{names[0]}]" if isinstance(value, dict) else in_file(place)
            return SettingProblem(where, f"was let go: {instead}.")
    return None
