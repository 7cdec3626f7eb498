"""The rules of a workspace: built in, from the settings, and added by command. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shared.frozen import frozen
from shared.guardrails.rule import Misunderstood, Rule, default_name, parse
from shared.records.guardrails import StoredRule

SHIPPED: Mapping[str, str] = {
    "bounces-5": "suggest pausing sequence when bounces > 5% of at least 200 sends in 24h",
    "domain-bounces-5": "suggest pausing domain when bounces > 5% of at least 200 sends in 24h",
    "bounces-10": "suggest pausing sequence when bounces > 10% of at least 60 sends in 4h",
    "domain-bounces-10": "suggest pausing domain when bounces > 10% of at least 60 sends in 4h",
    "opt-outs-2": "suggest pausing sequence when opt-outs > 2% of at least 500 sends in 3d",
    "domain-bounces-10-1h": "notify about domain when bounces > 10 in 1h",
    "domain-bounces-5-1h": "notify about domain when bounces > 5% of at least 60 sends in 1h",
    "no-replies-1000": "notify about sequence when no replies after 1000 sends in 14d",
    "positive-third": "notify about sequence when positive replies < 33% of baseline over at least 400 sends in 7d",
    "health-20": "notify about domain when health < 20",
}
"""The built-in rules by name. They only suggest or notify; docs/guardrails.md gives the sources of their thresholds."""


@frozen
class NamedRule:
    """A rule with its name; `source` is shipped, settings or added."""

    name: str
    rule: Rule
    source: str
    added_by: str = ""
    """The Slack id of who added it; empty where that is not known."""
    added_name: str = ""


def catalog(configured: Mapping[str, str], stored: Sequence[StoredRule]) -> dict[str, NamedRule]:
    """The rules by name. The settings replace what is shipped; what was added replaces only that.

    A stored sentence that this version does not understand is left out.
    """
    found = {name: NamedRule(name=name, rule=parse(text), source="shipped") for name, text in SHIPPED.items()}
    for one in stored:
        try:
            rule = parse(one.sentence)
        except Misunderstood:
            continue
        found[one.name] = NamedRule(
            name=one.name,
            rule=rule,
            source="added",
            added_by=one.added_by,
            added_name=one.added_name,
        )
    # Last: what stands in the settings wins over what was typed.
    for name, text in configured.items():
        found[name] = NamedRule(name=name, rule=parse(text), source="settings")
    return found


def free_name(rule: Rule, taken: Mapping[str, object]) -> str:
    """A name for a rule that was given none."""
    name, number = default_name(rule), 1
    while (free := name if number == 1 else f"{name}-{number}") in taken:
        number += 1
    return free
