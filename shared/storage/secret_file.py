"""Finds and reads secrets in files of their own: `NAME_FILE`, and the credentials that systemd passes to a service.

Names are those of https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html#Credentials
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from shared.frozen import frozen
from shared.storage.private_file import NotPrivate, Unusable, read_trusted

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
