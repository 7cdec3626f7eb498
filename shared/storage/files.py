"""Files of the settings, and files and folders for this user alone, whatever the umask is.

What only this user or root can have written is read of: `outreach.toml`, where nobody named it, and secrets in files of
their own. It loads nothing that the dashboard's first paint would have to wait for.
"""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import platformdirs

from shared.frozen import frozen

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


# -- `outreach.toml`; a file that nobody named is read only if nobody but the user could have written it

APPLICATION = "outreach-ops"
FILE_NAME = "outreach.toml"
_SQLITE = re.compile(r"sqlite(?:\+\w+)?:///([^?]+)(?:\?.*)?", re.DOTALL)
_IN_MEMORY = ":memory:"


def user_state_folder() -> Path:
    """The folder of the program's files, unless the settings say otherwise."""
    return Path(platformdirs.user_state_dir(APPLICATION, appauthor=False))


@frozen
class ConfigFile:
    """The file that the settings are read from; `named_by` is empty for one that was merely found."""

    path: Path
    named_by: str = ""

    def tables(self) -> dict[str, Any]:
        """The file's tables; raises `Unusable` with the line of an error, never its text, which may be a secret."""
        try:
            content = self.path.read_bytes() if self.named_by else read_trusted(self.path)
            document = tomllib.loads(content.decode("utf-8-sig"))
        except NotPrivate as why:
            place = self.path.absolute()
            trust = f"If you trust its content: {why.fix}. " if why.fix else ""
            fix = f"{trust}To use it as it is, name it: --config {place} or OUTREACH_CONFIG={place}"
            problem = f"was found, but {why.reason}. Its settings aren't used."
            raise Unusable(FILE_NAME, problem, fix) from None
        except OSError as error:
            raise self._broken(f"can't be read: {error.strerror or 'no such file'}") from None
        except ValueError as error:  # TOML or UTF-8
            raise self._broken(f"is not valid TOML: {error}") from None
        return {key.lower().removeprefix("outreach_"): value for key, value in document.items()}

    def _broken(self, what: str) -> Unusable:
        fix = "Correct the file, or name another. `outreach init` writes a new one."
        return Unusable(self.named_by or str(self.path), f"can't be used: {self.path} {what}", fix)


def find_config(config: Path | None, *, environ: Mapping[str, str]) -> ConfigFile | None:
    """The file that `config` or the environment names, else the first one that is found."""
    if config is not None:
        return ConfigFile(path=config, named_by="--config")
    if named := environ.get("OUTREACH_CONFIG", "").strip():
        return ConfigFile(path=Path(named).expanduser(), named_by="OUTREACH_CONFIG")
    folders = (Path(), Path(platformdirs.user_config_dir(APPLICATION, appauthor=False)))
    files = (folder / FILE_NAME for folder in folders if (folder / FILE_NAME).is_file())
    return next((ConfigFile(path=path) for path in files), None)


def sqlite_file(address: str) -> Path | None:
    """The file of `sqlite:///PATH`, told by its address alone; None for another database, and for one in memory.

    SQLAlchemy, which reads any address, takes longer to load than the dashboard's first screen to be painted.
    """
    match = _SQLITE.fullmatch(address)
    return Path(match[1]) if match and match[1] != _IN_MEMORY else None


def sibling_file(file: Path, name: str) -> Path:
    """A file beside another: `outreach.db` -> `outreach-history.db`."""
    return file.with_name(f"{file.stem}-{name}{file.suffix}")


# -- secrets in files of their own: `NAME_FILE`, and the credentials that systemd passes to a service

# Names are those of https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html#Credentials
CREDENTIALS = "CREDENTIALS_DIRECTORY"
SUFFIX = "_FILE"
LARGEST_BYTES = 65_536
"""The longest real secret is a signed token of a few thousand."""


@frozen
class SecretFile:
    """A file with one secret, and what names it: a variable, a key of the settings file, or a credential."""

    named_by: str
    path: Path

    def __str__(self) -> str:
        return f"{self.named_by} ({self.path})"

    def read(self) -> str:
        """The secret without the space around it; raises `Unusable`."""
        try:
            content = read_trusted(self.path)
            text = content.decode("utf-8-sig").strip() if len(content) <= LARGEST_BYTES else ""
        except NotPrivate as why:
            fix = why.fix or f"chown it to the user that runs this program, or to root: {self.path}"
            raise self._unusable(
                f"can't be trusted: {why.reason}.", f"If its content is right: {fix}"
            ) from None
        except OSError as error:
            problem = f"can't be read: {error.strerror or 'no such file'}."
            raise self._unusable(problem, "Correct the path, or the file's owner and mode.") from None
        except ValueError:
            raise self._unusable("is not text.", "Write the secret alone into the file, as text.") from None
        if not text:
            problem = "is empty." if not content.strip() else "is too long for a secret."
            raise self._unusable(problem, "Write the secret alone into the file.")
        return text

    def _unusable(self, problem: str, fix: str) -> Unusable:
        return Unusable(str(self), problem, fix)


def secret_files(name: str, environ: Mapping[str, str]) -> list[SecretFile]:
    """The files that the environment names for a secret: by `NAME_FILE`, and as a credential that systemd passed."""
    variable = f"{name}{SUFFIX}"
    named = environ.get(variable, "").strip()
    files = [named_file(variable, named)] if named else []
    folder = environ.get(CREDENTIALS, "").strip()
    path = Path(folder) / name
    # `Path.is_file` would raise for a folder that this user can't enter.
    is_passed = folder and os.path.isfile(path)  # noqa: PTH113
    return [*files, SecretFile(named_by=f"credential {name}", path=path)] if is_passed else files


def named_file(named_by: str, text: object) -> SecretFile:
    """The file at a path that a person wrote; a `~` that leads nowhere stays, and can't be read."""
    if not isinstance(text, str) or not text.strip():
        raise Unusable(named_by, "is not a path.", "Write it in quotes.")
    return SecretFile(named_by=named_by, path=Path(os.path.expanduser(text.strip())))  # noqa: PTH111
