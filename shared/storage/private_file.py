"""Files and folders for this user alone, whatever the umask is, and reading of those that only this user can have written."""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

LONGEST_CHAIN = 40
"""Links that Linux follows before it gives up (https://man7.org/linux/man-pages/man7/path_resolution.7.html)."""


class NotPrivate(Exception):
    """Somebody else could have written the file; `fix` is the command that changes it, where one does."""

    def __init__(self, reason: str, *, fix: str = "") -> None:
        self.reason, self.fix = reason, fix
        super().__init__(reason)


class Unusable(Exception):
    """A file of the settings can't be used: what names it, the problem and the fix, none with anything of its content."""

    def __init__(self, named_by: str, problem: str, fix: str) -> None:
        super().__init__(named_by, problem, fix)


def make_private_folder(folder: Path) -> None:
    """Make the folder, and those above it that are missing. The mode of one that is there stays."""
    missing: list[Path] = []
    for place in (folder, *folder.parents):
        if place.exists():
            break
        missing.append(place)
    for place in reversed(missing):
        place.mkdir(mode=0o700, exist_ok=True)
        place.chmod(0o700)  # a umask may have taken more, and `parents=True` would take only the umask
    folder.mkdir(exist_ok=True)


def create_private_file(path: Path) -> int:
    """The descriptor of a new file, to read and to write; raises `FileExistsError`."""
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    os.fchmod(descriptor, 0o600)
    return descriptor


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A private file beside `target`, which takes its place after the block, whole and on disk, or not at all."""
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        # In a folder of several users another might have put a link, or a file of his own, in its place.
        os.close(create_private_file(fresh))
        yield fresh
        with fresh.open("rb") as written:
            os.fsync(written.fileno())
        fresh.replace(target)
    except OSError as error:
        # The name of the file beside it means nothing to a person.
        raise OSError(error.errno, error.strerror, str(target)) from None
    finally:
        fresh.unlink(missing_ok=True)


def read_trusted(path: Path) -> bytes:
    """The content of a file that only this user or root can have written. Raises `NotPrivate`, `OSError`."""
    # Check and read the opened file: another one may be put under its name in between.
    with open(path, "rb", opener=_without_waiting) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise NotPrivate("it is not a regular file")
        if not _is_ours(status):
            raise NotPrivate(f"it belongs to {_owner(status)}")
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise NotPrivate("other users can write it", fix=f"chmod go-w {path}")
        _check_way(path)
        return file.read()


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # a pipe in the file's place would wait for a writer


def _check_way(path: Path) -> None:
    """The links that lead to the file, and the folder of each: who writes there chooses what is read."""
    for place in _chain(path):
        if not _is_ours(link := place.lstat()):
            raise NotPrivate(f"a link to it, {place}, belongs to {_owner(link)}")
        if not _is_protected(place.parent.stat()):
            folder = place.parent.absolute()
            raise NotPrivate(f"it is in {folder}, where other users can write", fix=f"chmod go-w {folder}")


def _chain(path: Path) -> Iterator[Path]:
    for _ in range(LONGEST_CHAIN):
        yield path
        if not path.is_symlink():
            return
        path = path.parent / path.readlink()


def _is_ours(status: os.stat_result) -> bool:
    return status.st_uid in {os.geteuid(), 0}


def _is_protected(folder: os.stat_result) -> bool:
    """Return True if nobody else can put a file of the user's under another name there."""
    mode = folder.st_mode
    shared = mode & stat.S_IWOTH or (mode & stat.S_IWGRP and not _is_private_group(folder.st_gid))
    return _is_ours(folder) and (bool(mode & stat.S_ISVTX) or not shared)


def _is_private_group(number: int) -> bool:
    """Return True if the group is the user's own. Ubuntu and Fedora make one for each user, and let it write to new folders."""
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(number)
    except KeyError:
        return False
    alone = group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}
    return user.pw_uid != 0 and user.pw_gid == number and alone


def _owner(status: os.stat_result) -> str:
    try:
        return f"another user ({pwd.getpwuid(status.st_uid).pw_name})"
    except KeyError:
        return f"another user ({status.st_uid})"
