"""Reads what the first paint needs from settings and history, without loading the libraries that check them.

Settings and database libraries take longer to load than the screen to paint. If anything is
unusual, nothing is returned and the dashboard starts the slow way; a test checks that both give the same result.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shared.domain.health import DEFAULT as THRESHOLDS
from shared.domain.health import Thresholds
from shared.domain.snapshot import Snapshot, from_text, with_delta
from shared.storage.config_file import UntrustedFile, find_config, user_state_folder
from shared.storage.secret_file import secret_files

DEFAULT = "default"
SQLITE = "sqlite:///"
POLL_SECONDS = 30.0
SEVERAL = {"workspaces", "default_workspace"}
"""What a file with several workspaces holds; nothing else in it bears on the first picture, but what is read here."""
LAST = "SELECT at, body FROM history_snapshots WHERE workspace = ? ORDER BY at DESC LIMIT 1"
SINCE = """
SELECT body FROM history_deltas WHERE workspace = ?1 AND base_at = ?2 AND writer = (
  SELECT writer FROM history_deltas WHERE workspace = ?1 AND base_at = ?2 ORDER BY at DESC LIMIT 1
) ORDER BY number
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartSettings:
    """Whose dashboard it is, where its files are, and how it wants to look; `poll_seconds` as set."""

    workspace: str
    state: Path
    history: Path | None = None
    poll_seconds: float = POLL_SECONDS
    section: Mapping[str, Any] = field(default_factory=dict)
    thresholds: Thresholds = THRESHOLDS
    has_bot: bool = False
    """Whether a bot's database is at hand: it knows who has claimed which reply."""

    def last(self) -> Snapshot | None:
        """The snapshot that was kept last; None where it cannot be had easily."""
        if self.history is None:
            return None
        try:
            with closing(sqlite3.connect(f"{self.history.absolute().as_uri()}?mode=ro", uri=True)) as opened:
                row = opened.execute(LAST, (self.workspace,)).fetchone()
                if row is None:
                    return None
                found = from_text(zlib.decompress(row[1]))
                for (body,) in opened.execute(SINCE, (self.workspace, row[0])):
                    found = with_delta(found, zlib.decompress(body))
                return found
        except (sqlite3.Error, ValueError, KeyError, TypeError, IndexError, zlib.error):
            return None


def read_start_settings(
    *, config: Path | None, environ: Mapping[str, str], workspace: str | None
) -> StartSettings | None:
    """The start settings of a plain installation: one workspace, a history in SQLite; None for all others."""
    try:
        file = find_config(config, environ=environ)
        document = file.tables() if file else {}
        if not _is_plain(document, environ=environ, workspace=workspace):
            return None
        database = environ.get("OUTREACH_DATABASE_URL", "").strip() or document.get("database_url", "")
        folder = environ.get("OUTREACH_STATE_DIR", "").strip() or document.get("state_dir", "")
        history, state = _places(str(database), str(folder))
        poll = environ.get("OUTREACH_POLL_SECONDS", "").strip() or document.get("poll_seconds", POLL_SECONDS)
        given = document.get("thresholds", {})
        start_settings = StartSettings(
            workspace=DEFAULT,
            history=history,
            state=state,
            poll_seconds=float(poll),
            section=document.get("dashboard", {}),
            thresholds=Thresholds(**{name: float(value) for name, value in given.items()}),
            has_bot=history.with_name(f"{history.stem.removesuffix('-history')}{history.suffix}").is_file(),
        )
    except (OSError, UntrustedFile, ValueError, TypeError, AttributeError):
        return None
    return start_settings if history.is_file() else None


def _is_plain(document: Mapping[str, Any], *, environ: Mapping[str, str], workspace: str | None) -> bool:
    complete = all(
        environ.get(f"OUTREACH_{key.upper()}", "").strip() or document.get(key)
        for key in ("base_url", "api_key")
    )
    # A database in a secret's file, or a key there beside another one, is for the full settings.
    complete = complete and "database_url_file" not in document
    complete = complete and not any(
        secret_files(name, environ) for name in ("OUTREACH_API_KEY", "OUTREACH_DATABASE_URL")
    )
    return complete and SEVERAL.isdisjoint(document) and (workspace or DEFAULT).casefold() == DEFAULT


def _places(database: str, folder: str) -> tuple[Path, Path]:
    """The history's file and the folder for everything else."""
    chosen = Path(folder).expanduser().absolute() if folder else None
    if not database:
        database = f"{SQLITE}{(chosen or user_state_folder()) / 'outreach.db'}"
    path = Path(database.removeprefix(SQLITE))
    if not database.startswith(SQLITE) or not path.name or "?" in database or path.name == ":memory:":
        raise ValueError(database.partition(":")[0])
    return path.with_name(f"{path.stem}-history{path.suffix}"), chosen or path.resolve().parent
