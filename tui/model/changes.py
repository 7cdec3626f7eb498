"""Recent changes in words: from the transitions that the history records, whichever process noticed them. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from shared.api.models import Inbox
from shared.records.history import Transition


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """Something that became different between two polls; `key` is that of a sequence, an inbox or a domain."""

    at: datetime
    key: str
    subject: str
    text: str
    rests: bool = False
    """An inbox, or all of a domain, went to rest."""


def change_lines(
    transitions: Iterable[Transition], *, inboxes: Iterable[Inbox] = ()
) -> tuple[ChangeLine, ...]:
    """A line for each, but one for all inboxes of a domain whose status changed alike at the same time.

    Where these are all that it has of `inboxes`, the domain itself was paused, or recovers.
    """
    alike: defaultdict[tuple[datetime, str, str], list[Transition]] = defaultdict(list)
    for change in transitions:
        turn = _turn(change)
        alike[change.at, change.key.lower().rpartition("@")[2] if turn else change.key, turn].append(change)
    sizes = Counter(inbox.domain for inbox in inboxes)
    lines = []
    for (at, domain, turn), group in alike.items():
        rests, count = turn == "resting", len(group)
        if turn and count > 1:
            text = f"{count} inboxes {'→ resting' if rests else 'resting → warming'}"
            if count >= sizes[domain] > 0:
                text = f"{'paused' if rests else 'recovers'} ({count} inboxes)"
            lines.append(ChangeLine(at, domain, domain, text, rests))
            continue
        for change in group:
            is_inbox = change.kind == "inbox" and change.before
            before = f"{change.before} → " if is_inbox else "is "
            text = f"{before}{change.after or 'gone'}"
            lines.append(ChangeLine(at, change.key, change.label or change.key, text, rests))
    return tuple(lines)


def _turn(one: Transition) -> str:
    """`resting` or `recovering` of an inbox; empty for all else."""
    if one.kind == "inbox" and one.after == "resting":
        return "resting"
    is_recovering = one.kind == "inbox" and (one.before, one.after) == ("resting", "warming")
    return "recovering" if is_recovering else ""
