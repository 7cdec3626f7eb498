"""The tables of the domains' DNS. All times are Unix seconds."""

from __future__ import annotations

import sqlalchemy as sa

from shared.store.db.columns import metadata, partial_index, text, timestamp

domains = sa.Table(  # one row per domain; a job of the kind `domain` checks it
    "domains",
    metadata,
    text("domain", primary_key=True),
    timestamp("checked_at"),
    text("report"),  # a DomainReport as JSON; empty: never checked
    text("broken"),  # the checks with a confirmed problem, separated by spaces
    text("incident"),  # JSON: by workspace, the alert about problems that aren't over
)
partial_index("ix_domains_broken", domains.c.domain, where=domains.c.broken != "")
