"""The shell beside the commands: words and help, data and exit codes, channels, settings files and the manifest."""

from __future__ import annotations

import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.kit import Account, Run, Shell, Team


def said(run: Run) -> str:
    """The texts on stderr, as they were before they were wrapped."""
    return " ".join(run.err.split())


# -- words and help


async def test_a_misspelled_command_is_answered_with_the_nearest(shell: Shell) -> None:
    refused = shell.run("pasue", "Q3 founders", "for", "2h")
    assert refused.code == 2
    assert "Did you mean “outreach pause 'Q3 founders' for 2h”?" in refused.err
    assert "Did you mean “outreach help pause”?" in shell.run("help", "pasue").err
    in_slack = shell.run("claim", "ada")
    assert (in_slack.code, "“/outreach claim”" in in_slack.err) == (2, True)


async def test_the_overview_names_every_word_and_each_has_help(shell: Shell) -> None:
    for columns in ("60", "200"):
        shell.set("COLUMNS", columns)
        overview = shell.run("--help").out
        assert max(map(len, overview.splitlines())) <= int(columns)
    words = re.findall(r"^  ([a-z][a-z-]+)  ", overview, flags=re.MULTILINE)
    assert {"pause", "status", "demo", "import", "webhooks"} <= set(words)
    for word in words:
        run = shell.run(word, "--help")
        assert (run.code, run.err) == (0, "")
        assert run.out.startswith(f"usage: outreach {word}")
        assert "examples:" in run.out
        assert shell.run("help", word).out == run.out
    assert re.fullmatch(r"outreach \S+ \(commit [0-9a-f]{12}, schema \d{4}\)\n", shell.run("--version").out)


@pytest.mark.parametrize("name", ["acme.com", "3com", "a-b_c"])
async def test_every_name_that_a_workspace_may_have_can_be_typed(
    account: Account, shell: Shell, name: str
) -> None:
    config = shell.home / "outreach.toml"
    config.write_text(f'[workspaces."{name}"]\nbase_url = "{account.base_url}"\napi_key = "{account.key}"\n')
    for words in (f"@{name} sequences --json", f"export @{name} - --format jsonl --status interested"):
        done = await shell.type(*words.split(), "--config", str(config))
        assert done.code == 0, done.err


# -- data, and the end of a command


async def test_a_change_has_data_and_a_quiet_one_prints_nothing(account: Account, shell: Shell) -> None:
    shell.use(account.environ)
    sequence = await account.sequence()
    (paused,) = (await shell.type("pause", sequence["id"], "--json")).data
    assert (paused["id"], paused["status"], paused["changed"]) == (sequence["id"], "paused", True)
    (again,) = (await shell.type("pause", sequence["id"], "--json")).data
    assert (again["status"], again["changed"]) == ("paused", False)
    quiet = await shell.type("resume", sequence["name"], "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")
    assert (await shell.type("resume", "no such sequence", "--quiet")).err


async def test_a_failure_is_an_empty_array_with_its_reason_on_stderr(account: Account, shell: Shell) -> None:
    shell.use(account.environ)
    gone = await shell.type("lead", "ld_gone", "--json")
    assert (gone.code, gone.out, "ld_gone" in gone.err) == (1, "[]\n", True)
    as_csv = await shell.type("guard", "off", "bounces-5", "--csv")
    assert (as_csv.code, "guardrails list" in as_csv.err) == (2, True)
    file = shell.home / "leads.csv"
    file.write_text("email\nnobody\n")
    refused = await shell.type("import", str(file), "--to", "Fintech", "--json")
    assert (refused.code, refused.data[0]["refused"]) == (1, 1)
    assert "0 of 1 rows added" in refused.err
    shell.set("OUTREACH_API_KEY", "live_revoked")
    status = await shell.type("status", "--json")
    assert (status.code, status.data[0]["reachable"], "not available" in status.err) == (1, False, True)


async def test_a_dashboard_that_can_not_be_shown_says_what_to_do_instead(
    account: Account, shell: Shell
) -> None:
    shell.use(account.environ)
    run = await shell.type("dashboard")
    assert (run.code, run.out, "--once" in run.err) == (2, "", True)
    # A script that waits for the snapshot would wait for ever.
    assert (await shell.type("dashboard", "--web", "--once")).code == 2
    port = account.base_url.split(":")[2].split("/")[0]
    assert "port is in use" in (await shell.type("sandbox", "--port", port)).err


# -- channels


