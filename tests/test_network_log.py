"""The guard of the tests' network, which no test may pass."""

from __future__ import annotations

import socket

import pytest

from tests.conftest import NETWORK
from tests.kit.network_log import stays

ELSEWHERE = ("192.0.2.1", 53)
"""An address that is reserved for documentation: nobody has it."""


@pytest.mark.parametrize("method", ["connect", "connect_ex", "sendto"])
def test_what_a_test_sends_elsewhere_is_refused_and_fails_it(method: str) -> None:
    words = (b"query", ELSEWHERE) if method == "sendto" else (ELSEWHERE,)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one, pytest.raises(OSError, match="leave"):
        getattr(one, method)(*words)
    assert NETWORK.refused == [f"socket.{method.removesuffix('_ex')} {ELSEWHERE}"]
    NETWORK.refused.clear()


def test_loopback_is_this_machine_and_a_name_is_not() -> None:
    assert [stays(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost", "")] == [True] * 5
    assert [stays(host) for host in ("9.9.9.9", "10.0.0.1", "::2", "fe80::1%eth0", "useacme.example")] == [
        False
    ] * 5
