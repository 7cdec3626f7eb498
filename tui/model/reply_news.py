"""Which replies are new and unclaimed, for a notification of each. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from shared.api.models import Lead
from shared.domain.snapshot import Reading, Snapshot
from tui.model.lines import LeadLine


class ReplyNews:
    """Tells of each reply once: by the bot's records, or else by a lead who has become interested.

    Replies that were there when the dashboard began are not announced.
    """

    def __init__(self, *, since: datetime) -> None:
        self._since = since
        self._interested: Reading[tuple[Lead, ...]] = Reading()
        self._told: set[tuple[str, datetime]] = set()
        self._told_by_lead: set[str] = set()

    def of(self, snapshot: Snapshot) -> Iterator[str]:
        """The news in another snapshot, one line a reply."""
        leads = {lead.email: lead for lead in snapshot.interested.value or () if lead.email}
        recorded = {one.email for one in snapshot.replies}
        yield from self._of_records(snapshot, leads)
        for lead in self._new_leads(snapshot.interested):
            if lead.email and lead.email not in recorded:
                self._told_by_lead.add(lead.email)
                yield f"Interested: {_name(lead)}"

    def _of_records(self, snapshot: Snapshot, leads: dict[str, Lead]) -> Iterator[str]:
        if not snapshot.replies:  # also where the records can't be read for a while
            return
        present = {(one.email, one.received_at): one for one in snapshot.replies}
        self._told &= present.keys()
        for key, reply in present.items():
            if reply.claimed_by or reply.received_at < self._since or key in self._told:
                continue
            self._told.add(key)
            if reply.email in self._told_by_lead:  # the service listed it before the bot had recorded it
                self._told_by_lead.discard(reply.email)
                continue
            name = _name(leads[reply.email]) if reply.email in leads else reply.email
            yield f"Unclaimed reply: {name}" + (f", {reply.sequence}" if reply.sequence else "")

    def _new_leads(self, interested: Reading[tuple[Lead, ...]]) -> list[Lead]:
        """Those of this read who weren't among those of the read before, if both are of this dashboard."""
        before, self._interested = self._interested, interested
        if before.value is None or before.value is interested.value or before.read_at is None:
            return []
        if before.read_at < self._since:
            return []
        known = {lead.id for lead in before.value}
        return [lead for lead in interested.value or () if lead.id not in known]


def _name(lead: Lead) -> str:
    return LeadLine(lead).name + (f" of {lead.company}" if lead.company else "")
