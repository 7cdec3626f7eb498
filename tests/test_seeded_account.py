"""The cache of the seeded account: whole files of exactly these sources, few of them, and never needed."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests import seeded_account
from tests.clock import NOW

AT = int(NOW.timestamp())


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The moments for which an account was made; a cheap one."""
    moments: list[int] = []

    async def seed(file: Path, *, now: int) -> None:
        await asyncio.to_thread(file.write_text, f"account of {now}")
        moments.append(now)

    monkeypatch.setattr(seeded_account, "_seed", seed)
    return moments


def test_an_account_is_made_once_for_each_moment(tmp_path: Path, made: list[int]) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    for number, now in enumerate((AT, AT, AT + 60, AT)):
        file = tmp_path / f"{number}.db"
        seeded_account.make_account(file, now=now, cache=cache)
        assert (file.read_text(), file.stat().st_mtime) == (f"account of {now}", now)
    assert made == [AT, AT + 60]


def test_other_sources_make_another_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = tmp_path / "sandbox" / "service"
    service.mkdir(parents=True)
    (tmp_path / "requirements.lock").touch()
    monkeypatch.setattr(seeded_account, "ROOT", tmp_path)
    monkeypatch.setattr(seeded_account, "__file__", str(tmp_path / "requirements.lock"))
    found = [seeded_account.fingerprint(AT)]
    for name, text in (("calm.toml", "a = 1"), ("calm.toml", "a = 2"), ("weeks.py", "a = 2")):
        (service / name).write_text(text)
        found.append(seeded_account.fingerprint(AT))
    assert len(set(found)) == 4


def test_the_least_recently_used_accounts_are_removed(tmp_path: Path, made: list[int]) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "killed.unfinished").touch()
    os.utime(cache / "killed.unfinished", (1, 1))
    for number in range(seeded_account.KEPT + 2):
        seeded_account.make_account(tmp_path / f"{number}.db", now=AT + number, cache=cache)
        os.utime(cache / f"{seeded_account.fingerprint(AT + number)}.db", (100 + number, 100 + number))
    assert sorted(path.read_text() for path in cache.iterdir()) == [
        f"account of {AT + number}" for number in range(2, seeded_account.KEPT + 2)
    ]


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path, made: list[int]) -> None:
    for number in range(2):
        seeded_account.make_account(tmp_path / f"{number}.db", now=AT, cache=tmp_path / "absent")
    assert made == [AT, AT]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.db", "1.db"]
