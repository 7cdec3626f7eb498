"""What tries to leave this machine: nothing in tests and in the demo may."""

from __future__ import annotations

import errno
import ipaddress
import os
import sys
from pathlib import Path
from typing import Any

VARIABLE = "TESTS_NETWORK_LOG"
"""The file, for the processes that a test starts."""
WRITE_ADDRESSES = f"""
import os
from tests.kit.network_log import write_addresses
write_addresses(os.environ["{VARIABLE}"])
"""
"""What such a process runs first."""
_SENDS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})


def host_of(event: str, args: tuple[Any, ...]) -> str | None:
    """The host that something is sent to, by an event of Python's audit; None for sockets of this machine's files."""
    if event == "socket.getaddrinfo":
        return None if args[0] is None else str(args[0])
    address = args[1] if event in _SENDS else None
    return str(address[0]) if isinstance(address, tuple) else None


def stays(host: str) -> bool:
    """Whether a host is this machine. A name isn't, but for `localhost`: whoever looks it up asks others."""
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host in {"", "localhost"}


class Guard:
    """Refuses what this process sends elsewhere, and remembers it."""

    def __init__(self) -> None:
        self.refused: list[str] = []

    def watch(self) -> None:
        """From now on, until the process ends: an audit hook can't be removed."""

        def heard(event: str, args: tuple[Any, ...]) -> None:
            # Called for each `id(…)` too, of which a page of the dashboard asks hundreds of thousands.
            if event in _SENDS:
                self._check(event, args)

        sys.addaudithook(heard)

    def _check(self, event: str, args: tuple[Any, ...]) -> None:
        host = host_of(event, args)
        if host is not None and not stays(host):
            self.refused.append(f"{event} {args[1]}")
            # Refused as a machine without a network does it, so that the product does what it would do there.
            raise OSError(errno.ENETUNREACH, f"Tests don't leave this machine: {args[1]}")


def write_addresses(file: str) -> None:
    """Have this process write whom it sends to and what it looks up, for as long as it lives."""
    descriptor = os.open(file, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC, 0o600)

    def heard(event: str, args: tuple[Any, ...]) -> None:
        if event.startswith("socket."):
            host = host_of(event, args)
            if host is not None:
                port = args[1][1] if event in _SENDS else ""
                os.write(descriptor, f"{host} {port}\n".encode())

    sys.addaudithook(heard)


def addresses(file: Path) -> set[tuple[str, str]]:
    """The hosts and ports in such a file."""
    found = (line.rpartition(" ") for line in file.read_text().splitlines())
    return {(host, port) for host, _, port in found}