async def test_a_channel_of_a_shell_is_checked_with_slack(team: Team, shell: Shell) -> None:
    shell.use(team.environ)
    for words in (("subscribe", "bounces"), ("digest", "at", "09:00"), ("subscriptions",)):
        refused = await shell.type(*words, "#salse")
        assert "Did you mean #sales?" in said(refused)
        here = await shell.type(*words)
        assert (here.code, "“here” works only in Slack" in said(here)) == (2, True)
    added = await shell.type("subscribe", "bounces", "#sales")
    assert (added.code, "#sales now gets bounces" in added.out, "<#" in added.out) == (0, True, False)
    assert "unsubscribe bounces #sales" in (await shell.type("subscriptions", "#sales")).out
    (row,) = (await shell.type("subscriptions", "#sales", "--json")).data
    assert (row["event"], row["origin"]) == ("lead.bounced", "subscribe")
    assert (await shell.type("unsubscribe", "bounces", "#Sales")).code == 0


async def test_a_channel_that_was_not_checked_is_called_so(account: Account, shell: Shell) -> None:
    shell.use(account.environ)
    run = await shell.type("subscribe", "bounces", "#salse")
    assert (run.code, "Set SLACK_BOT_TOKEN" in run.out) == (0, True)
    shell.use({"SLACK_BOT_TOKEN": "xoxb-any", "SLACK_API_URL": "http://127.0.0.1:9/api/"})
    assert "Slack couldn't be asked about #sales" in said(await shell.type("subscribe", "bounces", "#sales"))


# -- the settings file, and the manifest


def answer(patch: pytest.MonkeyPatch, *lines: str) -> None:
    patch.setattr("sys.stdin", io.StringIO("\n".join(lines) + "\n"))


async def test_the_answers_of_init_are_checked_and_make_a_private_file_that_works(
    team: Team, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.set("SLACK_API_URL", team.environ["SLACK_API_URL"])
    shell.unset("OUTREACH_DATABASE_URL")
    file, account = shell.home / "outreach.toml", team.account
    names = ("SLACK_BOT_TOKEN", "SLACK_SIGNING_SECRET", "OUTREACH_ALERT_CHANNEL")
    answer(
        monkeypatch, account.base_url.removesuffix("/v1"), account.base_url, "wrong", "y", "", account.key,
        f"sqlite:///{shell.home}/bot.db", "https://bot.example.com", "y", *(team.environ[name] for name in names),
    )  # fmt: skip
    done = await shell.type("init", "--interactive", str(file))
    assert done.code == 0, done.err
    # A bad address is refused before the key is asked for.
    assert "does not end in /v1" in done.err.partition("API key")[0]
    assert "API key of default: failed: GET /sequences: The API key is missing or revoked" in done.err
    assert "API key of default: passed" in done.err
    assert "Slack token: passed" in done.err
    assert "outreach manifest --url https://bot.example.com" in done.err
    assert account.key not in done.err + done.out
    assert file.stat().st_mode & 0o777 == 0o600
    shell.unset("SLACK_API_URL")
    shell.set("OUTREACH_CONFIG", str(file))
    assert (await shell.type("sequences")).code == 0
    secrets = re.findall(r'^(\w+) = "(.+)"$', file.read_text(), flags=re.MULTILINE)
    assert {"secret_key", "public_url", "alert_channel"} <= dict(secrets).keys()
    kept = file.read_bytes()
    assert (await shell.type("init", str(file))).code == 1
    assert file.read_bytes() == kept
    assert (await shell.type("init", str(file), "--yes")).code == 0


async def test_init_needs_no_slack_and_writes_nothing_where_the_answers_end(
    account: Account, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.unset("OUTREACH_DATABASE_URL")
    file = shell.home / "outreach.toml"
    answer(monkeypatch, account.base_url)
    ended = await shell.type("init", "--interactive", str(file))
    assert (ended.code, "nothing was written" in ended.err, file.exists()) == (1, True, False)
    answer(monkeypatch, account.base_url, account.key, "", "")
    assert (await shell.type("init", "--interactive", str(file))).code == 0
    assert (await shell.type("sequences", "--config", str(file))).code == 0


def test_a_manifest_has_one_way_in(shell: Shell) -> None:
    public = "https://bot.example.com/slack/events"
    for words in (("--url", "https://bot.example.com/"), ("--url", public)):
        assert shell.run("manifest", *words).out.count(f"{public}\n") == 4
    hooks = json.loads((Path(__file__).parents[2] / ".slack" / "hooks.json").read_text())["hooks"]
    settings: dict[str, Any] = shell.run(*shlex.split(hooks["get-manifest"])[1:]).data["settings"]
    assert settings["socket_mode_enabled"]
    wrong = ((), ("--url", "http://bot.example.com"), ("--url", "bot"), ("--socket-mode", "--url", public))
    assert [shell.run("manifest", *words).code for words in wrong] == [2, 2, 2, 2]
    shell.set("OUTREACH_PUBLIC_URL", "https://bot.example.com/")
    assert public in shell.run("manifest").out
    shell.set("OUTREACH_PUBLIC_URL", "bot.example.com")
    assert "OUTREACH_PUBLIC_URL" in shell.run("manifest").err
