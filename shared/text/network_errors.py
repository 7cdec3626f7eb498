"""Failures of a connection in words, as a person reads them."""

from __future__ import annotations

import socket
import ssl

_DESCRIPTIONS: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...] = (
    (TimeoutError, "no answer in time"),
    (ssl.SSLError, "the TLS handshake failed"),
    (socket.gaierror, "the host name is not known"),
    (ConnectionRefusedError, "connection refused"),
    ((ConnectionResetError, BrokenPipeError), "the connection was cut"),
)
_BY_NAME = {
    "ClientConnectorDNSError": "the host name is not known",
    "ClientConnectorCertificateError": "the TLS certificate is not valid",
    "ClientConnectorError": "the connection failed",
    "ServerDisconnectedError": "the connection was cut",
    "ClientPayloadError": "the answer was cut off",
    "InvalidURL": "the address is not valid",
}


def describe_network_error(error: BaseException) -> str:
    """What went wrong: by the error itself, or by the one of the system that caused it."""
    system = getattr(error, "os_error", None) or error.__cause__
    for one in (error, system):
        for kinds, words in _DESCRIPTIONS:
            if isinstance(one, kinds):
                return words
    names = [kind.__name__ for kind in type(error).__mro__]
    return next((_BY_NAME[name] for name in names if name in _BY_NAME), "the connection failed")
