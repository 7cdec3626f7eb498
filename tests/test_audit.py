"""What `make audit` accepts, and what it says when it can't check."""

from __future__ import annotations

import json

import pytest

from tests import audit

pytestmark = pytest.mark.lint


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("Apache-2.0 AND MIT", True),
        ("GPL-3.0-only OR MIT", True),
        ("GPL-3.0-only AND MIT", False),
        ("", False),
        ("Proprietary", False),
    ],
)
def test_a_licence_is_allowed_when_one_alternative_is(expression: str, *, allowed: bool) -> None:
    assert audit.is_allowed(expression) == allowed


def test_every_installed_package_of_the_lock_has_an_allowed_licence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert audit.check_licences(), capsys.readouterr().out


def test_an_unreachable_index_is_reported_as_unchecked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer = json.dumps({"dependencies": [{"name": "httpx", "skip_reason": "not found"}]})
    assert audit.report(answer, error="")
    assert audit.report("", error="Traceback\nConnectionError: no route")
    text = capsys.readouterr().out
    assert "none known" not in text
    assert text.count("not checked") == 2


def test_a_known_vulnerability_fails(capsys: pytest.CaptureFixture[str]) -> None:
    packages = [
        {"name": "httpx", "version": "0.28.1", "vulns": [{"id": "PYSEC-2026-1"}]},
        {"name": "rich", "version": "15.0.0", "vulns": []},
    ]
    assert not audit.report(json.dumps({"dependencies": packages}), error="")
    assert "VULNERABLE httpx 0.28.1: PYSEC-2026-1" in capsys.readouterr().out
