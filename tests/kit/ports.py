"""Ports for servers of a test that others must know before these listen."""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import socket

_NAME = os.environ.get("PYTEST_XDIST_WORKER", "")
# Runs without workers take place several at once, beside one with workers.
_WORKER = int(_NAME.removeprefix("gw")) % 8 if _NAME else 8 + os.getpid() % 8
_numbers = itertools.count(secrets.randbelow(1_250))


def free_port() -> int:
    """A port of this worker's own, below those that the system gives to connections (ip_local_port_range).

    So that nobody takes it before the server does.
    """
    while True:
        port = 12_000 + _WORKER * 1_250 + next(_numbers) % 1_250
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
