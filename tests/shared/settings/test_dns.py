"""`[dns]`: the checks of the sending domains."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from shared.settings import load
from shared.settings.value_types import parse_resolver
from tests.shared.settings.environments import refusal


def test_domains_are_checked_every_six_hours_by_default() -> None:
    dns = load(environ={}).dns
    assert dns.enabled
    assert dns.every == timedelta(hours=6)
    assert (dns.resolvers, dns.selectors) == ((), ())


@pytest.mark.parametrize(
    ("word", "enabled"), [("false", False), ("off", False), ("0", False), ("True", True)]
)
def test_checks_are_turned_off_by_a_variable(word: str, enabled: bool) -> None:  # noqa: FBT001
    assert load(environ={"OUTREACH_DNS_ENABLED": word}).dns.enabled is enabled


def test_a_word_that_is_neither_on_nor_off_is_refused() -> None:
    assert "OUTREACH_DNS_ENABLED is neither on nor off." in str(refusal({"OUTREACH_DNS_ENABLED": "perhaps"}))


def test_resolvers_are_addresses_with_an_optional_port() -> None:
    dns = load(environ={"OUTREACH_DNS_RESOLVERS": "9.9.9.9, 127.0.0.1:5353, ::1, [::1]:5353"}).dns
    assert dns.resolvers == ("9.9.9.9:53", "127.0.0.1:5353", "[::1]:53", "[::1]:5353")
    assert [parse_resolver(one) for one in dns.resolvers] == [
        ("9.9.9.9", 53),
        ("127.0.0.1", 5353),
        ("::1", 53),
        ("::1", 5353),
    ]


@pytest.mark.parametrize(
    "text", ["dns.google", "9.9.9.9:0", "9.9.9", "9.9.9.9:53:53", "[::1", "https://1.1.1.1"]
)
def test_a_resolver_that_is_no_address_is_refused(text: str) -> None:
    assert "OUTREACH_DNS_RESOLVERS is not the address of a resolver." in str(
        refusal({"OUTREACH_DNS_RESOLVERS": text})
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('every = "30s"', "not between 1 minute and 7 days"),
        ('every = "off"', "not between 1 minute and 7 days"),
        ('selectors = ["a b"]', "is not a DKIM selector"),
        ('selectors = ["_domainkey."]', "is not a DKIM selector"),
    ],
)
def test_what_cannot_be_asked_of_dns_is_refused(line: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "outreach.toml"
    file.write_text(f"[dns]\n{line}\n")
    file.chmod(0o600)
    assert problem in str(refusal({}, config=file))


def test_selectors_are_names_in_lower_case(tmp_path: Path) -> None:
    file = tmp_path / "outreach.toml"
    file.write_text('[dns]\nselectors = ["S2026", "a.b"]\n')
    file.chmod(0o600)
    dns = load(environ={}, config=file).dns
    assert dns.selectors == ("s2026", "a.b")
