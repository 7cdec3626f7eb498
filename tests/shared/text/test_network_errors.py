"""Failures of a connection are shown in words, not as the names of classes."""

from __future__ import annotations

import socket
from unittest.mock import Mock

import aiohttp
import pytest

from shared.text.network_errors import describe_network_error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TimeoutError(), "it timed out"),
        (aiohttp.ServerTimeoutError(), "it timed out"),
        (aiohttp.ServerDisconnectedError(), "the connection was lost"),
        (aiohttp.ClientConnectorError(Mock(), ConnectionRefusedError(111, "no")), "connection refused"),
        (
            aiohttp.ClientConnectorDNSError(Mock(), socket.gaierror(-2, "no")),
            "the host name can't be resolved",
        ),
        (aiohttp.ClientError("anything"), "the connection failed"),
    ],
)
def test_a_failure_is_described_without_its_type(error: Exception, words: str) -> None:
    assert describe_network_error(error) == words
