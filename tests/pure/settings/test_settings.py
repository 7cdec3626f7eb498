"""Settings: environment over file, every fault at once, no secret in any text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shared.domain.health import Thresholds
from shared.settings import SettingsError, load
from tests.pure.settings.environments import ALL, GOOD, SECRETS, refusal


def test_the_environment_alone_makes_one_workspace_called_default() -> None:
    settings = load(environ=GOOD, needs=ALL)
    workspace = settings.workspace()
    assert (workspace.name, workspace.base_url, workspace.rate) == ("default", GOOD["OUTREACH_BASE_URL"], 9.5)
    assert [secret.get_secret_value() for secret in workspace.webhook_secrets] == ["whsec_one", "whsec_two"]
    assert (settings.host, settings.port, settings.poll_seconds, settings.log_level) == (
        "127.0.0.1",
        3000,
        30,
        "INFO",
    )


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        pytest.param("OUTREACH_BASE_URL", "https://api.example.com", "/v1", id="without-version"),
        pytest.param("OUTREACH_BASE_URL", "ftp://api.example.com/v1", "web address", id="other-scheme"),
        pytest.param("OUTREACH_BASE_URL", "https://[v1/v1", "web address", id="broken"),
        pytest.param("OUTREACH_BASE_URL", "https://me:pw@x.example/v1", "Leave out", id="password-in-url"),
        # A line break would end the header that the key stands in and begin another.
        pytest.param("OUTREACH_API_KEY", "live_1\nX-Evil: 1", "line break", id="newline-in-key"),
        pytest.param("OUTREACH_API_KEY", "live_ü", "invalid character", id="not-ascii"),
        pytest.param("SLACK_BOT_TOKEN", "xoxb-1\t2", "line break", id="control-character-in-token"),
        pytest.param("OUTREACH_SECRET_KEY", "short", "16 characters", id="short-key"),
        pytest.param("OUTREACH_PORT", "65536", "65535", id="port-too-high"),
        pytest.param("OUTREACH_RATE", "11", "10", id="rate-over-the-limit"),
        pytest.param("OUTREACH_RATE", "0", "greater", id="rate-zero"),
        pytest.param("OUTREACH_POLL_SECONDS", "soon", "is not a number", id="no-number"),
        pytest.param("OUTREACH_LOG_LEVEL", "LOUD", "WARNING", id="level"),
        pytest.param("OUTREACH_DATABASE_URL", "mysql://x/y", "sqlite:///PATH", id="other-database"),
        pytest.param("OUTREACH_DATABASE_URL", "nonsense", "sqlite:///PATH", id="no-database"),
        pytest.param("OUTREACH_ALERT_CHANNEL", "#sales", "C0123456789", id="channel-name"),
        pytest.param("OUTREACH_WORKSPACE", "nobody", "default", id="unknown-default"),
    ],
)
def test_a_wrong_value_is_refused_with_its_cure(variable: str, value: str, says: str) -> None:
    error = refusal(GOOD | {variable: value}, needs=ALL)
    assert [fault.name for fault in error.problems] == [variable]
    assert says in str(error)


def test_no_secret_is_in_a_repr_or_an_error() -> None:
    settings = load(environ=GOOD, needs=ALL)
    texts = [repr(settings), str(settings), repr(settings.workspaces)]
    bad = {name: f"{value} \n" + value for name, value in SECRETS.items()} | {"OUTREACH_PORT": "x"}
    error = refusal(bad | {"OUTREACH_DATABASE_URL": "postgresql://a:sesame@h/d"})
    # Python prints an error's context with it, and pydantic's own quotes the value.
    texts += [str(error), repr(error), repr(error.problems), repr(error.__context__)]
    database = load(environ={"OUTREACH_DATABASE_URL": "postgresql://a:sesame@h/d"})
    texts += [repr(database), str(database.database)]
    for text in texts:
        for secret in ("live_9f8e", "whsec_", "sesame"):
            assert secret not in text


def test_the_file_is_searched_in_the_documented_order(tmp_path: Path) -> None:
    places = [tmp_path / name for name in ("flag.toml", "variable.toml", "outreach.toml")]
    places.append(tmp_path / "config" / "outreach-ops" / "outreach.toml")
    places[3].parent.mkdir(parents=True)
    for port, place in enumerate(places, start=1):
        place.write_text(f"port = {port}")
    environ = {"OUTREACH_CONFIG": str(places[1])}
    assert load(config=places[0], environ=environ).port == 1
    assert load(environ=environ).port == 2
    assert load(environ={}).port == 3
    places[2].unlink()
    assert load(environ={}).port == 4


def test_a_file_that_was_named_must_be_there() -> None:
    error = refusal({"OUTREACH_CONFIG": "nowhere.toml"})
    assert error.problems[0].name == "OUTREACH_CONFIG"
    assert "nowhere.toml" in str(error)


def test_a_file_that_is_no_toml_is_told_with_line_and_the_rest_is_still_checked(tmp_path: Path) -> None:
    (tmp_path / "outreach.toml").write_text('api_key = "live_9f8e\n')
    error = refusal({"OUTREACH_PORT": "x"})
    assert "line 1" in str(error)
    # The line that can't be read may be the one with the key.
    assert "live_9f8e" not in str(error)
    assert "OUTREACH_PORT" in {fault.name for fault in error.problems}


def test_a_mistake_in_a_rule_is_named_as_the_file_writes_it(tmp_path: Path) -> None:
    (tmp_path / "outreach.toml").write_text(
        '[[guardrails]]\nname = "low"\nrule = "tell when health < 40"\n[[guardrails]]\nname = "high"\n'
        '[[routes.rules]]\nchannel = "C1"\nevents = ["lead.lost"]\n[dns]\nselectors = ["s1", "?"]\n'
    )
    assert {fault.name for fault in refusal({}).problems} == {
        "[[guardrails]] no. 2 rule (in the file)",
        "[[routes.rules]] no. 1 events (in the file)",
        "[dns] selectors (in the file)",
    }


def test_thresholds_are_numbers_in_order(tmp_path: Path) -> None:
    file = tmp_path / "outreach.toml"
    file.write_text("[thresholds]\nhealthy = 90\n")
    assert load(environ={}).workspace().thresholds == Thresholds(healthy=90, bad=60)
    file.write_text("[thresholds]\nhealthy = 50\n")
    assert "bad above healthy" in str(refusal({}))
    file.write_text("[thresholds]\nhelthy = 101\n")
    assert "Did you mean healthy?" in str(refusal({}))


@pytest.mark.parametrize("place", ["environment", "file"])
def test_a_state_folder_moves_every_local_file(tmp_path: Path, place: str) -> None:
    folder = tmp_path / "chosen"
    (tmp_path / "outreach.toml").write_text(f'state_dir = "{folder}"\n' if place == "file" else "")
    settings = load(environ={"OUTREACH_STATE_DIR": str(folder)} if place == "environment" else {})
    databases = (settings.database, settings.budget_database, settings.history_database)
    assert {Path(url.database or "").parent for url in databases} == {folder} == {settings.state_dir}


def test_a_state_folder_beside_a_database_of_its_own_holds_the_other_files(tmp_path: Path) -> None:
    environ = {
        "OUTREACH_STATE_DIR": "~/chosen",
        "OUTREACH_DATABASE_URL": f"sqlite:///{tmp_path}/data/o.db",
    }
    settings = load(environ=environ)
    assert settings.state_dir == Path.home() / "chosen"
    assert settings.budget_database.database == str(Path.home() / "chosen" / "budget.db")
    assert settings.database.database == f"{tmp_path}/data/o.db"


def test_a_leads_page_is_an_https_address_with_a_place_for_the_address(tmp_path: Path) -> None:
    file, page = tmp_path / "outreach.toml", "https://crm.example/contacts?q={email}"

    def read(lead: str) -> str:
        file.write_text(f"[links]\nlead = {lead!r}\n")
        return load(environ={"OUTREACH_CONFIG": str(file)}).links.lead

    assert read(page) == page
    for wrong, says in (
        ("http://crm.example/{email}", "https address"),
        ("javascript:alert({email})", "https address"),
        # The lead's address would choose the host that a browser opens.
        ("https://{email}/", "https address"),
        ("https://me@crm.example/{email}", "https address"),
        ("https://crm.example/contacts", "{email}"),
        ("https://crm.example/{email}/{id}", "only"),
    ):
        with pytest.raises(SettingsError, match=re.escape(says)):
            read(wrong)
