"""The verdict of each check on a domain, from the answers of DNS. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from shared.domain_health import dkim, dmarc, spf
from shared.domain_health.answers import Answer, Answers, Failed, Question, Unanswered
from shared.domain_health.dkim import DkimKey, Key
from shared.domain_health.report import Action, Advice, Check, CheckReport, Code, Value
from shared.frozen import frozen
from shared.text.sanitize import visible

MOST_RECORDS, LONGEST_RECORD = 5, 500
"""A report keeps at most so many records, and so many characters of each."""
_SPF_OF: Mapping[str, str] = {
    "google.com": "include:_spf.google.com",
    "googlemail.com": "include:_spf.google.com",
    "outlook.com": "include:spf.protection.outlook.com",
    "zoho.com": "include:zohomail.com",
    "zoho.eu": "include:zohomail.eu",
    "messagingengine.com": "include:spf.messagingengine.com",
    "protonmail.ch": "include:_spf.protonmail.ch",
}
"""The includes that hosts of mailboxes ask their customers for, by the end of the names of their MX."""


@frozen
class Scope:
    """The domain to check, and its DKIM selectors."""

    domain: str
    selectors: Sequence[str] = dkim.SELECTORS
    keys: Collection[str] = ()
    """The selectors of keys that were good before: one that is gone is a problem."""


@frozen
class Verdicts:
    """The verdicts that the answers so far allow."""

    checks: tuple[CheckReport, ...]
    questions: tuple[Question, ...]
    """The questions to look up for the other checks."""
    used: Mapping[Check, Sequence[Question]]
    """The questions of each check."""


def judge(scope: Scope, known: Mapping[Question, Answer], only: Collection[Check] = tuple(Check)) -> Verdicts:
    """Make the checks, as far as these answers go."""
    checks: list[CheckReport] = []
    asked: dict[Question, None] = {}
    used: dict[Check, Sequence[Question]] = {}
    for check, made_by in _CHECKS.items():
        if check not in only:
            continue
        answers = Answers(known)
        try:
            checks.append(made_by(scope, answers))
        except Unanswered:
            asked |= answers.asked
        except Failed as failure:
            checks.append(CheckReport(check=check, code=failure.code))
        used[check] = tuple(answers.used)
    return Verdicts(checks=tuple(checks), questions=tuple(asked), used=used)


def shown(texts: Sequence[str]) -> tuple[str, ...]:
    """Records for people: UTF-8 where they are, without what a terminal obeys, and never long."""
    return tuple(_shown(text) for text in texts[:MOST_RECORDS])


def _shown(text: str) -> str:
    read = visible(text[: 4 * LONGEST_RECORD].encode("latin-1", "replace").decode("utf-8", "replace"))
    return read if len(read) <= LONGEST_RECORD else f"{read[: LONGEST_RECORD - 1]}…"


def _whole(record: str) -> str:
    """A record to publish; empty where it is too long to be shown whole, or isn't what it looks like."""
    return record if len(record) <= LONGEST_RECORD and record.isascii() and record.isprintable() else ""


def _good(check: Check, records: Sequence[str], **more: object) -> CheckReport:
    return replace(CheckReport(check=check, value=Value.GOOD, code=Code.FINE, records=shown(records)), **more)  # type: ignore[arg-type] # its own fields


def _problem(
    check: Check, code: Code, advice: Advice, records: Sequence[str] = (), **more: object
) -> CheckReport:
    found = CheckReport(check=check, value=Value.PROBLEM, code=code, records=shown(records), advice=advice)
    return replace(found, **more)  # type: ignore[arg-type] # its own fields


def _check_mx(scope: Scope, answers: Answers) -> CheckReport:
    domain = scope.domain
    answer = answers.known(domain, "MX")
    records = sorted(record.decode("latin-1") for record in answer.records)
    if answer.is_gone:
        return _no_domain(Check.MX, domain)
    add = Advice(action=Action.ADD, name=domain, type="MX")
    if not records:
        return _problem(Check.MX, Code.MISSING, add)
    if all(_host(record) == "" for record in records):
        return _problem(Check.MX, Code.NULL_MX, replace(add, action=Action.REPLACE), records)
    return _good(Check.MX, records)


def _host(record: str) -> str:
    return record.rpartition(" ")[2].rstrip(".").lower()


