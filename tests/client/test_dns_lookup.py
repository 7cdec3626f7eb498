"""Looking domains up: two resolvers, and whatever DNS may answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime

import dns.message
import dns.rcode
import dns.rdata
import dns.rrset
import pytest

from shared.domain_health import lookup
from shared.domain_health.lookup import Lookup, Pace
from shared.domain_health.report import CheckReport, Code, DomainReport
from tests.kit.dns_server import DnsServer, running
from tests.pure.domain_health.zones import DOMAIN, GOOD, Zones, txt

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
FAST = Pace(100_000.0)


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as opened:
        yield opened


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    # A resolver that is silent on purpose is waited for in full, twice for each question.
    monkeypatch.setattr(lookup, "TRY_SECONDS", 0.3)
    monkeypatch.setattr(lookup, "TCP_SECONDS", 0.5)


async def serve(stack: AsyncExitStack, server: DnsServer | Zones) -> DnsServer:
    made = DnsServer(respond=server.respond) if isinstance(server, Zones) else server
    return await stack.enter_async_context(running(made))


async def look(*servers: DnsServer) -> DomainReport:
    return (await Lookup([one.address for one in servers], pace=FAST).look(DOMAIN, None, NOON)).report


async def check(*servers: DnsServer) -> CheckReport:
    return (await look(*servers)).of("spf")


async def test_a_good_domain_needs_one_resolver(stack: AsyncExitStack) -> None:
    first, second = [await serve(stack, Zones(GOOD)) for _ in range(2)]
    assert (await look(first, second)).value == "good"
    # What is good is believed at once: asking twice would double the queries of every check.
    assert second.asked == []


async def test_no_query_has_anything_in_it_but_the_domain(stack: AsyncExitStack) -> None:
    server = await serve(stack, Zones(GOOD))
    await look(server)
    assert server.asked
    # Resolvers belong to other people, who must learn nothing about leads and accounts.
    assert all(name == DOMAIN or name.endswith(f".{DOMAIN}") for name in server.asked)


BROKEN = GOOD.replace("v=spf1", "not-spf")


def failing(code: dns.rcode.Rcode) -> Callable[[dns.message.Message], dns.message.Message]:
    def respond(query: dns.message.Message) -> dns.message.Message:
        response = dns.message.make_response(query)
        response.set_rcode(code)
        return response

    return respond


@pytest.mark.parametrize(
    ("rcode", "code"),
    [
        (dns.rcode.SERVFAIL, "server-failure"),
        (dns.rcode.REFUSED, "refused"),
        (dns.rcode.FORMERR, "odd-answer"),
        (dns.rcode.NOTIMP, "odd-answer"),
    ],
)
async def test_a_refusing_resolver_makes_everything_unknown(
    stack: AsyncExitStack, rcode: dns.rcode.Rcode, code: Code
) -> None:
    servers = [await serve(stack, DnsServer(respond=failing(rcode))) for _ in range(2)]
    report = await look(*servers)
    assert {one.value for one in report.checks} == {"unknown"}
    assert {one.code for one in report.checks} == {code}


async def test_a_silent_resolver_is_asked_three_questions_and_no_more(stack: AsyncExitStack) -> None:
    server = await serve(stack, DnsServer(respond=Zones(GOOD).respond, udp=lambda *_: []))
    report = await look(server)
    assert {one.code for one in report.checks} == {"timeout"}
    # Beyond that, a dead resolver would hold up the domains behind this one.
    assert len(server.asked) == lookup.MOST_TIMEOUTS * lookup.TRIES


async def test_a_forged_answer_is_passed_over(stack: AsyncExitStack) -> None:
    def forged(query: dns.message.Message, response: dns.message.Message) -> list[bytes]:
        lie = Zones(BROKEN).respond(query)
        # Who can't read the query has to guess its id; the packet after it has the id and another question.
        lie.id = (query.id + 1) % 65_536
        other = dns.message.make_response(dns.message.make_query("evil.example", "TXT"))
        other.id = query.id
        return [b"", b"\x00" * 12, lie.to_wire(), other.to_wire(), response.to_wire()]

    server = await serve(stack, DnsServer(respond=Zones(GOOD).respond, udp=forged))
    assert (await check(server)).value == "good"


async def test_what_is_cut_off_is_asked_for_by_tcp(stack: AsyncExitStack) -> None:
    # Sixty long records fit into no UDP packet of 1,232 bytes, so that the server truncates.
    many = "\n".join(f'{DOMAIN}. TXT "verification={n:0200}"' for n in range(60))
    server = await serve(stack, Zones(GOOD, many))
    found = await check(server)
    assert (found.value, found.records) == ("good", ("v=spf1 ip4:192.0.2.0/24 -all",))


HOSTILE = "v=spf1 \x1b[31m\x1b]0;owned\x07 <!channel> *bold* \u202e -all"


@pytest.mark.parametrize("text", [HOSTILE, "v=spf1 \udcff\udcfe\udc80 -all", "v=spf1 \x00 -all"])
async def test_nothing_in_a_record_reaches_a_screen_raw(stack: AsyncExitStack, text: str) -> None:
    zones = Zones(GOOD)
    zones.remove(DOMAIN, "TXT")
    zones.add(f"{DOMAIN}. TXT {txt(text)}")
    servers = [await serve(stack, zones) for _ in range(2)]
    found = await check(*servers)
    assert found.code == "syntax"
    shown = " ".join((*found.records, found.about))
    assert shown
    assert not set(shown) & {"\x1b", "\x07", "\x00", "\u202e"}
    assert not any(0xDC80 <= ord(one) <= 0xDCFF for one in shown)
