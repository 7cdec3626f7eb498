"""Readable descriptions of connection errors."""

from __future__ import annotations

import socket
import ssl

_DESCRIPTIONS: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...] = (
    (TimeoutError, "it timed out"),
    (ssl.SSLError, "the TLS handshake failed"),
    (socket.gaierror, "the host name can't be resolved"),
    (ConnectionRefusedError, "connection refused"),
    ((ConnectionResetError, BrokenPipeError), "the connection was lost"),
)
_BY_NAME = {
    "ClientConnectorDNSError": "the host name can't be resolved",
    "ClientConnectorCertificateError": "the TLS certificate is not valid",
    "ClientConnectorError": "the connection failed",
    "ServerDisconnectedError": "the connection was lost",
    "ClientPayloadError": "the response was incomplete",
    "InvalidURL": "the address is not valid",
}


def describe_network_error(error: BaseException) -> str:
    """Describe the failure: by the error itself, or by the one of the system that caused it."""
    system = getattr(error, "os_error", None) or error.__cause__
    for one in (error, system):
        for kinds, words in _DESCRIPTIONS:
            if isinstance(one, kinds):
                return words
    names = [kind.__name__ for kind in type(error).__mro__]
    return next((_BY_NAME[name] for name in names if name in _BY_NAME), "the connection failed")
