"""The file of views, which people may edit: read leniently, changed in place with their comments, written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shared.storage.private_file import make_private_folder
from tui.model.lists.views import View, Views, ViewsBroken, read_views

VIEWS_FILE = "dashboard-views.toml"
MOST_BYTES = 256 * 1024
BEGINNING = """\
# Views of the dashboard: `:view NAME` shows one, `:view save NAME` writes what is shown.
# [workspace.name] with panel, columns, filter, problems, sort, descending.
"""


class ViewsFile:
    """Views by workspace and name; each use reads the file again, so that what people edit counts at once."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> tuple[Views, list[str]]:
        """The views, and what is wrong with others. Raises `ViewsBroken` where nothing can be read."""
        return read_views(self._text())

    def save(self, workspace: str, name: str, view: View | None) -> None:
        """Write a view, or delete it; everything else in the file stays as it is. Raises `ViewsBroken`."""
        import tomlkit  # late: few ever save a view
        from tomlkit.exceptions import TOMLKitError

        text = self._text()
        read_views(text)  # what is broken isn't written over
        expected: dict[str, Any] = tomllib.loads(text)
        try:
            document: Any = tomlkit.parse(text or BEGINNING)
            for tables in (document, expected):
                _put(tables, workspace, name, view.as_data() if view else None)
            changed = tomlkit.dumps(document)
            if tomllib.loads(changed) != expected:
                raise ViewsBroken("it is written in a way that can't be changed from here. Edit it by hand.")
        except (TOMLKitError, tomllib.TOMLDecodeError, TypeError, AttributeError, ValueError, RecursionError):
            raise ViewsBroken(
                "it is written in a way that can't be changed from here. Edit it by hand."
            ) from None
        self._write(changed)

    def _text(self) -> str:
        try:
            with self.path.open("rb") as file:
                found = file.read(MOST_BYTES + 1)
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise ViewsBroken(f"it can't be read: {error.strerror}.") from None
        if len(found) > MOST_BYTES:
            raise ViewsBroken(f"it has more than {MOST_BYTES // 1024} KiB.")
        try:
            return found.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = found[: error.start].count(b"\n") + 1
            raise ViewsBroken(f"line {line}: it isn't UTF-8.") from None

    def _write(self, text: str) -> None:
        """Replace the file, behind a link too, with the permissions that it had."""
        path = self.path.resolve()
        fresh = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            make_private_folder(path.parent)
            with contextlib.suppress(FileNotFoundError):
                fresh.unlink()
            with os.fdopen(
                os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w", encoding="utf-8"
            ) as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileNotFoundError):
                fresh.chmod(path.stat().st_mode & 0o7777)
            fresh.replace(path)
        except OSError as error:
            raise ViewsBroken(f"it can't be written: {error.strerror}.") from None
        finally:
            with contextlib.suppress(OSError):
                fresh.unlink(missing_ok=True)


def _put(tables: Any, workspace: str, name: str, data: Mapping[str, Any] | None) -> None:
    if data is None:
        del tables[workspace][name]
        if not tables[workspace]:
            del tables[workspace]
        return
    if workspace not in tables:
        tables[workspace] = {}
    if name not in tables[workspace]:
        tables[workspace][name] = dict(data)
        return
    view = tables[workspace][name]
    for key in [key for key in view if key not in data]:
        del view[key]
    for key, value in data.items():
        if key not in view or view[key] != value:  # what stays keeps its comment
            view[key] = value
