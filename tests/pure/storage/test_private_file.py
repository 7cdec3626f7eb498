"""Folders and files are for this user alone, whatever the umask is."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from shared.storage.database import parse_url, temporary_engine
from shared.storage.files import create_private_file, make_private_folder


# A umask of 777 takes the owner's own rights, one of 0 leaves everybody's: neither may decide.
@pytest.fixture(params=[0o000, 0o002, 0o077, 0o277, 0o777], autouse=True)
def _umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_every_folder_that_is_made_is_private(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home").chmod(0o755)
    folder = tmp_path / "home" / ".local" / "state" / "outreach-ops"
    make_private_folder(folder)
    make_private_folder(folder)
    assert [mode(one) for one in (folder, *folder.parents[:2])] == [0o700] * 3
    assert mode(tmp_path / "home") == 0o755, "what is there stays as it is"


def test_a_new_file_is_private_and_can_be_opened_again(tmp_path: Path) -> None:
    os.close(create_private_file(tmp_path / "file"))
    assert mode(tmp_path / "file") == 0o600
    with pytest.raises(FileExistsError):
        create_private_file(tmp_path / "file")


def test_a_database_and_its_folders_are_private(tmp_path: Path) -> None:
    file = tmp_path / ".local" / "state" / "outreach.db"
    with temporary_engine(parse_url(f"sqlite:///{file}")) as engine, closing(engine.connect()):
        assert (mode(file), mode(file.parent), mode(file.parent.parent)) == (0o600, 0o700, 0o700)
