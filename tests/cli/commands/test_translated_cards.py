"""What a shell does with an answer doesn't depend on any text of its card."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Shell
from tests.translated import translate

RULE = "pause sequence for 4h when bounces > 5% of at least 50 sends in 24h"


def test_exit_codes_json_and_confirmations_are_those_of_the_result(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    translate(monkeypatch)
    name = next(one["id"] for one in shell.run("sequences", "active", "--json").data)
    first, again = (shell.run("pause", name, "--json") for _ in range(2))
    assert (first.code, again.code) == (0, 0)
    (done,), (unchanged,) = first.data, again.data
    assert (done["changed"], done["status"], done["message"].isupper()) == (True, "paused", True)
    assert (unchanged["changed"], unchanged["status"]) == (False, "paused")
    reason = shell.run("pause", name, "reason", "a storm", "--json")
    assert reason.code == 0
    listed = {one["id"]: one["pause_reason"] for one in shell.run("sequences", "paused", "--json").data}
    assert listed[name] == "a storm"
    assert shell.run("resume", name).code == 0
    refused = shell.run("pause", "nosuch", "--json")
    assert (refused.code, refused.data) == (1, [])
    assert shell.run("guard", "add", RULE, "as", "b5").code == 1, "it asks, and nobody is there to answer"
    assert shell.run("guard", "add", RULE, "as", "b5", "--yes").code == 0
    assert shell.run("guard", "remove", "b5").code == 0
    entries = shell.run("audit", "--json").data
    assert [one["command"] for one in entries if one["refused"]] == ["pause nosuch"]
