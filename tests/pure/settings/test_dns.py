"""`[dns]`: the checks of the sending domains."""

from __future__ import annotations

import pytest

from shared.settings import load
from tests.pure.settings.environments import refusal


@pytest.mark.parametrize(
    ("word", "enabled"), [("false", False), ("off", False), ("0", False), ("True", True)]
)
def test_checks_are_turned_off_by_a_variable(word: str, enabled: bool) -> None:  # noqa: FBT001
    assert load(environ={"OUTREACH_DNS_ENABLED": word}).dns.enabled is enabled


def test_resolvers_are_addresses_with_an_optional_port() -> None:
    dns = load(environ={"OUTREACH_DNS_RESOLVERS": "9.9.9.9, 127.0.0.1:5353, ::1, [::1]:5353"}).dns
    assert dns.resolvers == ("9.9.9.9:53", "127.0.0.1:5353", "[::1]:53", "[::1]:5353")


@pytest.mark.parametrize(
    "text", ["dns.google", "9.9.9.9:0", "9.9.9", "9.9.9.9:53:53", "[::1", "https://1.1.1.1"]
)
def test_a_resolver_that_is_no_address_is_refused(text: str) -> None:
    assert "OUTREACH_DNS_RESOLVERS is not the address of a resolver." in str(
        refusal({"OUTREACH_DNS_RESOLVERS": text})
    )
