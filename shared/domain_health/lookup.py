"""Looks a domain up: asks resolvers what the checks need, politely and within bounds.

A question has nothing in it but the domain's name, what its own records name, and the selectors that are tried.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import dns.asyncquery
import dns.exception
import dns.message
import dns.query
import dns.rcode
import dns.resolver

from shared.domain_health.checks import Answer, Failed, judge, organizational, read_key
from shared.domain_health.report import (
    CHECKS,
    Check,
    CheckReport,
    Code,
    DomainReport,
    Followed,
    confirm,
    follow,
    keys_to_expect,
    to_confirm,
)

TRY_SECONDS = 2.5
"""Seconds that a resolver may take for a question, the second try and TCP apart."""
TCP_SECONDS = 5.0
"""Seconds for the whole of an answer over TCP, however slowly it drips."""
TRIES = 2
MOST_TIMEOUTS = 3
"""Unanswered questions after which a resolver is asked nothing more about a domain."""
MOST_QUESTIONS = 120
"""Questions about one domain: the selectors, and an SPF record at its limit with its addresses, are about 70."""
CHECK_SECONDS = 90.0
"""Seconds for all questions about a domain and one resolver."""
MOST_RECORDS = 1_000
"""Records of one answer: 64 KB have room for thousands."""
LONGEST_TEXT = 65_536
EDNS_BYTES = 1232
"""This size arrives in one piece everywhere: https://www.dnsflagday.net/2020/ ."""

_FAILURES: Mapping[int, Code] = {dns.rcode.SERVFAIL: "server-failure", dns.rcode.REFUSED: "refused"}


class Pace:
    """At most so many questions in a second, evenly."""

    def __init__(self, per_second: float) -> None:
        self._gap, self._next = 1 / per_second, 0.0

    async def turn(self) -> None:
        now = asyncio.get_running_loop().time()
        at = self._next = max(now, self._next + self._gap)
        if at > now:
            await asyncio.sleep(at - now)


def read_answer(response: dns.message.Message) -> Answer | Code:
    """A message as an answer, or why it is none. Raises `DNSException` for one that goes in circles."""
    code = response.rcode()
    if code not in {dns.rcode.NOERROR, dns.rcode.NXDOMAIN} or not isinstance(
        response, dns.message.QueryMessage
    ):
        return _FAILURES.get(code, "odd-answer")
    found = response.resolve_chaining().answer  # of CNAMEs, 16 at most
    if code == dns.rcode.NXDOMAIN or found is None:
        return Answer(is_gone=code == dns.rcode.NXDOMAIN)
    texts = [_text(one) for one in found] if len(found) <= MOST_RECORDS else []
    if not texts or sum(map(len, texts)) > LONGEST_TEXT:
        return "too-large"
    return Answer(records=tuple(sorted(texts)))


def _text(record: object) -> bytes:
    strings = getattr(record, "strings", None)
    return b"".join(strings) if strings is not None else str(record).encode("ascii", "replace")


def resolvers_of(addresses: Sequence[str]) -> list[tuple[str, int]]:
    """`127.0.0.1:53` and `[::1]:53`, as the settings write them, as addresses and ports."""
    split = (one.rpartition(":") for one in addresses)
    return [(address.strip("[]"), int(port)) for address, _, port in split]


def system_resolvers() -> list[tuple[str, int]]:
    """The resolvers of this machine; none where it names none."""
    try:
        found = dns.resolver.Resolver(configure=True)
    except (dns.exception.DNSException, OSError):
        return []
    return [(one, found.port) for one in found.nameservers if isinstance(one, str)]


class Lookup:
    """Looks domains up with these resolvers, the first for everything, the second for what it must confirm."""

    def __init__(
        self,
        resolvers: Sequence[tuple[str, int]],
        *,
        selectors: Sequence[str] = (),
        pace: Pace | None = None,
    ) -> None:
        self._resolvers, self._selectors = [*dict.fromkeys(resolvers)], selectors
        self._pace = pace or Pace(20.0)

    @property
    def confirms(self) -> bool:
        """True if there is a second resolver, without which nobody is alerted."""
        return len(self._resolvers) > 1

    async def look(self, domain: str, before: DomainReport | None, now: datetime) -> Followed:
        """Check a domain, and put what is found in its history."""
        found: Sequence[CheckReport] = [CheckReport(check=one) for one in CHECKS]
        keys = keys_to_expect(before, now)
        # The list of suffixes and the reader of keys take a moment to load the first time.
        await asyncio.to_thread(organizational, domain)
        await asyncio.to_thread(read_key, "p=AAAA")

        async def look_with(number: int, only: Collection[Check]) -> tuple[CheckReport, ...]:
            visit = _Visit(self._resolvers[number], self._pace)
            return await judge(domain, visit.ask, selectors=self._selectors, keys=keys, only=only)

        if self._resolvers:
            found = await look_with(0, CHECKS)
        # One answer isn't a fact: what is wrong, or new, must be seen by another resolver as well.
        if self.confirms and (doubted := to_confirm(before, found)):
            found = confirm(found, await look_with(1, doubted))
        return follow(domain, before, found, now)


class _Visit:
    """The questions about one domain to one resolver, each asked once."""

    def __init__(self, resolver: tuple[str, int], pace: Pace) -> None:
        self._address, self._port = resolver
        self._pace = pace
        self._answers: dict[tuple[str, str], Answer | Code] = {}
        self._timeouts = 0
        self._ends_at = asyncio.get_running_loop().time() + CHECK_SECONDS

    async def ask(self, name: str, kind: str) -> Answer:
        """The answer. Raises `Failed` where it isn't learned, or a bound is reached."""
        question = (name.rstrip(".").lower(), kind)
        if question not in self._answers:
            self._answers[question] = await self._answer(*question)
        answer = self._answers[question]
        if isinstance(answer, str):
            raise Failed(answer)
        return answer

    async def _answer(self, name: str, kind: str) -> Answer | Code:
        if len(self._answers) >= MOST_QUESTIONS:
            return "too-large"
        if self._timeouts >= MOST_TIMEOUTS or asyncio.get_running_loop().time() > self._ends_at:
            return "timeout"
        try:
            query = dns.message.make_query(name, kind, use_edns=0, payload=EDNS_BYTES, want_dnssec=False)
        except (dns.exception.DNSException, UnicodeError):  # nobody has a name that fits in no query
            return Answer(is_gone=True)
        answer: Answer | Code = "timeout"
        for _ in range(TRIES):
            await self._pace.turn()
            answer = await self._exchange(query)
            if answer != "timeout":
                return answer
        self._timeouts += 1
        return answer

    async def _exchange(self, query: dns.message.Message) -> Answer | Code:
        try:
            return read_answer(await self._send(query))
        except (dns.exception.Timeout, OSError):  # late, not there, or the connection was closed
            return "timeout"
        except (dns.exception.DNSException, EOFError, ValueError):
            return "odd-answer"

    async def _send(self, query: dns.message.Message) -> dns.message.Message:
        """Ask by UDP, passing over packets with another id, sender or question; ask for a truncated answer by TCP."""
        try:
            async with asyncio.timeout(TRY_SECONDS):
                return await dns.asyncquery.udp(
                    query,
                    self._address,
                    timeout=TRY_SECONDS,
                    port=self._port,
                    ignore_unexpected=True,
                    raise_on_truncation=True,
                    ignore_errors=True,
                )
        except dns.message.Truncated:
            # In a thread: an answer may have thousands of records, which are read before anything counts them.
            return await asyncio.to_thread(
                dns.query.tcp, query, self._address, timeout=TCP_SECONDS, port=self._port
            )
