"""Zones in memory: what a resolver would answer for them, as messages and as answers."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rrset

from shared.domain_health.checks import Answer, Failed, judge
from shared.domain_health.lookup import read_answer
from shared.domain_health.report import Check, CheckReport, Code

DOMAIN = "acme.example"
TTL = 300
GOOD = """
acme.example. MX 10 mx.acme.example.
acme.example. TXT "v=spf1 ip4:192.0.2.0/24 -all"
acme.example. TXT "some-verification=1"
acme.example. NS ns1.dns.example.
acme.example. NS ns2.dns.example.
acme.example. SOA ns1.dns.example. host.acme.example. 2026112301 7200 3600 1209600 300
_dmarc.acme.example. TXT "v=DMARC1; p=reject; rua=mailto:d@acme.example"
mx.acme.example. A 192.0.2.1
"""


class Zones:
    """The records of all names, each line `NAME TYPE DATA`."""

    def __init__(self, *texts: str) -> None:
        self.records: defaultdict[dns.name.Name, list[dns.rdata.Rdata]] = defaultdict(list)
        self.add(*texts)

    def add(self, *texts: str) -> None:
        for line in filter(None, (line.strip() for text in texts for line in text.splitlines())):
            name, kind, data = line.split(None, 2)
            record = dns.rdata.from_text(dns.rdataclass.IN, kind, data)
            self.records[dns.name.from_text(name)].append(record)

    def remove(self, name: str, kind: str) -> None:
        there = dns.name.from_text(name)
        self.records[there] = [
            one for one in self.records[there] if one.rdtype != dns.rdatatype.from_text(kind)
        ]
        if not self.records[there]:
            del self.records[there]

    def respond(self, query: dns.message.Message) -> dns.message.Message:
        """As a resolver does that follows CNAMEs."""
        response = dns.message.make_response(query)
        response.flags |= dns.flags.RA
        (asked,) = query.question
        name = asked.name.canonicalize()
        for _ in range(20):
            found = self._at(name)
            if found is None:
                response.set_rcode(dns.rcode.NXDOMAIN)
                return response
            wanted = [one for one in found if one.rdtype == asked.rdtype]
            if wanted:
                response.answer.append(dns.rrset.from_rdata_list(name, TTL, wanted))
                return response
            alias = [one for one in found if one.rdtype == dns.rdatatype.CNAME]
            if not alias:
                return response
            response.answer.append(dns.rrset.from_rdata_list(name, TTL, alias))
            name = alias[0].target.canonicalize()  # type: ignore[attr-defined] # of a CNAME
        return response

    def _at(self, name: dns.name.Name) -> list[dns.rdata.Rdata] | None:
        """The records of a name, none of a name above others; None: there is no such name."""
        if name in self.records:
            return self.records[name]
        if any(one.is_subdomain(name) for one in self.records):
            return []
        return None

    def answer(self, name: str, kind: str) -> Answer | Code:
        # As over TCP, whatever one packet of UDP holds: truncation is the look-up's own test.
        sent = self.respond(dns.message.make_query(name, kind)).to_wire(max_size=65_535)
        return read_answer(dns.message.from_wire(sent))


def judged(
    zones: Zones,
    domain: str = DOMAIN,
    *,
    keys: Collection[str] = (),
    failing: Mapping[tuple[str, str], Code] | None = None,
) -> dict[Check, CheckReport]:
    """The verdicts on a domain; what is `failing` is unknown, whatever the zones have."""

    async def ask(name: str, kind: str) -> Answer:
        answer = (failing or {}).get((name, kind)) or zones.answer(name, kind)
        if isinstance(answer, str):
            raise Failed(answer)
        return answer

    return {one.check: one for one in asyncio.run(judge(domain, ask, keys=keys))}


def txt(text: str) -> str:
    """A TXT record's strings, of 255 bytes at most."""
    return " ".join(_quoted(text.encode("utf-8", "surrogateescape")))


def _quoted(data: bytes) -> Iterator[str]:
    for start in range(0, max(1, len(data)), 255):
        yield '"' + "".join(f"\\{byte:03d}" for byte in data[start : start + 255]) + '"'
