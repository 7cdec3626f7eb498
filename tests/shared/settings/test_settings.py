"""Settings: environment over file, every fault at once, no secret in any text."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import get_args

import pytest
from pydantic import SecretStr

from shared.domain.health import Thresholds
from shared.domain.snapshot import SOURCES
from shared.settings import Need, Settings, SettingsError, UnknownWorkspace, load
from shared.settings.declarations import VARIABLES
from shared.settings.template import commented_template
from shared.settings.value_types import Source

SECRETS = {
    "OUTREACH_API_KEY": "live_9f8e7d6c",
    "OUTREACH_WEBHOOK_SECRET": "whsec_one,whsec_two",
    "SLACK_BOT_TOKEN": "xoxb-sesame",
    "SLACK_SIGNING_SECRET": "sign-sesame",
}
GOOD = SECRETS | {"OUTREACH_BASE_URL": "https://api.example.com/v1", "OUTREACH_ALERT_CHANNEL": "C1"}
ALL = tuple(Need)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def refusal(
    environ: dict[str, str], *, needs: tuple[Need, ...] = (), config: Path | None = None
) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        load(environ=environ, needs=needs, config=config)
    return caught.value


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


def test_every_missing_setting_is_named_at_once() -> None:
    error = refusal({}, needs=ALL)
    assert {fault.name for fault in error.problems} == {
        "OUTREACH_BASE_URL",
        "OUTREACH_API_KEY",
        "OUTREACH_ALERT_CHANNEL",
        "SLACK_BOT_TOKEN",
        "SLACK_SIGNING_SECRET",
    }
    assert all(fault.name in str(error) and fault.fix in str(error) for fault in error.problems)


def test_what_is_missing_and_what_is_wrong_come_together() -> None:
    error = refusal({"OUTREACH_PORT": "many", "OUTREACH_BASE_URL": "https://x.example"}, needs=(Need.API,))
    assert {fault.name for fault in error.problems} == {
        "OUTREACH_PORT",
        "OUTREACH_BASE_URL",
        "OUTREACH_API_KEY",
    }


def test_nothing_is_needed_where_nothing_is_asked_for() -> None:
    assert load(environ={}).workspace().api_key == SecretStr("")


OAUTH = {
    "SLACK_CLIENT_ID": "111.222",
    "SLACK_CLIENT_SECRET": "client-sesame",
    "OUTREACH_SECRET_KEY": "key-sesame",
}


def test_with_a_client_id_neither_bot_token_nor_alert_channel_is_needed_but_a_key_for_the_tokens() -> None:
    given = {
        name: value
        for name, value in GOOD.items()
        if name not in {"SLACK_BOT_TOKEN", "OUTREACH_ALERT_CHANNEL"}
    }
    settings = load(environ=given | OAUTH, needs=ALL)
    assert settings.slack.client_id == "111.222"
    assert "sesame" not in repr(settings)
    error = refusal(given | {"SLACK_CLIENT_ID": "111.222"}, needs=ALL)
    assert {fault.name for fault in error.problems} == {"SLACK_CLIENT_SECRET", "OUTREACH_SECRET_KEY"}
    (fault,) = refusal(given | OAUTH | {"SLACK_CLIENT_ID": "not an id"}).problems
    assert fault.name == "SLACK_CLIENT_ID"


def test_with_a_client_id_every_channel_names_its_slack_workspace(tmp_path: Path) -> None:
    file = tmp_path / "outreach.toml"
    file.write_text('[routes]\nfallback = "C2"\n[[routes.rules]]\nchannel = "T1/C3"\nevents = ["*"]\n')
    error = refusal(GOOD | OAUTH, config=file)
    assert [fault.name for fault in error.problems] == ["alert_channel of @default", "[routes] fallback"]
    assert "T0123456789/C0123456789" in str(error)
    file.write_text(
        '[routes]\nfallback = "T1/C2"\nmention = "T012/S012"\n[roles]\nadmin = ["T012/U012", "members"]\n'
    )
    settings = load(environ=GOOD | OAUTH | {"OUTREACH_ALERT_CHANNEL": "T1/C1"}, config=file)
    assert settings.routes.mention == "T012/S012"
    assert settings.roles.admin == frozenset({"T012/U012", "members"})


def test_with_a_client_id_roles_and_mentions_name_their_slack_workspace(tmp_path: Path) -> None:
    """An id without one fits nobody: a channel that is limited would be open."""
    file = tmp_path / "outreach.toml"
    file.write_text(
        '[routes]\nmention = "S012"\n[routes.channels.C2]\nmention = "U012"\n[alerts]\nescalate_mention = "here"\n'
        '[roles]\nadmin = ["U012", "members"]\noutsiders = ["C3"]\n'
        '[roles.commands]\npause = ["U012", "admin"]\n[roles.channels]\nC4 = ["claim"]\n"T012/C5" = "reader"\n'
    )
    environ = GOOD | OAUTH | {"OUTREACH_ALERT_CHANNEL": "T1/C1"}
    assert [fault.name for fault in refusal(environ, config=file).problems] == [
        "[routes] mention",
        "[routes.channels.C2]",
        "[routes.channels.C2] mention",
        "[roles] admin",
        "[roles] outsiders",
        "[roles.commands] pause",
        "[roles.channels] C4",
    ]


def test_settings_of_some_workspaces_know_no_other(tmp_path: Path) -> None:
    file = tmp_path / "outreach.toml"
    file.write_text(
        'default_workspace = "acme"\n'
        + "".join(f'[workspaces.{name}]\napi_key = "{name}"\n' for name in ("acme", "globex", "initech"))
    )
    settings = load(environ={}, config=file)
    limited = settings.only({"globex", "gone"})
    assert list(limited.workspaces) == ["globex"]
    assert limited.workspace().name == "globex"
    with pytest.raises(UnknownWorkspace) as unknown:
        limited.workspace("acme")
    assert unknown.value.known == ("globex",)
    assert limited.declared_workspaces == {"acme", "globex", "initech"}
    assert limited.file == file
    assert settings.only({"acme", "globex"}).workspace().name == "acme"
    assert len(settings.workspaces) == 3


def test_socket_mode_needs_no_signing_secret() -> None:
    environ = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"}
    assert load(environ=environ, needs=(Need.SLACK,)).slack.app_token == SecretStr("xapp-1")


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        pytest.param("OUTREACH_BASE_URL", "https://api.example.com", "/v1", id="without-version"),
        pytest.param("OUTREACH_BASE_URL", "ftp://api.example.com/v1", "web address", id="other-scheme"),
        pytest.param("OUTREACH_BASE_URL", "https://[v1/v1", "web address", id="broken"),
        pytest.param("OUTREACH_BASE_URL", "https://me:pw@x.example/v1", "Leave out", id="password-in-url"),
        pytest.param("OUTREACH_API_KEY", "live_1\nX-Evil: 1", "line break", id="newline-in-key"),
        pytest.param("OUTREACH_API_KEY", "live_ü", "invalid character", id="not-ascii"),
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
    texts += [str(error), repr(error), repr(error.problems), repr(error.__context__)]
    database = load(environ={"OUTREACH_DATABASE_URL": "postgresql://a:sesame@h/d"})
    texts += [repr(database), str(database.database)]
    for text in texts:
        for secret in ("live_9f8e", "whsec_", "sesame"):
            assert secret not in text


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "outreach.toml"
    file.write_text('port = 4000\nhost = "127.0.0.2"\n[slack]\nbot_token = "xoxb-file"\n')
    settings = load(environ={"OUTREACH_PORT": "5000"})
    assert (settings.port, settings.host, settings.file) == (5000, "127.0.0.2", Path("outreach.toml"))
    assert settings.slack.bot_token == SecretStr("xoxb-file")


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
    assert "live_9f8e" not in str(error)
    assert "OUTREACH_PORT" in {fault.name for fault in error.problems}


def test_unknown_keys_are_told_with_the_nearest_known(tmp_path: Path) -> None:
    (tmp_path / "outreach.toml").write_text(
        'bas_url = "x"\n[slack]\nbot_tokn = "x"\n[workspaces.a]\napi_kee = "x"\n[fields.inbx]\na = "b"\n'
    )
    error = refusal({})
    assert {fault.fix for fault in error.problems} == {
        "Did you mean base_url?",
        "Did you mean bot_token?",
        "Did you mean api_key?",
        "Did you mean inbox?",
    }


WORKSPACES = """
base_url = "https://api.example.com/v1"
default_workspace = "acme"
[workspaces.acme]
api_key = "key_acme"
alert_channel = "C2"
[workspaces.globex]
api_key = "key_globex"
base_url = "http://127.0.0.1:9/v1/"
rate = 5
[workspaces.globex.fields.inbox]
health_score = "metrics.health.value"
"""


def test_several_workspaces_each_have_their_own(tmp_path: Path) -> None:
    (tmp_path / "outreach.toml").write_text(WORKSPACES)
    settings = load(environ={}, needs=(Need.API,))
    assert list(settings.workspaces) == ["acme", "globex"]
    assert settings.workspace().name == "acme"
    globex = settings.workspace("GLOBEX")
    assert (globex.base_url, globex.rate) == ("http://127.0.0.1:9/v1", 5)
    assert globex.fields == {"inbox": {"health_score": "metrics.health.value"}}
    assert settings.workspace("acme").base_url == "https://api.example.com/v1"
    assert globex.alert_channel is None


def test_a_key_in_the_environment_adds_the_workspace_default(tmp_path: Path) -> None:
    (tmp_path / "outreach.toml").write_text(WORKSPACES)
    settings = load(environ={"OUTREACH_API_KEY": "key_env"})
    assert set(settings.workspaces) == {"default", "acme", "globex"}


def test_an_unknown_workspace_names_the_known(tmp_path: Path) -> None:
    (tmp_path / "outreach.toml").write_text(WORKSPACES)
    with pytest.raises(UnknownWorkspace, match="acme, globex"):
        load(environ={}).workspace("initech")


def test_a_workspace_is_spelled_as_its_table_wherever_settings_name_it(tmp_path: Path) -> None:
    rule = '[[routes.rules]]\nchannel = "C3"\nevents = ["*"]\nworkspace = "Globex"\n'
    (tmp_path / "outreach.toml").write_text(WORKSPACES.replace('= "acme"', '= "ACME"') + rule)
    settings = load(environ={})
    assert settings.default_workspace == "acme"
    assert [one.workspace for one in settings.routes.rules] == ["globex"]


def test_a_rule_for_an_unknown_workspace_is_refused(tmp_path: Path) -> None:
    rule = '[[routes.rules]]\nchannel = "C3"\nevents = ["*"]\nworkspace = "initech"\n'
    (tmp_path / "outreach.toml").write_text(WORKSPACES + rule)
    (fault,) = refusal({}).problems
    assert fault.name == "[[routes.rules]] no. 1 workspace"
    assert "acme, globex" in fault.fix


def test_workspaces_that_differ_only_in_case_are_refused(tmp_path: Path) -> None:
    (tmp_path / "outreach.toml").write_text(WORKSPACES + '[workspaces.Acme]\napi_key = "k"\n')
    assert "differ only in case" in str(refusal({}))


def test_the_fault_of_a_table_names_the_table(tmp_path: Path) -> None:
    (tmp_path / "outreach.toml").write_text('[workspaces.acme]\nrate = "fast"\n')
    error = refusal({}, needs=(Need.API,))
    assert {fault.name for fault in error.problems} == {
        "[workspaces.acme] base_url",
        "[workspaces.acme] api_key",
        "[workspaces.acme] rate (in the file)",
    }


def test_thresholds_are_numbers_in_order(tmp_path: Path) -> None:
    file = tmp_path / "outreach.toml"
    file.write_text("[thresholds]\nhealthy = 90\n")
    assert load(environ={}).workspace().thresholds == Thresholds(healthy=90, bad=60)
    file.write_text("[thresholds]\nhealthy = 50\n")
    assert "bad above healthy" in str(refusal({}))
    file.write_text("[thresholds]\nhelthy = 101\n")
    assert "Did you mean healthy?" in str(refusal({}))


def test_other_files_lie_beside_a_sqlite_database(tmp_path: Path) -> None:
    settings: Settings = load(environ={"OUTREACH_DATABASE_URL": f"sqlite:///{tmp_path}/data/o.db"})
    assert settings.state_dir == tmp_path / "data"
    assert load(environ={}).state_dir == tmp_path / "state" / "outreach-ops"


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


DASHBOARD = """
[dashboard]
theem = "night"
theme = "dusk"
read_only = "yes"
refresh_at = "four"
[dashboard.intervals]
inboxs = 60
today = 0
"""


def test_what_the_dashboard_does_not_know_is_refused_and_the_nearest_named(tmp_path: Path) -> None:
    (tmp_path / "outreach.toml").write_text(DASHBOARD)
    text = {fault.name.partition(" (")[0]: (fault.problem, fault.fix) for fault in refusal({}).problems}
    assert text["[dashboard] theem"] == ("is not a setting.", "Did you mean theme?")
    assert text["[dashboard] theme"] == ("is not a theme.", "Use one of night, day, contrast.")
    assert text["[dashboard] refresh_at"][1].startswith("Use a time like 04:00")
    assert text["[dashboard.intervals] inboxs"] == ("is not a setting.", "Did you mean inboxes?")
    assert text["[dashboard.intervals] today"] == ("is not an interval.", "Give seconds, from 1 to 86400.")
    assert "[dashboard] read_only" in text, "what was to be read only is never silently more"


def test_the_dashboard_is_told_what_was_said_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "outreach.toml").write_text(
        '[dashboard]\ntheme = "day"\n[dashboard.intervals]\ninboxes = 60\n'
    )
    assert load(environ={}).dashboard == {"theme": "day", "intervals": {"inboxes": 60}}
    assert set(get_args(Source)) == {s.grouping or s.name for s in SOURCES.values()}


def test_the_template_is_toml_names_every_setting_and_works_when_uncommented(tmp_path: Path) -> None:
    template = commented_template()
    assert tomllib.loads(template) == {"slack": {}}
    assert all(variable in template for variable in VARIABLES.values())
    lines = [line.removeprefix("# ") for line in template.splitlines() if " = " in line or "[" in line]
    lines = [line for line in lines if not line.startswith("client_id")]  # the ids are those of one bot token
    (tmp_path / "outreach.toml").write_text("\n".join(lines))
    assert load(environ={}, needs=ALL).workspace().name == "acme"


def samples() -> list[tuple[str, str]]:
    """The sample lines of the template, each with the table that it is in."""
    table, found = "", []
    for line in commented_template().splitlines():
        if re.match(r"(# )?\[", line):
            table = line.removeprefix("# ")
        elif re.match(r'# "?[\w.-]+"? = ', line):
            found.append((table, line.removeprefix("# ")))
    return found


REQUIRED = {
    "[[routes.rules]]": ('channel = "C0123456789"', 'events = ["*"]'),
    "[[guardrails]]": ('name = "low"', 'rule = "tell when health < 40"'),
}


@pytest.mark.parametrize(("table", "sample"), samples())
def test_each_sample_of_the_template_loads_when_its_line_alone_is_uncommented(
    tmp_path: Path, table: str, sample: str
) -> None:
    key = sample.partition(" = ")[0]
    others = [line for line in REQUIRED.get(table, ()) if line.partition(" = ")[0] != key]
    named = ["[workspaces.acme]"] if '"acme"' in sample else []
    file = tmp_path / "outreach.toml"
    file.write_text("\n".join([table, *others, sample, *named]))
    assert load(config=file, environ={}).file == file


def test_a_leads_page_is_an_https_address_with_a_place_for_the_address(tmp_path: Path) -> None:
    file, page = tmp_path / "outreach.toml", "https://crm.example/contacts?q={email}"

    def read(lead: str) -> str:
        file.write_text(f"[links]\nlead = {lead!r}\n")
        return load(environ={"OUTREACH_CONFIG": str(file)}).links.lead

    assert read(page) == page
    for wrong, says in (
        ("http://crm.example/{email}", "https address"),
        ("javascript:alert({email})", "https address"),
        ("https://{email}/", "https address"),
        ("https://me@crm.example/{email}", "https address"),
        ("https://crm.example/contacts", "{email}"),
        ("https://crm.example/{email}/{id}", "only"),
    ):
        with pytest.raises(SettingsError, match=re.escape(says)):
            read(wrong)
