"""Verdicts on 200 generated zones, compared with checkdmarc's, which reads the RFCs independently.

Where both differ by design, the zones have no such records: checkdmarc ignores what follows `all`, be it invalid (by RFC
7208, 4.6 a syntax error anywhere breaks the record), and it rejects a wrong DMARC policy also where there is a `rua`
(by RFC 9989, 4.10.1 that is p=none). Which of several fatal errors is told first, the RFC leaves open.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import dns.message
import dns.name
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.resolver
from checkdmarc import dmarc as their_dmarc
from checkdmarc import spf as their_spf

from shared.domain_health import spf
from shared.domain_health.answers import Answer, Answers, Question, Unanswered
from shared.domain_health.report import Check, Code, Value
from tests.shared.domain_health.zones import Zones, judged, txt

SEED = 7208
ZONES = 200
LIMITS = {Code.TOO_MANY_LOOKUPS, Code.TOO_MANY_VOIDS}
CODES: dict[type[Exception], set[Code]] = {
    their_spf.MultipleSPFRTXTRecords: {Code.SEVERAL, Code.BROKEN_INCLUDE},
    their_spf.SPFRecordNotFound: {Code.MISSING, Code.NO_DOMAIN, Code.BROKEN_INCLUDE},
    their_spf.SPFSyntaxError: {Code.SYNTAX, Code.BROKEN_INCLUDE},
    their_spf.SPFTooManyDNSLookups: LIMITS,
    their_spf.SPFTooManyVoidDNSLookups: LIMITS,
    their_spf.SPFRedirectLoop: {Code.LOOP},
    their_spf.SPFIncludeLoop: {Code.LOOP},
}
GOOD = {Code.FINE, Code.NEUTRAL, Code.ALLOWS_ALL}
FINAL = {"+": "pass", "-": "fail", "~": "softfail", "?": "neutral", "": "neutral"}


class InMemory(dns.resolver.Resolver):
    """dnspython's resolver, over zones in memory."""

    def __init__(self, zones: Zones) -> None:
        super().__init__(configure=False)
        self.nameservers = ["127.0.0.1"]
        self._zones = zones

    def resolve(self, qname: Any, rdtype: Any = "A", *args: Any, **kwargs: Any) -> dns.resolver.Answer:
        query = dns.message.make_query(qname, rdtype)
        response = dns.message.from_wire(self._zones.respond(query).to_wire(max_size=65_535))
        assert isinstance(response, dns.message.QueryMessage)
        name, kind = query.question[0].name, query.question[0].rdtype
        if response.rcode() == dns.rcode.NXDOMAIN:
            raise dns.resolver.NXDOMAIN(qnames=[name], responses={name: response})  # type: ignore[no-untyped-call] # of the library
        answer = dns.resolver.Answer(name, kind, dns.rdataclass.IN, response)
        if answer.rrset is None:
            raise dns.resolver.NoAnswer(response=response)  # type: ignore[no-untyped-call] # of the library
        return answer


