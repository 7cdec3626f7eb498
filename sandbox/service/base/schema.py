"""The tables: one store for the API, the simulation and the deliveries, on SQLite or PostgreSQL alike."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
)

metadata = MetaData()

# SQLite counts its rows by INTEGER PRIMARY KEY alone; PostgreSQL wants room for more than two billion.
Number = BigInteger().with_variant(Integer, "sqlite")


def _numbered() -> Column[int]:
    return Column("pk", Number, primary_key=True, autoincrement=True)


world = Table(
    "world",
    metadata,
    Column("pk", Integer, primary_key=True),
    Column("seed", Integer, nullable=False),
    Column("scenario", Text, nullable=False),
    Column("founded_at", Float(53), nullable=False),
    Column("simulated_until", Float(53), nullable=False),
    Column("acts_done", Integer, nullable=False),
    Column("clock_real", Float(53), nullable=False),
    Column("clock_virtual", Float(53), nullable=False),
    Column("clock_speed", Float(53), nullable=False),
)

workspaces = Table("workspaces", metadata, _numbered(), Column("name", Text, nullable=False, unique=True))

api_keys = Table(
    "api_keys",
    metadata,
    Column("key", Text, primary_key=True),
    Column("workspace_pk", ForeignKey("workspaces.pk"), nullable=False),
    Column("revoked", Boolean, nullable=False),
)

sequences = Table(
    "sequences",
    metadata,
    _numbered(),
    Column("workspace_pk", Number, nullable=False, index=True),
    Column("name", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("steps", Integer, nullable=False),
    Column("opens", Integer, nullable=False),
    Column("closes", Integer, nullable=False),
    Column("weekdays", Integer, nullable=False),
    Column("appeal", Float(53), nullable=False),
)

domains = Table(
    "domains",
    metadata,
    _numbered(),
    Column("workspace_pk", Number, nullable=False, index=True),
    Column("name", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("until", Float(53)),
)

inboxes = Table(
    "inboxes",
    metadata,
    _numbered(),
    Column("workspace_pk", Number, nullable=False, index=True),
    Column("domain_pk", Number, nullable=False, index=True),
    Column("sequence_pk", Number, nullable=False, index=True),
    Column("email", Text, nullable=False),
    Column("health", Float(53), nullable=False),
    Column("daily_limit", Integer, nullable=False),
    Column("full_limit", Integer, nullable=False),
    Column("status", Text, nullable=False),
    Column("next_slot_at", Float(53), nullable=False, index=True),
)

leads = Table(
    "leads",
    metadata,
    _numbered(),
    Column("workspace_pk", Number, nullable=False),
    Column("sequence_pk", Number, nullable=False),
    Column("email", Text, nullable=False),
    Column("first_name", Text),
    Column("last_name", Text),
    Column("company", Text),
    Column("custom", Text),
    Column("status", Text, nullable=False),
    Column("step", Integer, nullable=False),
    Column("due_at", Float(53)),
    Column("inbox_pk", Number),
    Column("created_at", Float(53), nullable=False),
    # A removed lead's number is never used again: a repeated DELETE must find nothing.
    sqlite_autoincrement=True,
)
# Each filter of GET /leads has its own index that ends in the row's number: a page is one short range of it.
LEAD_INDEXES = (
    Index("leads_newest", leads.c.workspace_pk, leads.c.pk),
    Index("leads_by_status", leads.c.workspace_pk, leads.c.status, leads.c.pk),
    Index("leads_by_sequence", leads.c.sequence_pk, leads.c.pk),
    Index("leads_by_both", leads.c.sequence_pk, leads.c.status, leads.c.pk),
    Index("leads_once", leads.c.email, leads.c.sequence_pk, unique=True),
    Index(
        "leads_due",
        leads.c.sequence_pk,
        leads.c.inbox_pk,
        leads.c.due_at,
        sqlite_where=leads.c.due_at.is_not(None),
        postgresql_where=leads.c.due_at.is_not(None),
    ),
)

blocklist = Table(
    "blocklist",
    metadata,
    Column("workspace_pk", Number, nullable=False),
    Column("entry", Text, nullable=False),
    PrimaryKeyConstraint("workspace_pk", "entry"),
)

responses = Table(
    "responses",
    metadata,
    _numbered(),
    Column("lead_pk", Number, nullable=False),
    Column("inbox_pk", Number, nullable=False),
    Column("step", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("due_at", Float(53), nullable=False, index=True),
)

daily_counts = Table(
    "tallies",
    metadata,
    Column("workspace_pk", Number, nullable=False),
    Column("grouping", Text, nullable=False),
    Column("day", Integer, nullable=False),
    Column("group_key", Number, nullable=False),
    Column("sends", Integer, nullable=False, default=0),
    Column("replies", Integer, nullable=False, default=0),
    Column("positive_replies", Integer, nullable=False, default=0),
    Column("meetings", Integer, nullable=False, default=0),
    Column("bounces", Integer, nullable=False, default=0),
    Column("complaints", Integer, nullable=False, default=0),
    # A group's days lie side by side, so that its sum over a range is one short walk.
    PrimaryKeyConstraint("workspace_pk", "grouping", "group_key", "day"),
    sqlite_with_rowid=False,
)

events = Table(
    "events",
    metadata,
    _numbered(),
    Column("workspace_pk", Number, nullable=False),
    Column("kind", Text, nullable=False),
    Column("email", Text, index=True),
    Column("at", Float(53), nullable=False),
    Column("body", LargeBinary, nullable=False),
)

subscriptions = Table(
    "subscriptions",
    metadata,
    _numbered(),
    Column("workspace_pk", Number, nullable=False, index=True),
    Column("url", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("events", Text, nullable=False),
    Column("created_at", Float(53), nullable=False),
)

deliveries = Table(
    "deliveries",
    metadata,
    _numbered(),
    Column("event_pk", Number, nullable=False),
    Column("subscription_pk", Number, nullable=False),
    Column("state", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("first_at", Float(53), nullable=False),
    Column("next_at", Float(53), nullable=False),
    Column("lease_until", Float(53), nullable=False),
)
DUE_DELIVERIES = Index(
    "deliveries_due",
    deliveries.c.subscription_pk,
    deliveries.c.next_at,
    sqlite_where=deliveries.c.state == "pending",
    postgresql_where=deliveries.c.state == "pending",
)

attempts = Table(
    "attempts",
    metadata,
    _numbered(),
    Column("delivery_pk", Number, nullable=False, index=True),
    Column("number", Integer, nullable=False),
    Column("at", Float(53), nullable=False),
    Column("real", Float(53), nullable=False),
    Column("status", Integer),
    Column("error", Text),
    Column("seconds", Float(53), nullable=False),
)

rates = Table(
    "rates",
    metadata,
    Column("key", Text, primary_key=True),
    Column("spent", Text, nullable=False),
)
