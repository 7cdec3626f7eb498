"""The webhook subscriptions that were made here, with their secrets: one private file beside the state.

The service shows a secret once and can list no subscription, so what is in this
file is all there is: it is replaced as a whole, synced before `add` returns, and never overwritten unread.
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shared.api.models import Subscription

FILE_NAME = "webhooks.json"
Kept = Mapping[str, tuple[Subscription, ...]]


class WebhookFileUnreadable(Exception):
    """The file of webhook subscriptions cannot be read; it holds secrets that exist nowhere else."""


class WebhookFile:
    """The subscriptions by workspace. Every read sees what other processes wrote."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._kept: Kept = {}
        self._seen: tuple[int, int, int] | None = None

    def __repr__(self) -> str:
        return f"WebhookFile({str(self.path)!r})"

    def add(self, workspace: str, subscription: Subscription) -> None:
        """Keep a subscription; on disk when this returns. Raises `WebhookFileUnreadable`, OSError."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._locked():
            kept = dict(_read(self.path))
            others = tuple(one for one in kept.get(workspace, ()) if one.id != subscription.id)
            kept[workspace] = (*others, subscription)
            _replace(self.path, _written(kept))

    def list(self, workspace: str) -> tuple[Subscription, ...]:
        """The subscriptions of a workspace, the oldest first. Raises `WebhookFileUnreadable`."""
        self._refresh()
        return self._kept.get(workspace, ())

    def secrets(self, workspace: str) -> tuple[str, ...]:
        """The secrets of a workspace, the newest first. Costs one look at the file's date. Raises `WebhookFileUnreadable`."""
        return tuple(one.secret for one in reversed(self.list(workspace)))

    def _refresh(self) -> None:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            self._kept, self._seen = {}, None
            return
        seen = (found.st_mtime_ns, found.st_ino, found.st_size)
        if seen != self._seen:
            self._kept, self._seen = _read(self.path), seen

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One writer at a time; the lock is beside the file, which is exchanged under it."""
        handle = os.open(self.path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _read(path: Path) -> Kept:
    try:
        return {name: tuple(map(_subscription, kept)) for name, kept in json.loads(path.read_bytes()).items()}
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, KeyError, AttributeError):
        cure = "Mend it, or move it away and subscribe anew with `outreach webhooks create`."
        raise WebhookFileUnreadable(f"{path} is damaged. {cure}") from None


def _subscription(kept: Mapping[str, Any]) -> Subscription:
    return Subscription(
        id=str(kept["id"]),
        secret=str(kept["secret"]),
        url=str(kept["url"]),
        events=tuple(map(str, kept["events"])),
    )


def _written(kept: Kept) -> bytes:
    document = {
        name: [{"id": s.id, "url": s.url, "events": [*s.events], "secret": s.secret} for s in subscriptions]
        for name, subscriptions in kept.items()
    }
    return json.dumps(document, indent=2).encode() + b"\n"


def _replace(path: Path, content: bytes) -> None:
    """All or nothing, also at a power cut: write aside (mkstemp makes it 0600), sync, rename, sync the folder."""
    handle, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(aside).replace(path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
