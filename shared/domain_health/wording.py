"""Checks of a domain in words: what is wrong, and what to do. Pure.

What public DNS says is in them as it was cleaned for the reports: a Card and its renderers take it as plain text.
"""

from __future__ import annotations

from collections.abc import Mapping

from shared.domain_health.report import Action, Advice, Check, CheckReport, Code, DomainChange, Value

_STATES: Mapping[Code, str] = {
    Code.FINE: "good",
    Code.NEUTRAL: "good, but it doesn't say what to do with mail from other servers",
    Code.NO_POLICY: "good, but without a policy (p=)",
    Code.NOT_CHECKED: "not checked yet",
    Code.TIMEOUT: "unknown: the resolver didn't answer",
    Code.SERVER_FAILURE: "unknown: the resolver couldn't read the zone (SERVFAIL)",
    Code.REFUSED: "unknown: the request was refused",
    Code.ODD_ANSWER: "unknown: the answer makes no sense",
    Code.TOO_LARGE: "unknown: the answer is too large",
    Code.DISAGREEMENT: "unknown: two resolvers disagree",
    Code.NO_KEY_FOUND: "unknown: no key under the selectors that were tried",
    Code.NO_DOMAIN: "the domain doesn't exist in DNS",
    Code.MISSING: "no record",
    Code.SEVERAL: "{count} records, and only one is allowed",
    Code.SYNTAX: "the record is invalid{in_brackets}",
    Code.NULL_MX: "the record says that the domain takes no mail",
    Code.TOO_MANY_LOOKUPS: "the record needs more than 10 look-ups{in_brackets}",
    Code.TOO_MANY_VOIDS: "more than 2 of the record's look-ups find nothing{in_brackets}",
    Code.LOOP: "the record includes itself{in_brackets}",
    Code.BROKEN_INCLUDE: "{about} has no valid SPF record, which breaks this one",
    Code.ALLOWS_ALL: "the record allows every server to send (+all)",
    Code.KEY_GONE: "the key of {about} is gone",
    Code.KEY_REVOKED: "the key of {about} is revoked",
    Code.KEY_WEAK: "the key of {about} is too weak",
}
_KNOWN_RECORD: Mapping[Action, str] = {
    Action.ADD: "Add this {record}: {value}",
    Action.MERGE: "Merge them into one {record}: {value}",
    Action.KEEP: "Keep this {record}, and delete the others: {value}",
    Action.REPLACE: "Replace the {record} with: {value}",
    Action.RESTORE: "Restore the {record}: {value}",
}
"""The advice where the whole record can be given."""
_ADVICE: Mapping[Action, str] = {
    Action.ADD: "Add the {record} that your provider names.",
    Action.MERGE: "Merge them into one {record}.",
    Action.KEEP: "Keep one {record}, and delete the others.",
    Action.REPLACE: "Correct the {record}{in_brackets}.",
    Action.REMOVE_LOOKUPS: "Remove includes that you no longer need from the {record}, or name addresses instead.",
    Action.FIX_INCLUDE: "Remove or correct {about} in the {record}.",
    Action.RESTORE: "Restore the {record}.",
    Action.NEW_KEY: "Create a new key of 2,048 bits with your provider, and publish it as the {record}.",
    Action.RENEW_DOMAIN: "Ask your registrar whether {name} has expired or lost its name servers.",
}


def name_of(check: Check) -> str:
    return check.upper()


def state_of(check: CheckReport) -> str:
    """The state of a check, without its name: `2 records, and only one is allowed`, `no record`, `good`."""
    return _STATES[check.code].format(
        count=check.count, about=check.about, in_brackets=_in_brackets(check.about)
    )


def _in_brackets(text: str) -> str:
    return f" ({text})" if text else ""


def headline(check: CheckReport) -> str:
    """`SPF: 2 records, and only one is allowed`."""
    return f"{name_of(check.check)}: {state_of(check)}"


def advice_of(check: CheckReport) -> str:
    """The advice about a problem, with the whole record where it can be known; empty where there is nothing to do."""
    return _sentence(check.advice) if check.advice and check.value is Value.PROBLEM else ""


def _sentence(advice: Advice) -> str:
    known = _KNOWN_RECORD.get(advice.action) if advice.value else None
    return (known or _ADVICE[advice.action]).format(
        record=f"{advice.type} record at {advice.name}",
        value=advice.value,
        name=advice.name,
        about=advice.about,
        in_brackets=_in_brackets(advice.about),
    )


def change_of(change: DomainChange) -> str:
    """The change in words: `SPF: 2 records, and only one is allowed`, `SPF is good again`, `DMARC changed`."""
    name = name_of(change.check)
    if change.recovered:
        return f"{name}: good again"
    if change.after.value is Value.GOOD:
        return f"{name}: the record changed"
    return headline(change.after)
