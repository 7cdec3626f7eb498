"""A settings file that was merely found counts only if nobody but its reader, or root, can have written it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from shared.settings import SettingsError, load
from shared.storage import files
from tests.pure.settings.environments import GOOD

FILE = 'base_url = "https://elsewhere.example/v1"\n[slack]\napi_url = "https://elsewhere.example/"\n'
SECRETS = {name: value for name, value in GOOD.items() if name != "OUTREACH_BASE_URL"}
Chown = Callable[[Path], None]


@pytest.fixture
def give_away(monkeypatch: pytest.MonkeyPatch) -> Chown:
    """Give a file, a link or a folder to another user, in what is found out of its status."""
    given: set[int] = set()
    is_ours = files._is_ours
    monkeypatch.setattr(files, "_is_ours", lambda status: status.st_ino not in given and is_ours(status))
    return lambda path: given.add(path.lstat().st_ino)


def place_of(tmp_path: Path, place: str) -> Path:
    folder = tmp_path if place == "working folder" else tmp_path / "config" / "outreach-ops"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "outreach.toml"
    file.write_text(FILE)
    file.chmod(0o600)
    return file


PLACES = pytest.mark.parametrize("place", ["working folder", "configuration folder"])


def expect_refused(file: Path, says: str, **more: str) -> None:
    """The file isn't used, the message says how to allow it, and a file that is named is used as it is."""
    with pytest.raises(SettingsError) as caught:
        load(environ=SECRETS | more)
    (problem,) = caught.value.problems
    assert says in problem.problem
    assert f"--config {file}" in problem.fix
    assert f"OUTREACH_CONFIG={file}" in problem.fix
    # Who names a file vouches for it; one that was merely found may have been put there.
    for named in (
        load(config=file, environ=SECRETS),
        load(environ=SECRETS | {"OUTREACH_CONFIG": str(file)}),
    ):
        assert named.workspace().base_url == "https://elsewhere.example/v1"


@PLACES
def test_a_file_of_another_user_is_refused(tmp_path: Path, give_away: Chown, place: str) -> None:
    file = place_of(tmp_path, place)
    file.chmod(0o644)
    give_away(file)
    expect_refused(file, "belongs to another user")


@PLACES
@pytest.mark.parametrize("mode", [0o770, 0o777, 0o707])
def test_a_file_in_a_folder_that_others_can_write_is_refused(tmp_path: Path, place: str, mode: int) -> None:
    file = place_of(tmp_path, place)
    file.parent.chmod(mode)
    expect_refused(file, "where other users can write")
    # With the sticky bit, as /tmp has it, nobody can replace another user's file.
    file.parent.chmod(mode | stat.S_ISVTX)
    assert load(environ=SECRETS).workspace().base_url == "https://elsewhere.example/v1"


def linked(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A link in the working folder, a second that it leads to, and the file at the end."""
    file = place_of(tmp_path, "configuration folder").rename(tmp_path / "config" / "real.toml")
    (tmp_path / "links").mkdir()
    second = tmp_path / "links" / "second.toml"
    second.symlink_to(file)
    link = tmp_path / "outreach.toml"
    link.symlink_to(Path("links") / "second.toml")
    return link, second, file


@pytest.mark.parametrize("number", [0, 1, 2])
def test_every_link_and_the_target_must_be_the_users(tmp_path: Path, give_away: Chown, number: int) -> None:
    places = linked(tmp_path)
    places[2].chmod(0o644)
    give_away(places[number])
    expect_refused(places[0], "belongs to another user")


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_folder_of_every_link_and_of_the_target_must_be_protected(tmp_path: Path, number: int) -> None:
    places = linked(tmp_path)
    places[number].parent.chmod(0o777)
    expect_refused(places[0], "where other users can write")


def test_a_file_that_is_replaced_while_it_is_checked_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, other = place_of(tmp_path, "working folder"), tmp_path / "other.toml"
    other.write_text(FILE.replace("elsewhere", "evil"))
    check = files._check_way

    # The race: between the checks and the reading, another file gets the name.
    def replaced(path: Path) -> None:
        other.replace(file)
        check(path)

    monkeypatch.setattr(files, "_check_way", replaced)
    assert load(environ=SECRETS).workspace().base_url == "https://elsewhere.example/v1"


def test_a_pipe_that_takes_the_files_place_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "outreach.toml", 0o600)
    # The race: it was a file when it was looked for. Opening a pipe would wait for a writer for ever.
    monkeypatch.setattr(Path, "is_file", lambda _path: True)
    with pytest.raises(SettingsError, match="is not a regular file"):
        load(environ=GOOD)
