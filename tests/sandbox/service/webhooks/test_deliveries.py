"""Deliveries: signed, retried for a day, and no subscriber in another's way."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from collections import Counter
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from hypothesis import given
from hypothesis import strategies as st

from sandbox.service.base.clock import DAY
from sandbox.service.base.errors import BadRequest
from sandbox.service.webhooks.allowed_urls import check_url
from sandbox.service.webhooks.delivery_queue import RETRIES, retry_at
from sandbox.service.webhooks.sender import PublicResolver
from tests.sandbox.service.subscriber import Receiver
from tests.waiting import until

KINDS = [
    "lead.replied",
    "reply.interested",
    "reply.ooo",
    "lead.bounced",
    "lead.unsubscribed",
    "sequence.completed",
    "domain.paused",
]


async def subscribe(api: httpx.AsyncClient, url: str, *kinds: str) -> str:
    response = await api.post("/webhooks", json={"url": url, "events": list(kinds) or KINDS})
    assert response.status_code == 201, response.text
    assert response.json()["id"].startswith("wh_")
    return str(response.json()["secret"])


async def happen(control: httpx.AsyncClient, kind: str, **request: Any) -> None:
    response = await control.post("/events", json={"kind": kind} | request)
    assert response.status_code == 201, response.text


async def deliveries(control: httpx.AsyncClient, **query: str) -> list[dict[str, Any]]:
    return list((await control.get("/deliveries", params=query)).json()["data"])


async def test_every_delivery_carries_an_hmac_sha256_of_the_raw_body_in_hex(
    api: httpx.AsyncClient, control: httpx.AsyncClient, receiver: Receiver
) -> None:
    secret = await subscribe(api, receiver.url, "reply.interested")
    await happen(control, "reply.interested", reply="Überraschung 🎉 <!channel>\u2028")
    [delivery] = await receiver.wait_for(1)
    assert delivery.signed_with(secret)
    assert not delivery.signed_with(secret + "x")
    assert delivery.headers["Content-Type"] == "application/json"


async def test_the_payload_of_reply_interested_is_the_documents(
    api: httpx.AsyncClient, control: httpx.AsyncClient, receiver: Receiver
) -> None:
    await subscribe(api, receiver.url, "reply.interested")
    await happen(control, "reply.interested", reply="Yes")
    payload = json.loads((await receiver.wait_for(1))[0].body)
    assert set(payload) == {"event", "lead", "sequence", "step", "reply", "inbox"}
    assert set(payload["lead"]) == {"email", "first_name", "company"}
    assert all(isinstance(value, str) for value in payload["lead"].values())
    assert (payload["event"], payload["reply"], type(payload["step"])) == ("reply.interested", "Yes", int)
    assert payload["sequence"] in {one["name"] for one in (await api.get("/sequences")).json()["data"]}
    assert payload["inbox"] in {one["email"] for one in (await api.get("/inboxes")).json()["data"]}


async def test_all_seven_kinds_are_delivered(
    api: httpx.AsyncClient, control: httpx.AsyncClient, receiver: Receiver
) -> None:
    await subscribe(api, receiver.url)
    for kind in KINDS:
        await happen(control, kind)
    arrived = [json.loads(one.body) for one in await receiver.wait_for(len(KINDS) + 1)]
    by_kind = {payload["event"]: payload for payload in arrived}
    assert set(by_kind) == set(KINDS)
    assert by_kind["reply.ooo"]["return_date"] > "2020-01-01"
    assert by_kind["lead.bounced"]["bounce_type"] == "hard"
    assert by_kind["domain.paused"]["inboxes"]


async def test_an_auto_pause_lets_the_inboxes_of_the_domain_rest(
    api: httpx.AsyncClient, control: httpx.AsyncClient, receiver: Receiver
) -> None:
    await subscribe(api, receiver.url, "domain.paused")
    await happen(control, "domain.paused", domain="tryacme.example")
    payload = json.loads((await receiver.wait_for(1))[0].body)
    resting = {
        one["email"] for one in (await api.get("/inboxes")).json()["data"] if one["status"] == "resting"
    }
    assert resting == set(payload["inboxes"])
    assert {address.partition("@")[2] for address in resting} == {"tryacme.example"}


async def test_a_subscription_receives_only_the_kinds_it_lists_and_only_of_its_workspace(
    api: httpx.AsyncClient, globex: httpx.AsyncClient, control: httpx.AsyncClient, receiver: Receiver
) -> None:
    await subscribe(globex, receiver.url)
    await subscribe(api, receiver.url, "lead.bounced")
    await happen(control, "reply.interested")
    await happen(control, "lead.bounced")
    await until(lambda: _settled(control))
    assert [json.loads(one.body)["event"] for one in receiver.received] == ["lead.bounced"]


async def _settled(control: httpx.AsyncClient) -> bool:
    return not await deliveries(control, state="pending") and bool(await deliveries(control))


async def test_a_failure_is_anything_but_a_2xx(
    api: httpx.AsyncClient, control: httpx.AsyncClient, receiver: Receiver
) -> None:
    receiver.answers = [301, 304, 400, 401, 404, 410, 500, 503, 200, 202, 204]
    for _ in receiver.answers:
        await subscribe(api, receiver.url, "lead.bounced")
    await happen(control, "lead.bounced")
    await until(lambda: _all_attempted(control, 11))
    states = [one["state"] for one in await deliveries(control)]
    assert (states.count("pending"), states.count("delivered")) == (8, 3)
    assert [one.path for one in receiver.received] == ["/hook"] * 11


async def test_a_failed_delivery_is_retried_5_times_over_24_hours_byte_for_byte(
    globex: httpx.AsyncClient, control: httpx.AsyncClient, receiver: Receiver
) -> None:
    await subscribe(globex, receiver.url, "domain.paused")
    receiver.status = 500
    await happen(control, "domain.paused", workspace="globex")
    await receiver.wait_for(1)
    for count, seconds in enumerate((70, 670, 4_000, 20_000, 70_000), start=2):
        await until(partial(_made, control, count - 1))
        await control.post("/time", json={"advance": seconds})
        await receiver.wait_for(count)
    await until(lambda: _made(control, 6))
    await control.post("/time", json={"advance": DAY})
    [delivery] = await deliveries(control)
    assert (delivery["state"], delivery["attempts"]) == ("failed", 6)
    assert {one.body for one in receiver.received} == {delivery["body"].encode()}
    made = (await control.get(f"/deliveries/{delivery['id']}/attempts")).json()["data"]
    assert [(one["number"], one["status"]) for one in made] == [(number, 500) for number in range(1, 7)]


async def _made(control: httpx.AsyncClient, attempts: int) -> bool:
    return any(one["attempts"] >= attempts for one in await deliveries(control))


@pytest.mark.parametrize("patience", [2.0])
async def test_no_answer_in_time_is_a_failure_and_holds_up_nobody_else(
    patience: float, api: httpx.AsyncClient, control: httpx.AsyncClient, receiver: Receiver
) -> None:
    async with Receiver() as slow:
        slow.delay = 10 * patience
        await subscribe(api, slow.url, "lead.bounced")
        await subscribe(api, "http://127.0.0.1:1/nobody", "lead.bounced")
        await subscribe(api, receiver.url, "lead.bounced")
        await happen(control, "lead.bounced", count=20)
        await receiver.wait_for(20)
        waiting = [one for one in await deliveries(control) if not one["attempts"]]
        assert len(waiting) >= 20, "nobody waited until the slow one had failed"
        await until(lambda: _all_attempted(control, 60))
    found = await deliveries(control)
    assert Counter(one["state"] for one in found) == {"delivered": 20, "pending": 40}
    made = [await _attempts(control, one["id"]) for one in found if one["state"] == "pending"]
    assert [one["error"] for (one,) in made].count("no answer in time") == 20


async def _attempts(control: httpx.AsyncClient, delivery: str) -> list[dict[str, Any]]:
    return list((await control.get(f"/deliveries/{delivery}/attempts")).json()["data"])


async def _all_attempted(control: httpx.AsyncClient, count: int) -> bool:
    found = await deliveries(control)
    return len(found) == count and all(one["attempts"] for one in found)


async def test_a_delivery_can_be_replayed(
    api: httpx.AsyncClient, control: httpx.AsyncClient, receiver: Receiver
) -> None:
    await subscribe(api, receiver.url, "lead.bounced")
    await happen(control, "lead.bounced")
    await receiver.wait_for(1)
    await until(lambda: _settled(control))
    [delivery] = await deliveries(control)
    await control.post(f"/deliveries/{delivery['id']}/replay")
    first, second = await receiver.wait_for(2)
    assert (first.body, first.headers["X-Service-Signature"]) == (
        second.body,
        second.headers["X-Service-Signature"],
    )
    assert (await control.post("/deliveries/dl_00000000/replay")).status_code == 404


async def test_the_secret_is_shown_once(
    api: httpx.AsyncClient, control: httpx.AsyncClient, receiver: Receiver
) -> None:
    secrets = {await subscribe(api, receiver.url, "lead.bounced") for _ in range(2)}
    assert len(secrets) == 2
    listed = (await control.get("/subscriptions")).text
    assert not [secret for secret in secrets if secret in listed]


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.firm.example/x",
        "https://8.8.8.8:8443/x",
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


async def test_unknown_kinds_and_no_kinds_are_refused(api: httpx.AsyncClient) -> None:
    for events, field in (
        (["lead.lost"], "events[0]"),
        ([], "events"),
        ("lead.bounced", "events"),
        (None, "events"),
    ):
        response = await api.post("/webhooks", json={"url": "https://a.example/x", "events": events})
        assert (response.status_code, response.json()["error"]["field"]) == (400, field)


@given(key=st.integers(), first=st.floats(0, 4e9))
def test_retries_come_with_growing_gaps_within_24_hours(key: int, first: float) -> None:
    times = [first, *(retry_at(first, attempts, key=key) or 0.0 for attempts in range(1, RETRIES + 1))]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert gaps == sorted(gaps)
    assert gaps[0] > 50
    assert DAY * 0.85 < times[-1] - first <= DAY + 0.001
    assert retry_at(first, RETRIES + 1, key=key) is None


async def test_an_untrusted_certificate_is_a_failed_delivery_that_says_so(
    api: httpx.AsyncClient, control: httpx.AsyncClient
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).with_name("self_signed.pem"))
    refusing = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context)
    async with refusing:
        port = refusing.sockets[0].getsockname()[1]
        await subscribe(api, f"https://localhost:{port}/hook", "lead.bounced")
        await happen(control, "lead.bounced")
        await until(lambda: _made(control, 1))
    [delivery] = await deliveries(control)
    assert delivery["state"] == "pending"
    [attempt] = (await control.get(f"/deliveries/{delivery['id']}/attempts")).json()["data"]
    assert (attempt["status"], attempt["error"]) == (
        None,
        "the certificate is not trusted: self-signed certificate",
    )


async def test_why_there_was_no_answer_is_said_in_words(
    api: httpx.AsyncClient, control: httpx.AsyncClient
) -> None:
    rude = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    mute = await asyncio.start_server(_mutter, "127.0.0.1", 0)
    async with rude, mute:
        ports = [server.sockets[0].getsockname()[1] for server in (rude, mute)]
        for port in (*ports, 1):
            await subscribe(api, f"http://127.0.0.1:{port}/hook", "lead.bounced")
        await happen(control, "lead.bounced")
        await until(lambda: _all_attempted(control, 3))
    said = set()
    for delivery in await deliveries(control):
        made = (await control.get(f"/deliveries/{delivery['id']}/attempts")).json()["data"]
        said.add(made[0]["error"])
    assert len(said) == 3
    assert "the connection was closed before an answer" in said
    assert any(one.startswith("no connection: ") for one in said)
    assert any(one.startswith("no HTTP answer") for one in said)


def _mutter(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"hello?\r\n\r\n")
    writer.close()


class Names(AbstractResolver):
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
    resolver = PublicResolver(Names(**book))
    assert [one["host"] for one in await resolver.resolve("good.example")] == ["8.8.8.8"]
    assert [one["host"] for one in await resolver.resolve("localhost")] == ["127.0.0.1"]
    with pytest.raises(OSError, match="private address"):
        await resolver.resolve("evil.example")
