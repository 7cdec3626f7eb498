"""Finds and reads `outreach.toml`; a file that nobody named is read only if nobody but the user could have written it.

Both readers of the settings use it. It loads nothing that the dashboard's first paint would have to wait for.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

APPLICATION = "outreach-ops"
FILE_NAME = "outreach.toml"
LONGEST_CHAIN = 40
"""Links that Linux follows before it gives up (https://man7.org/linux/man-pages/man7/path_resolution.7.html)."""


def user_state_folder() -> Path:
    """Where the program's files are, unless the settings say otherwise."""
    return Path(platformdirs.user_state_dir(APPLICATION, appauthor=False))


class UntrustedFile(Exception):
    """A file was found that somebody else could have written."""

    def __init__(self, path: Path, problem: str, *, fix: str = "") -> None:
        place = path.absolute()
        self.problem = f"{problem}. Its settings aren't used."
        self.fix = f"{fix}To use it as it is, name it: --config {place} or OUTREACH_CONFIG={place}"
        super().__init__(f"{path} {self.problem} {self.fix}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFile:
    """The file that the settings are read from; `named_by` is empty for one that was merely found."""

    path: Path
    named_by: str = ""

    def tables(self) -> dict[str, Any]:
        """The file's tables; raises `ValueError` with the line of an error, never its text, which may be a secret.

        Raises `UntrustedFile`.
        """
        try:
            content = self.path.read_bytes() if self.named_by else _read_trusted(self.path)
            document = tomllib.loads(content.decode("utf-8-sig"))
        except OSError as error:
            raise ValueError(f"{self.path} can't be read: {error.strerror or 'no such file'}") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{self.path} is not valid TOML: {error}") from None
        return {key.lower().removeprefix("outreach_"): value for key, value in document.items()}


def find_config(config: Path | None, *, environ: Mapping[str, str]) -> ConfigFile | None:
    """The file that `config` or the environment names, else the first one that is found."""
    if config is not None:
        return ConfigFile(path=config, named_by="--config")
    if named := environ.get("OUTREACH_CONFIG", "").strip():
        return ConfigFile(path=Path(named).expanduser(), named_by="OUTREACH_CONFIG")
    folders = (Path(), Path(platformdirs.user_config_dir(APPLICATION, appauthor=False)))
    found = (folder / FILE_NAME for folder in folders if (folder / FILE_NAME).is_file())
    return next((ConfigFile(path=path) for path in found), None)


def _read_trusted(path: Path) -> bytes:
    """The content of a file that only this user or root can have written. Raises `UntrustedFile`."""
    # Check and read the opened file: another one may be put under its name in between.
    with open(path, "rb", opener=_without_waiting) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise UntrustedFile(path, "was found, and is not a regular file")
        if not _is_ours(found):
            raise UntrustedFile(path, f"was found, and belongs to {_owner(found)}")
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            fix = f"If you trust its content: chmod go-w {path}. "
            raise UntrustedFile(path, "was found, and other users can write it", fix=fix)
        _check_way(path)
        return file.read()


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # a pipe in the file's place would wait for a writer


def _check_way(path: Path) -> None:
    """The links that lead to the file, and the folder of each: who writes there chooses what is read."""
    for place in _chain(path):
        if not _is_ours(link := place.lstat()):
            raise UntrustedFile(path, f"was found by a link, {place}, which belongs to {_owner(link)}")
        if not _is_protected(place.parent.stat()):
            folder = place.parent.absolute()
            fix = f"If you trust its content and the folder is yours: chmod go-w {folder}. "
            raise UntrustedFile(path, f"was found in {folder}, where other users can write", fix=fix)


def _chain(path: Path) -> Iterator[Path]:
    for _ in range(LONGEST_CHAIN):
        yield path
        if not path.is_symlink():
            return
        path = path.parent / path.readlink()


def _is_ours(found: os.stat_result) -> bool:
    return found.st_uid in {os.geteuid(), 0}


def _is_protected(folder: os.stat_result) -> bool:
    """Whether nobody else can put a file of the user's under another name there."""
    mode = folder.st_mode
    shared = mode & stat.S_IWOTH or (mode & stat.S_IWGRP and not _is_private_group(folder.st_gid))
    return _is_ours(folder) and (bool(mode & stat.S_ISVTX) or not shared)


def _is_private_group(number: int) -> bool:
    """Whether the group is the user's own. Ubuntu and Fedora make one for each user, and let it write to new folders."""
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(number)
    except KeyError:
        return False
    alone = group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}
    return user.pw_uid != 0 and user.pw_gid == number and alone


def _owner(found: os.stat_result) -> str:
    try:
        return f"another user ({pwd.getpwuid(found.st_uid).pw_name})"
    except KeyError:
        return f"another user ({found.st_uid})"
