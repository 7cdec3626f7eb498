"""Which addresses a webhook may have."""

from __future__ import annotations

import socket

import httpx
import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from sandbox.service.base.errors import BadRequest
from sandbox.service.webhooks.allowed_urls import check_url
from sandbox.service.webhooks.sender import PublicResolver


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.firm.example/x",
        "https://8.8.8.8:8443/x",
        "https://[2606:4700::1111]/x",
        "https://hooks.firm.example./x",
        "https://xn--bcher-kva.example/x",
        f"https://{'a' * 63}.example/x",
        "http://127.0.0.1:9/x",
        "http://localhost/x",
        "http://[::1]:9/",
    ],
)
def test_https_to_public_hosts_and_http_to_loopback_are_taken(url: str) -> None:
    assert check_url(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.firm.example/x",
        "https://10.0.0.1/x",
        "https://192.168.1.1/x",
        "https://169.254.169.254/latest",
        "https://[fd00::1]/x",
        "https://[::ffff:10.0.0.1]/x",
        "https://0.0.0.0/x",
        "https://2130706433/x",
        "https://0x7f.1/x",
        "https://0.aa*",
        "https://a_b.firm.example/x",
        "https://-a.firm.example/x",
        "https://a.firm-/x",
        "https://a..example/x",
        "https://.example/x",
        "https://firm.example../x",
        f"https://{'a' * 64}.example/x",
        f"https://{'.'.join(['abc'] * 64)}/x",
        "https://[v1.a:b]/x",
        "https://[2606:4700::1111%eth0]/x",
        "https://a<b.example/x",
        "https://intranet/x",
        "https://db.internal/x",
        "https://user:secret@hooks.firm.example/x",
        "ftp://hooks.firm.example/x",
        "//hooks.firm.example/x",
        "https://",
        "https://[/x",
        "https://a.example:99999/",
        "https://exa mple.example/x",
        "",
        "nonsense",
    ],
)
def test_every_other_address_is_refused(url: str) -> None:
    with pytest.raises(BadRequest) as error:
        check_url(url)
    assert error.value.field == "url"


async def test_a_refused_address_is_400_and_names_the_url(api: httpx.AsyncClient) -> None:
    for url in ("https://10.0.0.1/x", "nonsense", "", None, 7):
        response = await api.post("/webhooks", json={"url": url, "events": ["lead.bounced"]})
        assert (response.status_code, response.json()["error"]["field"]) == (400, "url")


class FakeResolver(AbstractResolver):
    """Looks every name up in a small book."""

    def __init__(self, **book: str) -> None:
        self._book = book

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=0)
            for address in self._book[host].split()
        ]

    async def close(self) -> None:
        self._book.clear()


async def test_a_public_name_that_leads_to_a_private_address_is_refused() -> None:
    book = {
        "good.example": "8.8.8.8 10.0.0.1",
        "evil.example": "127.0.0.1 169.254.169.254",
        "localhost": "127.0.0.1",
    }
    resolver = PublicResolver(FakeResolver(**book))
    assert [one["host"] for one in await resolver.resolve("good.example")] == ["8.8.8.8"]
    assert [one["host"] for one in await resolver.resolve("localhost")] == ["127.0.0.1"]
    with pytest.raises(OSError, match="private address"):
        await resolver.resolve("evil.example")
