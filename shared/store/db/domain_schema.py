"""The tables of the domains' DNS. All times are Unix seconds."""

from __future__ import annotations

import sqlalchemy as sa

from shared.store.db.columns import metadata, partial_index, serial, text, timestamp

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

senders = sa.Table(  # the workspaces that send from a domain
    "domain_senders",
    metadata,
    text("workspace", primary_key=True),
    text("domain", primary_key=True),
    timestamp("seen_at", nullable=False),  # to about an hour
    timestamp("health"),  # its lowest inbox when it was last at its best; NULL: unknown
)
sa.Index("ix_domain_senders_domain", senders.c.domain)
sa.Index("ix_domain_senders_seen_at", senders.c.seen_at)

changes = sa.Table(
    "domain_changes",
    metadata,
    serial(),
    text("domain"),
    timestamp("at", nullable=False),
    text("change"),  # a DomainChange as JSON
)
sa.Index("ix_domain_changes_domain", changes.c.domain, changes.c.at)
sa.Index("ix_domain_changes_at", changes.c.at)
