"""Which replies are new and unclaimed, for a notification of each. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from shared.domain.snapshot import Snapshot
from tui.model.lines import LeadLine


class ReplyNews:
    """Tells of each reply that the bot has recorded once, those left out that were there when the dashboard began."""

    def __init__(self, *, since: datetime) -> None:
        self._since = since
        self._told: set[tuple[str, datetime]] = set()

    def of(self, snapshot: Snapshot) -> Iterator[str]:
        """The news in another snapshot, one line a reply."""
        if not snapshot.replies:  # also where the records can't be read for a while
            return
        leads = {lead.email: lead for lead in snapshot.interested.value or ()}
        present = {(reply.email, reply.received_at): reply for reply in snapshot.replies}
        self._told &= present.keys()
        for key, reply in present.items():
            if reply.claimed_by or reply.received_at < self._since or key in self._told:
                continue
            self._told.add(key)
            lead = leads.get(reply.email)
            company = f" of {lead.company}" if lead and lead.company else ""
            name = LeadLine(lead).name + company if lead else reply.email
            yield f"Unclaimed reply: {name}" + (f", {reply.sequence}" if reply.sequence else "")
