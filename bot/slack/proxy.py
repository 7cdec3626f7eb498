"""The proxy of the environment, with its exceptions, which Slack's SDK doesn't read."""

from __future__ import annotations

from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass


def proxy_for(url: str) -> str | None:
    """The proxy for an address: HTTPS_PROXY or HTTP_PROXY by its scheme, unless NO_PROXY names the host."""
    parts = urlsplit(url)
    if parts.hostname is None or proxy_bypass(parts.hostname):
        return None
    return getproxies().get({"wss": "https", "ws": "http"}.get(parts.scheme, parts.scheme))
