"""Every command of the table in a shell, against the sandbox service: answers, refusals, exit codes."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from cli.commands import run_command
from cli.line import words as every_word
from cli.programs import PROGRAMS
from outreach_ops import OutreachClient
from shared.api import pipeline
from shared.commands import COMMANDS, parse
from shared.commands.base import Face
from shared.commands.leads import Add
from tests.cli.conftest import Shell


def test_a_misspelled_command_is_answered_with_the_nearest(shell: Shell) -> None:
    result = shell.run("pasue", "Q3 founders", "for", "2h")
    assert result.code == 2
    assert "Did you mean “outreach pause 'Q3 founders' for 2h”?" in result.err
    assert "Did you mean “outreach unpause sq_1”?" in shell.run("unpasue", "sq_1").err
    assert "Did you mean “outreach help pause”?" in shell.run("help", "pasue").err


def test_a_failing_answer_is_named_also_while_the_next_attempt_waits(
    shell: Shell, sandbox: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # So long a wait after the first attempt that none follows before the command is given up.
    monkeypatch.setattr(pipeline, "FIRST_DELAY_SECONDS", 8.0)
    defaults = OutreachClient.__init__.__kwdefaults__
    assert defaults
    monkeypatch.setitem(defaults, "jitter", lambda: 0.98)
    faults = f"{sandbox['control_url']}/faults"
    fault = {"endpoint": "GET /sequences", "status": 503, "times": None}
    httpx.post(faults, json=fault).raise_for_status()
    try:
        result = shell.run("sequences")
    finally:
        httpx.delete(faults).raise_for_status()
    assert result.code == 1
    assert "503" in result.err


def test_a_change_has_data_with_the_sequences_new_status(shell: Shell) -> None:
    (one, *_) = shell.run("sequences", "active", "--json").data
    (paused,) = shell.run("pause", one["id"], "--json").data
    assert (paused["id"], paused["status"], paused["changed"]) == (one["id"], "paused", True)
    assert paused["message"].endswith("is paused")
    (again,) = shell.run("pause", one["id"], "--json").data
    assert (again["status"], again["changed"]) == ("paused", False)
    (resumed,) = shell.run("resume", one["id"], "--json").data
    assert (resumed["status"], resumed["paused_until"]) == ("active", None)


def test_what_only_reads_of_a_changing_command_has_data_too(shell: Shell) -> None:
    told = shell.run("guard", "list", "--json")
    assert {"name", "rule", "state"} <= set(told.data[0])
    assert shell.run("guard", "test", "bounces-5", "--json").data == []
    refused = shell.run("guard", "off", "bounces-5", "--csv")
    assert refused.code == 2
    assert "guardrails list" in refused.err
    assert {one["state"] for one in shell.run("guard", "--json").data} <= {"suggests", "notifies"}


def test_a_quiet_change_says_nothing_unless_it_fails(shell: Shell) -> None:
    assert shell.run("pause", "Win-back", "--quiet").code == 0
    result = shell.run("resume", "Win-back", "--quiet")
    assert (result.code, result.out, result.err) == (0, "", "")
    assert shell.run("pause", "no such sequence", "--quiet").err


def test_a_lead_that_is_not_there_is_an_empty_array_and_a_failure(
    shell: Shell, sandbox: dict[str, Any]
) -> None:
    shell.set("OUTREACH_API_KEY", sandbox["api_keys"]["globex"])
    result = shell.run("lead", "ld_gone", "--json")
    # A script reads an array in every case, and the failure from the exit code.
    assert (result.code, result.out) == (1, "[]\n")
    assert "ld_gone" in result.err


@pytest.mark.parametrize("name", ["acme.com", "3com", "a-b_c"])
def test_every_name_that_a_workspace_may_have_can_be_typed(
    shell: Shell, sandbox: dict[str, dict[str, str]], name: str
) -> None:
    key = sandbox["api_keys"]["acme"]
    for variable in ("OUTREACH_BASE_URL", "OUTREACH_API_KEY"):
        shell.unset(variable)
    config = shell.home / "outreach.toml"
    config.write_text(f'[workspaces."{name}"]\nbase_url = "{sandbox["base_url"]}"\napi_key = "{key}"\n')
    for words in ((f"@{name}", "sequences"), ("sequences", f"@{name}"), ("export", f"@{name}", "-")):
        options = ("--format", "jsonl", "--status", "interested") if words[0] == "export" else ("--json",)
        done = shell.run(*words, *options, "--config", str(config))
        assert done.code == 0, done.err


IN_SHELLS = [name for name, command in COMMANDS.items() if Face.SHELL in command.faces]


@pytest.mark.parametrize("word", [*IN_SHELLS, *PROGRAMS])
def test_every_word_has_help_with_examples(offline: Shell, word: str) -> None:
    result = offline.run(word, "--help")
    # What is hidden from help is for our own processes, and argparse knows it by one very object.
    assert "SUPPRESS" not in result.out
    assert (result.code, result.err) == (0, "")
    assert f"usage: outreach {word}" in result.out
    assert "examples:" in result.out
    assert offline.run("help", word).out == result.out


@pytest.mark.parametrize("word", sorted({*COMMANDS} - {*IN_SHELLS, *PROGRAMS}))
def test_a_command_for_slack_names_the_place_where_it_works(offline: Shell, word: str) -> None:
    result = offline.run(word)
    assert (result.code, result.out) == (2, "")
    assert f"/outreach {word}" in result.err


def test_the_overview_names_every_word_and_fits(offline: Shell) -> None:
    for columns in (60, 200):
        result = offline.run("--help", columns=columns)
        assert max(map(len, result.out.splitlines())) <= columns
        assert all(re.search(rf"^  {word} ", result.out, flags=re.MULTILINE) for word in every_word())
    assert offline.run("help", columns=90).out == offline.run("--help", columns=90).out


def test_the_version_is_printed(offline: Shell) -> None:
    line = offline.run("--version").out
    assert re.fullmatch(r"outreach \d+\.\d+\.\d+(?:\.dev\d+)? \(commit [0-9a-f]{12}, schema \d{4}\)\n", line)
    assert offline.run("version").out == line
    (data,) = offline.run("version", "--json").data
    assert line == f"outreach {data['version']} (commit {data['commit']}, schema {data['schema']})\n"


def test_words_keep_their_meaning_on_the_way_from_the_shell() -> None:
    def arguments(*words: str) -> object:
        return parse(run_command.line("pause", words)).arguments

    # The shell has taken the quotes off: what was one word must stay one.
    assert arguments("Q3 CTO", "for", "2h") == parse('pause "Q3 CTO" for 2h').arguments
    typed = parse("pause 'say \"hi\"' reason it's late").arguments
    assert arguments('say "hi"', "reason", "it's late") == typed
    added = parse(run_command.line("add", ["a@b.co", "to", "sq_1", 'title=VP "Sales" EMEA'])).arguments
    assert added == Add(email="a@b.co", target=("sq_1",), fields={"title": 'VP "Sales" EMEA'})


def test_a_status_of_which_nothing_can_be_read_is_a_failure(shell: Shell) -> None:
    shell.set("OUTREACH_API_KEY", "live_revoked")
    result = shell.run("status", "--json")
    assert (result.code, result.data[0]["reachable"]) == (1, False)
    assert "not available" in result.err


def test_examples_quote_a_channel_that_a_shell_would_take_for_a_comment(offline: Shell) -> None:
    shown = offline.run("subscriptions", "--help").out
    assert "outreach subscriptions '#sales'" in shown
    assert " #sales" not in shown


def test_here_in_a_shell_is_answered_with_how_to_name_a_channel(shell: Shell) -> None:
    for words in (("subscriptions",), ("digest", "off"), ("subscribe", "reply.interested", "here")):
        refused = shell.run(*words)
        assert refused.code == 2
        assert "“here” works only in Slack. Name a channel, like '#sales'." in " ".join(refused.err.split())
