"""Looks a domain up: asks resolvers what the checks need, politely and within bounds.

A question has nothing in it but the domain's name, what its own records name, and the selectors that are tried.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta

import dns.asyncquery
import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.rdatatype
import dns.resolver

from shared.domain_health import dkim
from shared.domain_health.answers import MOST_QUESTIONS, Answer, Question
from shared.domain_health.checks import Scope, judge
from shared.domain_health.dkim import SELECTORS
from shared.domain_health.dmarc import organizational
from shared.domain_health.following import Followed, confirm, follow, keys_to_expect, to_confirm
from shared.domain_health.report import Check, CheckReport, Code, DomainReport
from shared.frozen import frozen

TRY_SECONDS = 2.5
"""Seconds that a resolver may take for a question, the second try and TCP apart."""
TCP_SECONDS = 5.0
"""Seconds for the whole of an answer over TCP, however slowly it drips."""
TRIES = 2
MOST_TIMEOUTS = 3
"""Unanswered questions after which a resolver is asked nothing more about a domain."""
CHECK_SECONDS = 90.0
"""Seconds for all questions about a domain and one resolver."""
MOST_RECORDS = 1_000
"""Records of one answer: 64 KB have room for thousands."""
LONGEST_TEXT = 65_536
LONGEST_TTL = 86_400.0
CACHED = 5_000
"""Answers that are kept while they hold: most domains include the same records."""
EDNS_BYTES = 1232
"""This size arrives in one piece everywhere: https://www.dnsflagday.net/2020/ ."""

_FAILURES = {dns.rcode.SERVFAIL: Code.SERVER_FAILURE, dns.rcode.REFUSED: Code.REFUSED}


class Pace:
    """At most so many questions in a second, evenly."""

    def __init__(self, per_second: float, clock: Callable[[], float] | None = None) -> None:
        self._gap, self._clock, self._next = 1 / per_second, clock, 0.0

    async def turn(self) -> None:
        clock = self._clock or asyncio.get_running_loop().time
        now = clock()
        at = self._next = max(now, self._next + self._gap)
        if at > now:
            await asyncio.sleep(at - now)


class Resolver:
    """One resolver, and its answers as long as they hold."""

    def __init__(self, address: str, port: int = 53) -> None:
        self.address, self.port = address, port
        self._kept: dict[Question, tuple[float, Answer]] = {}

    async def ask(self, question: Question, pace: Pace, *, fresh: bool = False) -> Answer:
        """The answer, from before where it still holds and nothing fresh is wanted."""
        now = asyncio.get_running_loop().time()
        until, kept = self._kept.get(question, (0.0, None))
        if kept is not None and until > now and not fresh:
            return kept
        answer = Answer(failure=Code.TIMEOUT)
        for _ in range(TRIES):
            await pace.turn()
            answer = await self._exchange(question)
            if answer.failure is not Code.TIMEOUT:
                break
        self._keep(question, answer, now)
        return answer

    def _keep(self, question: Question, answer: Answer, now: float) -> None:
        self._kept.pop(question, None)
        if answer.failure or not answer.ttl:
            return
        while len(self._kept) >= CACHED:
            self._kept.pop(next(iter(self._kept)))
        self._kept[question] = (now + min(answer.ttl, LONGEST_TTL), answer)

    async def _exchange(self, question: Question) -> Answer:
        try:
            message = dns.message.make_query(
                question.name, question.type, use_edns=0, payload=EDNS_BYTES, want_dnssec=False
            )
            response = await self._send(message)
            return read_answer(response, question)
        except (dns.exception.Timeout, OSError):  # late, not there, or the connection was closed
            return Answer(failure=Code.TIMEOUT)
        except (dns.exception.DNSException, EOFError, ValueError):
            return Answer(failure=Code.ODD_ANSWER)

    async def _send(self, message: dns.message.Message) -> dns.message.Message:
        """Ask by UDP, passing over packets with another id, sender or question; ask for a truncated answer by TCP."""
        try:
            async with asyncio.timeout(TRY_SECONDS):
                return await dns.asyncquery.udp(
                    message,
                    self.address,
                    timeout=TRY_SECONDS,
                    port=self.port,
                    ignore_unexpected=True,
                    raise_on_truncation=True,
                    ignore_errors=True,
                )
        except dns.message.Truncated:
            # In a thread: an answer may have thousands of records, which are read before anything counts them.
            return await asyncio.to_thread(
                dns.query.tcp, message, self.address, timeout=TCP_SECONDS, port=self.port
            )


