"""Which addresses a webhook may have."""

from __future__ import annotations

import httpx
import pytest

EVENTS = ["lead.bounced"]
TAKEN = [
    "https://hooks.firm.example/x",
    "https://hooks.firm.example:8443/x",
    "https://hooks.firm.example./x",
    "https://xn--bcher-kva.example/x",
    f"https://{'a' * 63}.example/x",
    "http://127.0.0.1:9/x",
    "http://localhost/x",
    "http://[::1]:9/",
    "https://127.0.0.1:9/x",
]
REFUSED = [
    "http://hooks.firm.example/x",
    "http://localhost.evil.example/x",
    "https://0.aa*",
    "https://8.8.8.8/x",
    "https://10.0.0.1/x",
    "https://169.254.169.254/latest",
    "https://0.0.0.0/x",
    "https://2130706433/x",
    "https://0x7f.1/x",
    "https://[fd00::1]/x",
    "https://[::ffff:10.0.0.1]/x",
    "https://a_b.firm.example/x",
    "https://-a.firm.example/x",
    "https://a.firm-/x",
    "https://a..example/x",
    "https://.example/x",
    "https://firm.example../x",
    f"https://{'a' * 64}.example/x",
    "https://[v1.a:b]/x",
    "https://[2606:4700::1111%eth0]/x",
    "https://a<b.example/x",
    "https://user:secret@hooks.firm.example/x",
    "https://a.example:99999/",
    "https://a.example:0/",
    "https://exa mple.example/x",
    "ftp://hooks.firm.example/x",
    "//hooks.firm.example/x",
    "https://",
    "https://[/x",
    "nonsense",
    "",
    None,
    7,
]


async def test_https_to_named_hosts_and_http_to_this_machine_are_taken(api: httpx.AsyncClient) -> None:
    for url in TAKEN:
        answer = await api.post("/webhooks", json={"url": url, "events": EVENTS})
        assert (url, answer.status_code) == (url, 201)


@pytest.mark.parametrize("url", REFUSED)
async def test_every_other_address_is_400_and_names_the_url(api: httpx.AsyncClient, url: object) -> None:
    answer = await api.post("/webhooks", json={"url": url, "events": EVENTS})
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "url")
