"""The context of an assistant's command, in which nothing can be changed, whatever the command tries.

The client and the records are handed on with the methods that only read, named here: a method that is forgotten counts
as a change.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from shared.api.client import OutreachClient
from shared.commands.run import CommandContext
from shared.records.audit import AuditEntry

if TYPE_CHECKING:
    from shared.store.history import Records

CLIENT_READS = frozenset(
    [
        "list_sequences",
        "list_leads",
        "iter_pages",
        "iter_leads",
        "list_inboxes",
        "stats",
        "budget",
        "counts",
        "service_time",
    ]
)
RECORDS_READS = frozenset(
    [
        "bot_is_running",
        "summary",
        "open_replies",
        "own_replies",
        "claim_counts",
        "interested_replies",
        "last_reply",
        "claim_times",
        "done_counts",
        "domain_past",
        "domain_sequences",
        "last_changes",
        "arrivals",
        "period",
        "subscriptions",
        "digest_at",
        "audit",
        "last_undoable",
        "change_with_number",
        "timers",
    ]
)
PARTS = {
    "changes": frozenset({"revisions"}),
    "domains": frozenset({"reports", "changes", "broken", "broken_since"}),
    "guardrails": frozenset(
        ["rules", "switches", "incidents", "happenings", "samples", "heard_since", "past"]
    ),
    "turns": frozenset({"absences"}),
}
"""The parts of the records, with the methods of each that only read."""


class WouldChangeError(Exception):
    """The command tried to change something."""


class _Reading:
    def __init__(self, inner: Any, reads: frozenset[str], parts: dict[str, frozenset[str]]) -> None:
        self._inner, self._reads, self._parts = inner, reads, parts

    def __getattr__(self, name: str) -> Any:
        if name in self._parts:
            return _Reading(getattr(self._inner, name), self._parts[name], {})
        if name in self._reads:
            return getattr(self._inner, name)
        raise WouldChangeError(name)


class _ReadingRecords(_Reading):
    async def record(self, entry: AuditEntry) -> None:
        """Refusals and failures go unrecorded here: the session records each call with its result."""
        if entry.effect not in {"refused", "failed"}:
            raise WouldChangeError("record")


def reading_only(context: CommandContext) -> CommandContext:
    """Return the same context, in which a change raises `WouldChangeError` instead of being made."""
    records = cast("Records", _ReadingRecords(context.records, RECORDS_READS, PARTS))
    client = cast("OutreachClient", _Reading(context.client, CLIENT_READS, {}))
    return replace(context, client=client, records=records)
