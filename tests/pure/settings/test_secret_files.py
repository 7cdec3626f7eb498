"""Secrets from files of their own: `…_FILE`, keys with `_file`, and systemd's credentials."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pydantic import SecretStr

from shared.settings import SettingProblem, Settings, load
from shared.settings.sections import FIELDS, SECRETS, VARIABLES
from shared.storage.files import LARGEST_BYTES
from tests.pure.settings.environments import ALL, GOOD, refusal

VALUES = {
    **{VARIABLES[path]: f"value-of-{path[-1]}" for path in SECRETS if path in VARIABLES},
    "OUTREACH_DATABASE_URL": "postgresql://ann:sesame@db.example/outreach",
}
PLAIN = {name: value for name, value in GOOD.items() if name not in VALUES}


def secret(folder: Path, name: str, value: str, *, mode: int = 0o600) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(value)
    file.chmod(mode)
    return file


def given(settings: Settings) -> dict[str, object]:
    """What each secret setting came out as."""
    slack = settings.slack
    found = {VARIABLES["slack", name]: getattr(slack, name) for (*_, name) in SECRETS if hasattr(slack, name)}
    workspace = settings.workspace()
    found |= {
        "OUTREACH_API_KEY": workspace.api_key,
        "OUTREACH_WEBHOOK_SECRET": workspace.webhook_secrets[0],
        "OUTREACH_SECRET_KEY": settings.secret_keys[0],
    }
    shown = {name: one.get_secret_value() for name, one in found.items() if isinstance(one, SecretStr)}
    return {**shown, "OUTREACH_DATABASE_URL": settings.database_url}


def only_problem(environ: dict[str, str], config: Path | None = None) -> SettingProblem:
    (problem,) = refusal(environ, needs=ALL, config=config).problems
    return problem


def test_every_secret_setting_may_be_in_a_file() -> None:
    """And nothing else: a setting whose type hides it is a secret, and so is an address with a password."""
    assert {path for path, field in FIELDS.items() if "Secret" in str(field.annotation)} <= SECRETS
    assert ("database_url",) in SECRETS
    assert ("base_url",) not in SECRETS


def test_each_secret_is_read_from_systemds_credentials(tmp_path: Path) -> None:
    for name, value in VALUES.items():
        # systemd mounts credentials with this mode.
        secret(tmp_path / "credentials", name, f"{value}\n", mode=0o400)
    environ = PLAIN | {"CREDENTIALS_DIRECTORY": str(tmp_path / "credentials")}
    assert given(load(environ=environ, needs=ALL)) == VALUES


def test_the_settings_file_names_files_of_every_workspace(tmp_path: Path) -> None:
    key, token = secret(tmp_path, "key", "live_acme\n"), secret(tmp_path, "token", "xoxb-file")
    secret(tmp_path / "credentials", "workspaces.beta.api_key", "live_beta")
    config = tmp_path / "outreach.toml"
    config.write_text(
        f'base_url = "https://api.example.com/v1"\n[slack]\nBOT_TOKEN_FILE = "{token}"\n'
        f'[workspaces.acme]\napi_key_file = "{key}"\n[workspaces.beta]\napi_key = "live_old"\n'
    )
    settings = load(config=config, environ={"CREDENTIALS_DIRECTORY": str(tmp_path / "credentials")})
    keys = {name: one.api_key.get_secret_value() for name, one in settings.workspaces.items()}
    assert keys == {"acme": "live_acme", "beta": "live_beta"}
    assert settings.slack.bot_token == SecretStr("xoxb-file")


def test_the_environment_wins_over_a_file_that_the_settings_file_names(tmp_path: Path) -> None:
    config = tmp_path / "outreach.toml"
    config.write_text(f'api_key_file = "{tmp_path / "nowhere"}"\n')
    assert load(config=config, environ=GOOD).workspace().api_key == SecretStr(GOOD["OUTREACH_API_KEY"])
    config.write_text('api_key = "live_file"\n')
    environ = PLAIN | {"OUTREACH_API_KEY_FILE": str(secret(tmp_path, "key", "live_variable"))}
    assert load(config=config, environ=environ).workspace().api_key == SecretStr("live_variable")


@pytest.mark.parametrize("second", ["variable", "credential"])
def test_a_secret_that_is_given_twice_is_a_problem(tmp_path: Path, second: str) -> None:
    file = secret(tmp_path, "OUTREACH_API_KEY", "live_two")
    more = {
        "variable": {"OUTREACH_API_KEY_FILE": str(file)},
        "credential": {"CREDENTIALS_DIRECTORY": str(tmp_path)},
    }
    # Which of the two is stale can't be known: taking one would show at the service only, as a 401.
    problem = only_problem(GOOD | more[second])
    assert problem.name == "OUTREACH_API_KEY"
    assert problem.problem.startswith("is set more than once: OUTREACH_API_KEY and ")
    assert str(file) in problem.problem
    assert "live_" not in str(problem)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"live_\xff", "is not text"),
        (b"live_two words", "contains a space"),
        (b"live_" + b"x" * LARGEST_BYTES, "is too long"),
    ],
)
def test_a_file_without_a_usable_secret_is_named_and_its_content_is_not(
    tmp_path: Path, content: bytes, says: str
) -> None:
    file = tmp_path / "key"
    file.write_bytes(content)
    environ = {name: value for name, value in GOOD.items() if name != "OUTREACH_API_KEY"}
    problem = only_problem(environ | {"OUTREACH_API_KEY_FILE": str(file)})
    assert problem.name == f"OUTREACH_API_KEY_FILE ({file})"
    assert says in problem.problem
    assert "live_" not in str(problem)


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_file_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    file = secret(tmp_path, "key", "live_file", mode=mode)
    environ = {name: value for name, value in GOOD.items() if name != "OUTREACH_API_KEY"}
    problem = only_problem(environ | {"OUTREACH_API_KEY_FILE": str(file)})
    assert problem.problem == "can't be trusted: other users can write it."
    assert f"chmod go-w {file}" in problem.fix


def test_the_links_of_a_kubernetes_volume_are_followed(tmp_path: Path) -> None:
    """A volume's file is a link to `..data/NAME`, and `..data` a link that is replaced at each change."""
    volume = tmp_path / "volume"
    (volume / "..1").mkdir(parents=True)
    secret(volume / "..1", "key", "live_volume", mode=0o440)
    (volume / "..data").symlink_to("..1")
    (volume / "key").symlink_to("..data/key")
    # As Kubernetes mounts it: anybody may write, but the sticky bit protects each file.
    volume.chmod(0o1777)
    environ = PLAIN | {"OUTREACH_API_KEY_FILE": str(volume / "key")}
    assert load(environ=environ).workspace().api_key == SecretStr("live_volume")


@pytest.mark.parametrize("content", ['base_url = "', "api_key = [\n", None])
def test_a_settings_file_that_cannot_be_read_is_the_only_problem(tmp_path: Path, content: str | None) -> None:
    """What stands in it isn't missing."""
    config = tmp_path / "outreach.toml"
    if content is not None:
        config.write_text(content)
    (problem,) = refusal({"OUTREACH_CONFIG": str(config)}, needs=ALL).problems
    assert problem.name == "OUTREACH_CONFIG"
    assert os.fspath(config) in problem.problem
