"""The resolvers of the sandbox: good zones by default, changes and faults on demand, nothing of anybody else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import dns.asyncquery
import dns.exception
import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import httpx
import pytest

from sandbox.service import Service
from sandbox.service.dns.zones import CHANGES

pytestmark = pytest.mark.usefixtures("small_account")
GOOGLE, MICROSOFT = "getacme.example", "useacme.example"
"""The first and the second domain of the account."""


@pytest.fixture
async def act(service: Service) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(verify=False, base_url=f"{service.control_url}/dns") as client:
        yield client


async def ask(
    service: Service,
    name: str,
    kind: str = "TXT",
    *,
    resolver: int = 1,
    over: Any = None,
    seconds: float = 5.0,
) -> dns.message.Message:
    """One query, over UDP and where that is truncated over TCP, as resolver libraries do it."""
    host, _, port = service.dns_resolvers[resolver - 1].partition(":")
    query = dns.message.make_query(name, kind, use_edns=True, payload=4_096)
    response: dns.message.Message
    if over is not None:
        response = await over(query, host, port=int(port), timeout=seconds)
    else:
        response, _ = await dns.asyncquery.udp_with_fallback(query, host, port=int(port), timeout=seconds)
    return response


def texts(response: dns.message.Message) -> list[bytes]:
    return [
        b"".join(rdata.strings)
        for rrset in response.answer
        if rrset.rdtype == dns.rdatatype.TXT
        for rdata in rrset
    ]


def values(response: dns.message.Message) -> list[str]:
    return [rdata.to_text() for rrset in response.answer for rdata in rrset]


@pytest.mark.parametrize(
    ("domain", "include", "selector"),
    [(GOOGLE, "_spf.google.com", "google"), (MICROSOFT, "spf.protection.outlook.com", "selector1")],
)
async def test_every_zone_is_good_at_first(
    service: Service, domain: str, include: str, selector: str
) -> None:
    [policy] = [text for text in texts(await ask(service, domain)) if text.startswith(b"v=spf1")]
    assert f"include:{include}".encode() in policy
    assert [text[:6] for text in texts(await ask(service, include))] == [b"v=spf1"]
    assert texts(await ask(service, f"_dmarc.{domain}"))[0].startswith(b"v=DMARC1; p=quarantine")
    [key] = texts(await ask(service, f"{selector}._domainkey.{domain}", resolver=2))
    assert key.startswith(b"v=DKIM1; k=rsa; p=MIIBIjAN")
    # TCP as well: a resolver library repeats a truncated answer there.
    [mx] = values(await ask(service, domain, "MX", over=dns.asyncquery.tcp))
    assert values(await ask(service, mx.split()[1], "A"))
    assert len(values(await ask(service, domain, "NS"))) == 2


async def test_what_is_nobodys_of_the_account_is_refused_or_does_not_exist(service: Service) -> None:
    # A resolver that answered for the world would hide a checker that asks for names it shouldn't.
    assert (await ask(service, "slack.com")).rcode() == dns.rcode.REFUSED
    absent = await ask(service, f"nobody.{GOOGLE}")
    assert (absent.rcode(), absent.authority[0].rdtype) == (dns.rcode.NXDOMAIN, dns.rdatatype.SOA)
    # RFC 8020: a name above others exists, without records; NXDOMAIN would deny all below it.
    empty = await ask(service, f"_domainkey.{GOOGLE}")
    assert (empty.rcode(), empty.answer) == (dns.rcode.NOERROR, [])


@pytest.mark.parametrize("domain", [GOOGLE, MICROSOFT])
async def test_each_change_shows_in_the_zone_and_is_answered(
    service: Service, act: httpx.AsyncClient, domain: str
) -> None:
    names = [(domain, "TXT"), (domain, "MX"), (domain, "NS"), (f"_dmarc.{domain}", "TXT")]
    # The selectors of Google, of Microsoft, and one that nobody has.
    names += [(f"{selector}._domainkey.{domain}", "TXT") for selector in ("google", "selector1", "x")]

    async def answered() -> list[tuple[int, list[str]]]:
        found = [await ask(service, name, kind) for name, kind in names]
        return [(one.rcode(), sorted(values(one))) for one in found]

    before = await answered()
    for change in CHANGES:
        assert (await act.post("/changes", json={"domain": domain, "change": change})).status_code == 201
        assert (change, await answered()) != (change, before)
        await act.delete("/changes", params={"domain": domain})
        assert await answered() == before


async def test_any_record_can_be_set_and_put_back(service: Service, act: httpx.AsyncClient) -> None:
    own = {"name": "s1._domainkey.getacme.example", "type": "TXT", "values": ["v=DKIM1; p=Zm9v", "ü"]}
    assert (await act.put("/records", json=own)).status_code == 200
    assert sorted(texts(await ask(service, str(own["name"])))) == [b"v=DKIM1; p=Zm9v", "ü".encode()]
    await act.put("/records", json={**own, "values": None})
    assert (await ask(service, str(own["name"]))).rcode() == dns.rcode.NXDOMAIN


@pytest.mark.parametrize(("kind", "rcode"), [("servfail", "SERVFAIL"), ("lie", "NXDOMAIN")])
async def test_a_resolver_fails_as_often_as_it_was_told_to(
    service: Service, act: httpx.AsyncClient, kind: str, rcode: str
) -> None:
    await act.post("/faults", json={"kind": kind, "name": GOOGLE, "type": "TXT", "resolver": 1, "times": 1})
    assert (await ask(service, MICROSOFT)).rcode() == dns.rcode.NOERROR
    assert (await ask(service, GOOGLE, "MX")).rcode() == dns.rcode.NOERROR
    assert (await ask(service, GOOGLE, resolver=2)).rcode() == dns.rcode.NOERROR
    assert dns.rcode.to_text((await ask(service, f"_dmarc.{GOOGLE}")).rcode()) == rcode
    assert (await ask(service, f"_dmarc.{GOOGLE}")).rcode() == dns.rcode.NOERROR


async def test_silence_is_no_answer(service: Service, act: httpx.AsyncClient) -> None:
    await act.post("/faults", json={"kind": "timeout"})
    for over in (dns.asyncquery.udp, dns.asyncquery.tcp):
        with pytest.raises((dns.exception.DNSException, EOFError, OSError)):
            await ask(service, GOOGLE, over=over, seconds=0.3)


async def test_a_drip_never_ends(service: Service, act: httpx.AsyncClient) -> None:
    # Each byte resets a timeout that is meant for one read: only a deadline over all of them ends it.
    await act.post("/faults", json={"kind": "drip"})
    with pytest.raises(dns.exception.Timeout):
        await ask(service, GOOGLE, seconds=0.5)
