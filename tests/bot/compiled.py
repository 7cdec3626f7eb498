"""Statements compiled once for all SQLite engines of a process, instead of again for each bot that a test starts."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from shared.storage import database

_SHARED: dict[str, Any] = {}
"""The dialect, by which compiled statements are kept, and the cache of the first engine."""


def share_compiled(engine: sa.Engine) -> sa.Engine:
    """The same engine, which compiles nothing that an engine before it has compiled."""
    if engine.dialect.name == "sqlite":
        for name in ("dialect", "_compiled_cache"):
            setattr(engine, name, _SHARED.setdefault(name, getattr(engine, name)))
    return engine


def share_compiled_statements(patch: pytest.MonkeyPatch) -> None:
    """Have every engine that is opened share them."""
    real = database.open_engine

    def open_engine(*args: Any, **kwargs: Any) -> sa.Engine:
        return share_compiled(real(*args, **kwargs))

    patch.setattr(database, "open_engine", open_engine)
