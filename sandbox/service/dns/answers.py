"""A query to a response: the zones as DNS messages."""

from __future__ import annotations

import copy

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.opcode
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rdtypes.ANY.TXT
import dns.rrset

from sandbox.service.dns.zones import AccountZones

UDP_BYTES = 1_232
"""The longest response over UDP, whatever the client has room for: it isn't fragmented (DNS Flag Day 2020)."""
TCP_BYTES = 65_535
_ALIASES = 16
"""The longest chain of aliases in an answer; a loop is sent as far as this."""
_SOA = b"ns1.dns-host.example. hostmaster.dns-host.example. 1 7200 900 1209600 300"


def question_of(wire: bytes) -> tuple[dns.message.QueryMessage, str, str] | None:
    """A query, the name it asks for (in lower case and without the final dot), and the type; None if it isn't one."""
    try:
        query = dns.message.from_wire(wire)
    except (dns.exception.DNSException, ValueError):
        return None
    if not isinstance(query, dns.message.QueryMessage) or query.flags & dns.flags.QR:
        return None
    if len(query.question) != 1:
        return None
    asked = query.question[0]
    return query, asked.name.to_text(omit_final_dot=True).lower(), dns.rdatatype.to_text(asked.rdtype)


def respond(
    query: dns.message.QueryMessage, name: str, kind: str, zones: AccountZones
) -> dns.message.Message:
    """Return a resolver's answer to a query, without any fault."""
    response = dns.message.make_response(query, recursion_available=True)
    if query.opcode() != dns.opcode.QUERY or query.question[0].rdclass != dns.rdataclass.IN:
        response.set_rcode(dns.rcode.NOTIMP)
        return response
    if zones.apex(name) is None:
        response.set_rcode(dns.rcode.REFUSED)
        return response
    for _ in range(_ALIASES):
        alias = zones.find(name, "CNAME")
        if not alias or kind == "CNAME":
            break
        _add(response.answer, name, "CNAME", alias, ttl=zones.ttl)
        name = alias[0].decode().rstrip(".")
    values = zones.find(name, kind)
    if values:
        _add(response.answer, name, kind, values, ttl=zones.ttl)
        return response
    if values is None:
        response.set_rcode(dns.rcode.NXDOMAIN)
    # The zone's SOA says for how long the absence holds (RFC 2308).
    apex = zones.apex(name) or name
    _add(response.authority, apex, "SOA", zones.find(apex, "SOA") or [_SOA], ttl=zones.ttl)
    return response


def _add(section: list[dns.rrset.RRset], name: str, kind: str, values: list[bytes], *, ttl: int) -> None:
    rdtype = dns.rdatatype.from_text(kind)
    # A loop of aliases comes by the same name again: it's one set.
    if any(one.name == dns.name.from_text(name) and one.rdtype == rdtype for one in section):
        return
    rrset = dns.rrset.RRset(dns.name.from_text(name), dns.rdataclass.IN, rdtype)
    rrset.update_ttl(ttl)
    for value in values:
        rrset.add(_rdata(rdtype, value))
    section.append(rrset)


def _rdata(rdtype: dns.rdatatype.RdataType, value: bytes) -> dns.rdata.Rdata:
    if rdtype == dns.rdatatype.TXT:
        strings = [value[start : start + 255] for start in range(0, len(value), 255)] or [b""]
        return dns.rdtypes.ANY.TXT.TXT(dns.rdataclass.IN, rdtype, strings)
    return dns.rdata.from_text(dns.rdataclass.IN, rdtype, value.decode())


def failed(response: dns.message.Message, rcode: dns.rcode.Rcode) -> dns.message.Message:
    """Return the same response without records, and with another code."""
    empty = copy.copy(response)
    empty.sections = [response.question, [], [], []]
    empty.set_rcode(rcode)
    return empty


def wrong_value(kind: str, value: str) -> str | None:
    """Return the mistake in a value of a record; None if there is none."""
    try:
        _rdata(dns.rdatatype.from_text(kind), value.encode())
    except (dns.exception.DNSException, ValueError) as error:
        return str(error)
    return None