def _no_domain(check: Check, domain: str) -> CheckReport:
    advice = Advice(action=Action.RENEW_DOMAIN, name=domain, type="")
    return _problem(check, Code.NO_DOMAIN, advice)


def _check_spf(scope: Scope, answers: Answers) -> CheckReport:
    domain = scope.domain
    answer, texts = answers.texts(domain)
    if answer.is_gone:
        return _no_domain(Check.SPF, domain)
    records = tuple(text for text in texts if spf.is_spf(text))
    if not records:
        value = _usual_spf(domain, answers)
        return _problem(Check.SPF, Code.MISSING, Advice(action=Action.ADD, name=domain, value=value))
    if len(records) > 1:
        merged = _whole(spf.merged(tuple(dict.fromkeys(records))))
        advice = Advice(action=Action.MERGE, name=domain, value=merged)
        return _problem(Check.SPF, Code.SEVERAL, advice, records, count=len(records))
    return _judge_spf(records[0], domain, answers)


def _judge_spf(record: str, domain: str, answers: Answers) -> CheckReport:
    try:
        count = spf.evaluate(record, domain, answers)
    except spf.SpfProblem as problem:
        about = shown((problem.about,))[0]
        action = {
            Code.TOO_MANY_LOOKUPS: Action.REMOVE_LOOKUPS,
            Code.TOO_MANY_VOIDS: Action.REMOVE_LOOKUPS,
            Code.SYNTAX: Action.REPLACE,
        }.get(problem.code, Action.FIX_INCLUDE)
        advice = Advice(action=action, name=domain, about=about)
        return _problem(Check.SPF, problem.code, advice, (record,), about=about, count=problem.count)
    if count.final == "+":
        value = _whole(re.sub(r"\+?all\b", "~all", record, flags=re.IGNORECASE))
        advice = Advice(action=Action.REPLACE, name=domain, value=value, about="+all")
        return _problem(Check.SPF, Code.ALLOWS_ALL, advice, (record,), count=count.lookups)
    code = Code.FINE if count.final in {"-", "~"} else Code.NEUTRAL
    return _good(Check.SPF, (record,), code=code, count=count.lookups)


def _usual_spf(domain: str, answers: Answers) -> str:
    """The record that the host of the mailboxes asks for, where the MX tells who that is."""
    try:
        hosts = [_host(record.decode("latin-1")) for record in answers.known(domain, "MX").records]
    except Failed:
        return ""
    include = (text for end, text in _SPF_OF.items() for host in hosts if host.endswith(f".{end}"))
    found = next(include, "")
    return f"v=spf1 {found} ~all" if found else ""


def _check_dmarc(scope: Scope, answers: Answers) -> CheckReport:
    above = dmarc.organizational(scope.domain)
    for place in dmarc.places(scope.domain):
        _answer, texts = answers.texts(f"_dmarc.{place}")
        records = [text for text in texts if dmarc.is_dmarc(text)]
        wrong = [text for text in texts if dmarc.resembles(text) and text not in records]
        if records or wrong:
            return _judge_dmarc(place, records, wrong, own=place == scope.domain)
    advice = Advice(action=Action.ADD, name=f"_dmarc.{above}", value="v=DMARC1; p=none")
    return _problem(Check.DMARC, Code.MISSING, advice)


def _judge_dmarc(place: str, records: Sequence[str], wrong: Sequence[str], *, own: bool) -> CheckReport:
    name, about = f"_dmarc.{place}", "" if own else place
    read = [(dmarc.parse(text), text) for text in records]
    valid = [(one, text) for one, text in read if one.is_valid]
    if len(records) > 1:
        # The strictest is kept: a laxer one would be a change of policy that nobody asked for.
        best = max(valid, key=lambda pair: _STRICT.get(pair[0].policy, 0), default=None)
        advice = Advice(action=Action.KEEP, name=name, value=_whole(best[1]) if best else "v=DMARC1; p=none")
        return _problem(Check.DMARC, Code.SEVERAL, advice, records, count=len(records), about=about)
    if not valid:
        advice = Advice(action=Action.REPLACE, name=name, value="v=DMARC1; p=none")
        return _problem(Check.DMARC, Code.SYNTAX, advice, [*records, *wrong], about=about)
    code = Code.FINE if "p" in valid[0][0].tags else Code.NO_POLICY
    return _good(Check.DMARC, records, code=code, about=about)


