"""Finds and reads secrets in files of their own: `NAME_FILE`, and the credentials that systemd passes to a service.

Names are those of https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html#Credentials
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from shared.frozen import frozen
from shared.storage.private_file import NotPrivate, read_trusted

CREDENTIALS = "CREDENTIALS_DIRECTORY"
SUFFIX = "_FILE"
LARGEST = 65_536
"""Bytes; the longest real secret is a signed token of a few thousand."""


class SecretUnusable(Exception):
    """A secret's file can't be used: `problem` and `fix`, neither with anything of its content."""

    def __init__(self, problem: str, fix: str) -> None:
        self.problem, self.fix = problem, fix
        super().__init__(f"{problem} {fix}")


@frozen
class SecretFile:
    """A file with one secret, and what names it: a variable, a key of the settings file, or a credential."""

    named_by: str
    path: Path

    def __str__(self) -> str:
        return f"{self.named_by} ({self.path})"

    def read(self) -> str:
        """The secret without the space around it; raises `SecretUnusable`."""
        try:
            content = read_trusted(self.path)
            text = content.decode("utf-8-sig").strip() if len(content) <= LARGEST else ""
        except NotPrivate as why:
            fix = why.fix or f"chown it to the user that runs this program, or to root: {self.path}"
            raise SecretUnusable(
                f"can't be trusted: {why.reason}.", f"If its content is right: {fix}"
            ) from None
        except OSError as error:
            problem = f"can't be read: {error.strerror or 'no such file'}."
            raise SecretUnusable(problem, "Correct the path, or the file's owner and mode.") from None
        except ValueError:
            raise SecretUnusable("is not text.", "Write the secret alone into the file, as text.") from None
        if not text:
            problem = "is empty." if not content.strip() else "is too long for a secret."
            raise SecretUnusable(problem, "Write the secret alone into the file.")
        return text


def secret_files(variable: str, environ: Mapping[str, str]) -> list[SecretFile]:
    """The files that the environment names for the secret of this variable."""
    name = f"{variable}{SUFFIX}"
    named = environ.get(name, "").strip()
    files = [named_file(name, named)] if named else []
    credential = credential_file(variable, environ)
    return [*files, credential] if credential else files


def credential_file(name: str, environ: Mapping[str, str]) -> SecretFile | None:
    """The credential of this name, if systemd passed it."""
    folder = environ.get(CREDENTIALS, "").strip()
    path = Path(folder) / name
    # `Path.is_file` would raise for a folder that this user can't enter.
    is_passed = folder and os.path.isfile(path)  # noqa: PTH113
    return SecretFile(named_by=f"credential {name}", path=path) if is_passed else None


def named_file(named_by: str, text: str) -> SecretFile:
    """The file at a path that a person wrote; a `~` that leads nowhere stays, and can't be read."""
    return SecretFile(named_by=named_by, path=Path(os.path.expanduser(text.strip())))  # noqa: PTH111
