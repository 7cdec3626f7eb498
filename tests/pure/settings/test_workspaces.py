"""Several workspaces in one file."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.settings import Need, UnknownWorkspace, load
from tests.pure.settings.environments import refusal


def test_fields_of_a_workspace_are_added_to_those_of_all(tmp_path: Path) -> None:
    file = tmp_path / "outreach.toml"
    file.write_text(
        """
        base_url = "https://api.example.com/v1"
        [fields.inbox]
        health_score = "health.value"
        daily_limit = "caps.day"
        [fields.sequence]
        steps = "cadence.steps"
        [workspaces.acme]
        api_key = "key"
        [workspaces.acme.fields.inbox]
        daily_limit = "limits.daily"
        """
    )
    file.chmod(0o600)
    assert load(config=file, environ={}).workspace("acme").fields == {
        "inbox": {"health_score": "health.value", "daily_limit": "limits.daily"},
        "sequence": {"steps": "cadence.steps"},
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
    assert [one.concerns("globex") for one in settings.routes.rules] == [True]


def test_a_rule_for_an_unknown_workspace_is_refused(tmp_path: Path) -> None:
    rule = '[[routes.rules]]\nchannel = "C3"\nevents = ["*"]\nworkspace = "initech"\n'
    (tmp_path / "outreach.toml").write_text(WORKSPACES + rule)
    (fault,) = refusal({}).problems
    assert fault.name == "[[routes.rules]] no. 1 workspace"
    assert "acme, globex" in fault.fix


def test_workspaces_that_differ_only_in_case_are_refused(tmp_path: Path) -> None:
    # Names are typed in any case, so that one of the two could never be meant.
    (tmp_path / "outreach.toml").write_text(WORKSPACES + '[workspaces.Acme]\napi_key = "k"\n')
    assert "differ only in case" in str(refusal({}))