def read_answer(response: dns.message.Message, question: Question) -> Answer:
    """A message as an answer. Raises `DNSException` for one that goes in circles."""
    code = response.rcode()
    if code not in {dns.rcode.NOERROR, dns.rcode.NXDOMAIN} or not isinstance(
        response, dns.message.QueryMessage
    ):
        return Answer(failure=_FAILURES.get(code, Code.ODD_ANSWER))
    chain = response.resolve_chaining()  # of CNAMEs, 16 at most
    ttl, found = float(chain.minimum_ttl), chain.answer
    if code == dns.rcode.NXDOMAIN or found is None:
        # That there is nothing holds for as long as the zone's SOA says (RFC 2308, 5); without one, not at all.
        return Answer(is_gone=code == dns.rcode.NXDOMAIN, ttl=ttl if response.authority else 0.0)
    texts = tuple(_text(one) for one in found) if len(found) <= MOST_RECORDS else ()
    if not texts or sum(map(len, texts)) > LONGEST_TEXT:
        return Answer(failure=Code.TOO_LARGE, ttl=ttl)
    return Answer(records=tuple(sorted(texts)), ttl=ttl)


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
    return [(str(one), found.port) for one in found.nameservers if _is_address(str(one))]


def _is_address(text: str) -> bool:
    try:
        socket.getaddrinfo(text, None, flags=socket.AI_NUMERICHOST)
    except OSError:
        return False
    return True


@frozen
class Looked:
    """A domain that was looked up."""

    followed: Followed
    ttl: float | None = None
    """The shortest time, in seconds, for which the domain's own answers hold; None: nothing was answered."""
    asked: int = 0


class Lookup:
    """Looks domains up with these resolvers, the first for everything, the second for what it must confirm."""

    def __init__(
        self,
        resolvers: Sequence[tuple[str, int]],
        *,
        selectors: Sequence[str] = (),
        pace: Pace | None = None,
    ) -> None:
        self._resolvers = [Resolver(address, port) for address, port in dict.fromkeys(resolvers)]
        self._selectors = tuple(dict.fromkeys([*selectors, *SELECTORS]))
        self._pace = pace or Pace(20.0)

    @property
    def confirms(self) -> bool:
        """True if there is a second resolver, without which nobody is alerted."""
        return len(self._resolvers) > 1

    async def look(self, domain: str, before: DomainReport | None, now: datetime) -> Looked:
        """Check a domain, and put what is found in its history."""
        scope = Scope(
            domain=domain,
            selectors=self._selectors,
            keys=keys_to_expect(before, now),
        )
        await asyncio.to_thread(_prepare, domain)
        if not self._resolvers:
            return Looked(followed=follow(domain, before, [CheckReport(check=one) for one in Check], now))
        first = _Visit(self._resolvers[0], self._pace)
        found = await first.judge(scope)
        doubted = to_confirm(before, found)
        if doubted and self.confirms:
            second = _Visit(self._resolvers[1], self._pace, fresh=True)
            found = confirm(found, {one.check: one for one in await second.judge(scope, doubted)})
            first.asked += second.asked
        own = [
            answer.ttl for question, answer in first.known.items() if _is_own(question, domain) and answer.ttl
        ]
        return Looked(
            followed=follow(domain, before, found, now), ttl=min(own, default=None), asked=first.asked
        )


def _is_own(question: Question, domain: str) -> bool:
    return question.name in {domain, f"_dmarc.{domain}"} and question.type in {"MX", "TXT"}


def _prepare(domain: str) -> None:
    """Load what takes a moment the first time: the list of suffixes, and the reader of keys."""
    organizational(domain)
    dkim.parse("p=AAAA")


class _Visit:
    """The questions about one domain to one resolver."""

    def __init__(self, resolver: Resolver, pace: Pace, *, fresh: bool = False) -> None:
        self._resolver, self._pace, self._fresh = resolver, pace, fresh
        self.known: dict[Question, Answer] = {}
        self.asked = self._timeouts = 0

    async def judge(self, scope: Scope, only: Collection[Check] = tuple(Check)) -> tuple[CheckReport, ...]:
        """Make the checks, asking until all are made or a bound is reached."""
        ends_at = asyncio.get_running_loop().time() + CHECK_SECONDS
        while questions := judge(scope, self.known, only).questions:
            for question in questions:
                late = asyncio.get_running_loop().time() > ends_at
                self.known[question] = await self._answer(question, late=late)
        return judge(scope, self.known, only).checks

    async def _answer(self, question: Question, *, late: bool) -> Answer:
        if self.asked >= MOST_QUESTIONS:
            return Answer(failure=Code.TOO_LARGE)
        if late or self._timeouts >= MOST_TIMEOUTS:
            return Answer(failure=Code.TIMEOUT)
        self.asked += 1
        answer = await self._resolver.ask(question, self._pace, fresh=self._fresh)
        self._timeouts += answer.failure is Code.TIMEOUT
        return answer


def next_due(looked: Looked, now: float, *, every: timedelta, jitter: Callable[[], float]) -> float:
    """The time of the next look: not before the answers may have changed, and not with all others at once."""
    wait = max(every.total_seconds(), min(looked.ttl or 0.0, LONGEST_TTL))
    return now + wait * (0.9 + 0.2 * jitter())
