"""Finds and reads `outreach.toml`; a file that nobody named is read only if nobody but the user could have written it.

Both readers of the settings use it. It loads nothing that the dashboard's first paint would have to wait for.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import platformdirs

from shared.frozen import frozen
from shared.storage.private_file import NotPrivate, Unusable, read_trusted

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