_STRICT = {"none": 1, "quarantine": 2, "reject": 3}


def _check_dkim(scope: Scope, answers: Answers) -> CheckReport:
    found, failed = _keys(scope, answers)
    wildcard = ""
    if found:
        probe = _first_key(answers.texts(_key_name(dkim.PROBE, scope.domain))[1])
        wildcard = probe[1] if probe else ""
    keys = {name: one for name, one in found.items() if one[1] != wildcard}
    if wildcard and not keys:  # whatever the selector, the answer is this key
        keys = {"*": next(one for one in found.values() if one[1] == wildcard)}
    lost = [name for name in sorted(scope.keys) if name != "*" and name not in found and name not in failed]
    if lost_answer := next((failed[name] for name in sorted(scope.keys) if name in failed), None):
        raise Failed(lost_answer)
    return _judge_keys(scope, keys, lost, next(iter(failed.values()), None))


def _keys(scope: Scope, answers: Answers) -> tuple[dict[str, tuple[DkimKey, str]], dict[str, Code]]:
    """The keys that are found, and the selectors of which nothing is known."""
    found: dict[str, tuple[DkimKey, str]] = {}
    failed: dict[str, Code] = {}
    waits = False
    for selector in dict.fromkeys([*sorted(scope.keys), *scope.selectors]):
        if selector == "*":
            continue
        try:
            key = _first_key(answers.texts(_key_name(selector, scope.domain))[1])
        except Unanswered:
            waits = True  # all of them are asked together
        except Failed as failure:
            failed[selector] = failure.code
        else:
            found |= {selector: key} if key else {}
    if waits:
        raise Unanswered
    return found, failed


def _key_name(selector: str, domain: str) -> str:
    return f"{selector}._domainkey.{domain}"


def _first_key(texts: Sequence[str]) -> tuple[DkimKey, str] | None:
    """The best key of a selector: it should have one (RFC 6376, 3.6.2.2)."""
    read = ((dkim.parse(text), text) for text in texts)
    keys = [(key, text) for key, text in read if key is not None]
    return min(keys, key=lambda pair: _WORSE.index(pair[0].state), default=None)


_WORSE = (Key.GOOD, Key.UNREADABLE, Key.WEAK, Key.REVOKED, Key.INVALID)


def _judge_keys(
    scope: Scope, keys: Mapping[str, tuple[DkimKey, str]], lost: Sequence[str], failure: Code | None
) -> CheckReport:
    good = tuple(name for name, (key, _text) in keys.items() if key.state in {Key.GOOD, Key.UNREADABLE})
    records = [f"{name}: {text}" for name, (_key, text) in keys.items()]
    bad = {name: key for name, (key, _text) in keys.items() if name not in good}
    # A bad key beside a good one is a problem if it was good before: some sender signs with it.
    worse = [name for name in bad if name in scope.keys or not good]
    if lost:
        advice = Advice(action=Action.RESTORE, name=_key_name(lost[0], scope.domain), about=lost[0])
        return _problem(Check.DKIM, Code.KEY_GONE, advice, records, about=", ".join(lost), keys=good)
    if worse:
        name = min(worse, key=lambda one: _WORSE.index(bad[one].state))
        advice = Advice(action=Action.NEW_KEY, name=_key_name(name, scope.domain), about=name)
        code = _BAD_KEY[bad[name].state]
        return _problem(Check.DKIM, code, advice, records, about=name, keys=good, count=bad[name].bits)
    if good:
        bits = [key.bits for key, _text in keys.values() if key.bits]
        return _good(Check.DKIM, records, keys=good, count=min(bits, default=None))
    return CheckReport(check=Check.DKIM, code=failure or Code.NO_KEY_FOUND)


_BAD_KEY = {Key.WEAK: Code.KEY_WEAK, Key.REVOKED: Code.KEY_REVOKED, Key.INVALID: Code.SYNTAX}


_CHECKS: Mapping[Check, Callable[[Scope, Answers], CheckReport]] = {
    Check.MX: _check_mx,
    Check.SPF: _check_spf,
    Check.DMARC: _check_dmarc,
    Check.DKIM: _check_dkim,
}
