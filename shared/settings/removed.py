"""The settings that were let go, and what replaces each: whoever still has one is told so in one sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from shared.settings.declarations import in_file
from shared.settings.sources import SettingProblem
from shared.storage.secret_file import SUFFIX

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


def removed_variables(environ: Mapping[str, str]) -> Iterator[SettingProblem]:
    """The variables that were let go, or that name a file with their value, as far as they are set."""
    for name, instead in REMOVED.items():
        for variable in (name, name + SUFFIX) if name.isupper() else ():
            if environ.get(variable, "").strip():
                yield SettingProblem(name=variable, problem=f"was let go: {instead}.")


def removed_key(place: Sequence[str | int], value: object) -> SettingProblem | None:
    """The sentence for an unknown key of the file that was known once; None if it never was."""
    *tables, key = (str(part) for part in place if not isinstance(part, int))
    names = (".".join((*tables, key)), ".".join((*tables, key.removesuffix(SUFFIX.lower()))))
    for pattern, instead in REMOVED.items():
        if any(fnmatchcase(name, pattern) for name in names):
            where = f"[{names[0]}]" if isinstance(value, dict) else in_file(place)
            return SettingProblem(name=where, problem=f"was let go: {instead}.")
    return None