class Generator:
    """One zone after another, each with names of its own."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # the same zones in every run

    def zone(self, number: int) -> tuple[str, Zones]:
        self._domain = f"d{number}.example"
        self._zones = Zones(
            f"{self._domain}. A 192.0.2.1",
            f"{self._domain}. MX 10 mx.{self._domain}.",
            f"mx.{self._domain}. A 192.0.2.2",
            f"mx.{self._domain}. AAAA 2001:db8::2",
        )
        for level, count in ((3, 2), (2, 3), (1, 4)):
            for place in range(count):
                for record in self._records(level):
                    self._zones.add(f"i{level}{place}.{self._domain}. TXT {txt(record)}")
        for record in self._records(0):
            self._zones.add(f"{self._domain}. TXT {txt(record)}")
        for record in self._dmarc():
            self._zones.add(f"_dmarc.{self._domain}. TXT {txt(record)}")
        return self._domain, self._zones

    def _records(self, level: int) -> list[str]:
        count = self._random.choices([0, 1, 2], [1, 30, 1])[0]
        return [self._spf(level) for _ in range(count)]

    def _spf(self, level: int) -> str:
        terms = list(self._terms(level))
        self._random.shuffle(terms)
        end = self._random.choice(
            ["-all", "~all", "?all", "+all", "", f"redirect=i{level + 1}0.{self._domain}"]
        )
        return self._random.choice([" ", "  "]).join(["v=spf1", *terms, *filter(None, [end])])

    def _terms(self, level: int) -> Iterator[str]:
        choose, domain = self._random.choice, self._domain
        for _ in range(self._random.randint(0, 3)):
            yield choose(
                ["ip4:192.0.2.0/24", "ip6:2001:db8::/32", "a", "mx", "IP4:192.0.2.9", "-a", "mx/24//64"]
            )
        for _ in range(self._random.choices([0, 1, 2], [5, 3, 1])[0]):
            yield choose(
                [
                    f"a:mx.{domain}",
                    f"mx:{domain}",
                    f"exists:%{{ir}}.{domain}",
                    f"a:gone.{domain}",
                    f"ptr:mx.{domain}",
                ]
            )
        for _ in range(self._random.choices([0, 1, 3], [3, 5, 2])[0] if level < 3 else 0):
            yield f"include:i{level + 1}{self._random.randint(0, 2)}.{domain}"
        if self._random.random() < 0.03:
            yield f"include:{domain}"
        if self._random.random() < 0.06:
            yield choose(
                [
                    "ip4:192.0.2.999",
                    "ipv4:192.0.2.1",
                    "include:",
                    "a/33",
                    "exists:%{x}.example",
                    "moo:x",
                    "ip6:1.2.3.4",
                    "mx//129",
                    "ip4:192.0.2.0/024",
                ]
            )
        if self._random.random() < 0.1:
            yield choose(["moo=1", "x-y=%{d}"])

    def _dmarc(self) -> list[str]:
        count = self._random.choices([0, 1, 2], [2, 20, 1])[0]
        return [self._dmarc_record() for _ in range(count)]

    def _dmarc_record(self) -> str:
        choose = self._random.choice
        policy = choose(["p=none", "p=quarantine", "p=reject", "p=reject", "p=REJECT", "", "p=frobnicate"])
        more = [
            "" if policy == "p=frobnicate" else choose([f"rua=mailto:d@{self._domain}", ""]),
            choose(["sp=none", "sp=reject", ""]),
            choose(["adkim=s", "aspf=r", "adkim=x", ""]),
            choose(["pct=50", "x=1", ""]),
        ]
        broken = self._random.random() < 0.08
        text = "; ".join(["v=DMARC1", *filter(None, [policy, *more])])
        return choose([text.replace(";", ""), f"{text}; p", f"{text}; p=none; p=none"]) if broken else text


def their_verdict(domain: str, resolver: InMemory) -> set[Code] | tuple[str, int]:
    """The codes that fit checkdmarc's error; or what it says of other servers, and its number of look-ups."""
    try:
        record = their_spf.query_spf_record(domain, resolver=resolver)["record"]
        read = their_spf.parse_spf_record(record, domain, resolver=resolver)
    except their_spf.SPFError as error:
        return next(codes for kind, codes in CODES.items() if type(error) is kind)
    return str(read["parsed"]["all"]), int(read["dns_lookups"])


def our_count(domain: str, zones: Zones) -> tuple[str, int]:
    known: dict[Question, Answer] = {}
    record = next(text for text in zones.answer(Question(domain, "TXT")).records if spf.is_spf(text.decode()))
    while True:
        answers = Answers(known)
        try:
            count = spf.evaluate(record.decode(), domain, answers)
        except Unanswered:
            known |= {one: zones.answer(one) for one in answers.asked}
        else:
            return FINAL[count.final], count.lookups


def test_two_hundred_zones_have_the_same_spf_verdicts() -> None:
    generator, seen, exact, fatal = Generator(SEED), set[Code](), 0, 0
    for number in range(ZONES):
        domain, zones = generator.zone(number)
        found = judged(zones, domain)[Check.SPF]
        seen.add(found.code)
        theirs = their_verdict(domain, InMemory(zones))
        shown = (domain, found.code, found.about, zones.answer(Question(domain, "TXT")).records)
        if isinstance(theirs, tuple):
            assert found.code in GOOD, (shown, theirs)
            assert our_count(domain, zones) == theirs, shown
        else:
            # Of a record with several fatal errors, each of both tells the one that it comes to first.
            assert found.code in theirs or LIMITS & {found.code, *theirs}, (shown, theirs)
            exact += found.code in theirs
            fatal += 1
    assert fatal > 50
    assert exact > 0.9 * fatal
    assert {
        Code.FINE,
        Code.SEVERAL,
        Code.MISSING,
        Code.SYNTAX,
        Code.BROKEN_INCLUDE,
        Code.TOO_MANY_LOOKUPS,
        Code.LOOP,
    } <= seen


def test_two_hundred_zones_have_the_same_dmarc_verdicts() -> None:
    generator, seen = Generator(SEED), set[Value]()
    for number in range(ZONES):
        domain, zones = generator.zone(number)
        found = judged(zones, domain)[Check.DMARC]
        seen.add(found.value)
        assert found.value is their_dmarc_value(domain, InMemory(zones)), (domain, found)
    assert seen == {Value.GOOD, Value.PROBLEM}


def their_dmarc_value(domain: str, resolver: InMemory) -> Value:
    try:
        record = their_dmarc.query_dmarc_record(domain, resolver=resolver)["record"]
        their_dmarc.parse_dmarc_record(record, domain, resolver=resolver)
    except their_dmarc.DMARCError:
        return Value.PROBLEM
    return Value.GOOD
