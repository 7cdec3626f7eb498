"""Settings: where they come from, which of two wins, and what is never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit import Account, Run, Shell

KEY = "live_of_the_file_0123456789"


async def sequences(shell: Shell) -> Run:
    return await shell.type("sequences", "--json")


def write(file: Path, text: str, *, mode: int = 0o600) -> Path:
    file.write_text(text, encoding="utf-8")
    file.chmod(mode)
    return file


async def test_a_secret_can_come_from_a_file(account: Account, shell: Shell) -> None:
    shell.use({"OUTREACH_BASE_URL": account.base_url})
    shell.set("OUTREACH_API_KEY_FILE", str(write(shell.home / "key", f"{account.key}\n")))
    assert (await sequences(shell)).code == 0


async def test_the_environment_wins_over_the_file(account: Account, shell: Shell) -> None:
    file = write(shell.home / "outreach.toml", f'base_url = "http://127.0.0.1:9/v1"\napi_key = "{KEY}"\n')
    shell.set("OUTREACH_CONFIG", str(file))
    assert (await sequences(shell)).code == 1
    shell.use(account.environ)
    assert (await sequences(shell)).code == 0


async def test_a_file_of_the_working_folder_counts_unless_others_may_write_it(
    account: Account, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shell.home / "somewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    file = write(folder / "outreach.toml", f'base_url = "{account.base_url}"\napi_key = "{account.key}"\n')
    assert (await sequences(shell)).code == 0
    file.chmod(0o666)
    run = await sequences(shell)
    assert run.code == 2
    assert "outreach.toml" in run.err


async def test_every_wrong_setting_is_named_and_no_secret_is_shown(account: Account, shell: Shell) -> None:
    shell.use({**account.environ, "OUTREACH_API_KEY": KEY})
    shell.use({"OUTREACH_RATE": "many", "OUTREACH_POLL_SECONDS": "-1"})
    run = await sequences(shell)
    assert run.code == 2
    assert "OUTREACH_RATE" in run.err
    assert "OUTREACH_POLL_SECONDS" in run.err
    assert KEY not in run.out + run.err
    shell.unset("OUTREACH_RATE")
    shell.unset("OUTREACH_POLL_SECONDS")
    refused = await sequences(shell)
    assert refused.code == 1
    assert KEY not in refused.out + refused.err


WRONG_LINES = {
    '[fields.sequence]\nnosuch = "a"': "Values of [fields.sequence]: id, name, status, steps, list.",
    '[fields.lead]\nnext_cursor = ""': "has no path for lead.next_cursor",
    '[roles]\nadmin = "U1"': "[roles] admin (in the file) is not a list",
}


@pytest.mark.parametrize("lines", WRONG_LINES)
async def test_a_line_that_would_do_nothing_is_refused_with_its_cure(
    account: Account, shell: Shell, lines: str
) -> None:
    shell.use(account.environ)
    shell.set("OUTREACH_CONFIG", str(write(shell.home / "outreach.toml", lines)))
    run = await sequences(shell)
    assert run.code == 2
    assert WRONG_LINES[lines] in run.err
