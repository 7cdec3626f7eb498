"""The settings that were let go, and what replaces each: whoever still has one is told so in one sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from shared.settings.declarations import SettingPath, in_file
from shared.settings.sources import SettingProblem
from shared.storage.secret_file import SUFFIX

REMOVED: dict[str, str] = {
    # To let a setting go, add one line here. The key is one of:
    #   a section ("mcp"), a key ("dns.blocklists"), with * for any one name ("workspaces.*.color"),
    #   or an environment variable in capitals ("OUTREACH_MCP_ENABLED").
    # An array of tables is named like a table ("routes.rules.condensed").
    # The text ends the sentence "[mcp] was let go: ….": lower case, no period, and it says what
    # to use instead ("use `outreach mcp`, which reads only"). Keep the lines in order.
    "OUTREACH_MCP_CHANGES": "assistants only read, by `outreach mcp`",
    "OUTREACH_MCP_ENABLED": "use `outreach mcp` on your own machine, which can't change anything",
    "SLACK_CLIENT_ID": "run one bot with a database of its own for each Slack workspace, and set SLACK_BOT_TOKEN",
    "SLACK_CLIENT_SECRET": "run one bot with a database of its own for each Slack workspace, and set SLACK_BOT_TOKEN",
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
    "routes.channels.*.rota.away_status": "who doesn't want turns says `/outreach away`, and a turn passes on after pass_after",
    "routes.channels.*.rota.by": "a rota goes by turns; give a sequence an owner by a [[routes.rules]] with `mention`",
    "routes.channels.*.rota.field": "nothing chooses by a field of the lead; give a sequence an owner by a [[routes.rules]] with `mention`",
    "routes.channels.*.rota.group": "`mention` of the channel or of [routes] is mentioned when it is nobody's turn",
    "routes.channels.*.rota.hours": "who doesn't want turns says `/outreach away`, and a turn passes on after pass_after",
    "routes.channels.*.rota.owners": "give a sequence an owner by a [[routes.rules]] with `mention`",
    "routes.channels.*.rota.passes": "a reply passes to one other person, and then to `mention`",
    "routes.rota.away_status": "who doesn't want turns says `/outreach away`, and a turn passes on after pass_after",
    "routes.rota.by": "a rota goes by turns; give a sequence an owner by a [[routes.rules]] with `mention`",
    "routes.rota.field": "nothing chooses by a field of the lead; give a sequence an owner by a [[routes.rules]] with `mention`",
    "routes.rota.group": "`mention` of the channel or of [routes] is mentioned when it is nobody's turn",
    "routes.rota.hours": "who doesn't want turns says `/outreach away`, and a turn passes on after pass_after",
    "routes.rota.owners": "give a sequence an owner by a [[routes.rules]] with `mention`",
    "routes.rota.passes": "a reply passes to one other person, and then to `mention`",
    "slack.client_id": "run one bot with a database of its own for each Slack workspace, and set SLACK_BOT_TOKEN",
    "slack.client_secret": "run one bot with a database of its own for each Slack workspace, and set SLACK_BOT_TOKEN",
    "slack.config_token": "paste the manifest into Slack, which checks it",
}


def take_removed(given: dict[str, Any], environ: Mapping[str, str]) -> Iterator[SettingProblem]:
    """Take every setting that was let go out of the file's tables, and say once what replaces it.

    What is taken out is not reported a second time as unknown.
    """
    for name, instead in REMOVED.items():
        places = _variables(name, environ) if name.isupper() else _take(given, tuple(name.split(".")))
        for place in dict.fromkeys(places):
            yield SettingProblem(name=place, problem=f"was let go: {instead}.", fix="")


def _variables(name: str, environ: Mapping[str, str]) -> Iterator[str]:
    """The variable, or the one that names a file with its value, as far as they are set."""
    return (variable for variable in (name, name + SUFFIX) if environ.get(variable, "").strip())


def _take(table: Any, pattern: SettingPath, above: SettingPath = ()) -> Iterator[str]:
    """Remove what the pattern names below this table; gives each place as a person finds it in the file."""
    if isinstance(table, list):
        for inner in table:
            yield from _take(inner, pattern, above)
    if not isinstance(table, dict):
        return
    first, *rest = pattern
    names = [first, first + SUFFIX.lower()] if not rest else [first]
    for key in list(table) if first == "*" else [name for name in names if name in table]:
        if rest:
            yield from _take(table[key], tuple(rest), (*above, key))
        else:
            yield _place((*above, key), table.pop(key))


def _place(path: SettingPath, value: Any) -> str:
    name = ".".join(path)
    if isinstance(value, dict):
        return f"[{name}]"
    is_array = isinstance(value, list) and any(isinstance(inner, dict) for inner in value)
    return f"[[{name}]]" if is_array else in_file(path)
