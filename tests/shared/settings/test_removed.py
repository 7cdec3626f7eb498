"""A setting that was let go is answered with one sentence that names it and what replaces it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.settings.sources import REMOVED
from tests.shared.settings.environments import GOOD, refusal

FILE = """
[gone]
key = 1
[gone.inner]
key = 2
[slack]
old_token_file = "/run/token"
[workspaces.acme]
hue = "red"
[workspaces.globex]
hue = "blue"
[[guardrails]]
name = "bounces-5"
rule = "pause sequence when bounces > 5% of at least 50 sends in 24h"
mood = "calm"
[[guardrails]]
name = "bounces-6"
rule = "pause sequence when bounces > 6% of at least 50 sends in 24h"
mood = "wild"
[dns]
evry = "6h"
"""
TABLE = {
    "gone": "use `outreach report`",
    "slack.old_token": "use bot_token",
    "workspaces.*.hue": "the theme has the color",
    "guardrails.mood": "rules have no mood",
    "OUTREACH_GONE": "use OUTREACH_HOST",
    "unused": "nobody reads this",
}


def test_each_removed_setting_is_one_sentence_among_the_other_mistakes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, instead in TABLE.items():
        monkeypatch.setitem(REMOVED, name, instead)
    (tmp_path / "outreach.toml").write_text(FILE)
    lines = str(refusal({**GOOD, "OUTREACH_GONE": "1", "OUTREACH_GONE_FILE": "/x"})).splitlines()
    assert lines == [
        "9 settings need attention:",
        "  OUTREACH_GONE was let go: use OUTREACH_HOST.",
        "  OUTREACH_GONE_FILE was let go: use OUTREACH_HOST.",
        "  [slack] old_token_file was let go: use bot_token.",
        "  [workspaces.acme] hue was let go: the theme has the color.",
        "  [workspaces.globex] hue was let go: the theme has the color.",
        "  [[guardrails]] no. 1 mood was let go: rules have no mood.",
        "  [[guardrails]] no. 2 mood was let go: rules have no mood.",
        "  [dns] evry (in the file) is not a setting.",
        "      Did you mean every?",
        "  [gone] was let go: use `outreach report`.",
    ]


def test_every_line_of_the_table_is_reported_once(tmp_path: Path) -> None:
    lines = []
    environ = dict(GOOD)
    for name, instead in REMOVED.items():
        assert instead[0] == "`" or not instead[0].isupper(), f"{name}: it goes on after a colon"
        assert not instead.endswith("."), f"{name}: the sentence gets its period"
        if name.isupper():
            environ[name] = "1"
        else:
            lines.append(f'{name.replace("*", "")} = "1"')
    (tmp_path / "outreach.toml").write_text("\n".join(lines))
    problems = refusal({**environ, "OUTREACH_PORT": "none"}).problems
    told = [one.problem for one in problems if one.problem.startswith("was let go")]
    assert sorted(told) == sorted(f"was let go: {instead}." for instead in REMOVED.values())
