"""The bot's tables, for SQLite and PostgreSQL alike. All times are Unix seconds.

Separate from the code that uses them, because tests compare the migrations with them on both engines.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

metadata = sa.MetaData()

NOW = sa.bindparam("now", type_=sa.Double)
"""The time of the transaction, in statements that are built once: building one takes ten times as long as running it."""


def literal(value: str | int) -> sa.BindParameter[Any]:
    """A value in the text of a statement: a database uses a partial index for nothing but its very words."""
    return sa.literal(value, literal_execute=True)


Serial = sa.BigInteger().with_variant(sa.Integer, "sqlite")  # only INTEGER counts up by itself in SQLite


def serial() -> sa.Column[int]:
    return sa.Column("id", Serial, primary_key=True, autoincrement=True)


def keys(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, primary_key=True, nullable=False, server_default="") for name in names]


def texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=False, server_default="") for name in names]


def counts(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger, nullable=False, server_default="0") for name in names]


def flags(*names: str) -> list[sa.Column[bool]]:
    return [sa.Column(name, sa.Boolean, nullable=False, server_default=sa.false()) for name in names]


def times(*names: str, nullable: bool = True) -> list[sa.Column[float]]:
    return [sa.Column(name, sa.Double, nullable=nullable) for name in names]


def index(
    table: sa.Table,
    name: str,
    *columns: str,
    where: sa.ColumnElement[bool] | None = None,
    unique: bool = False,
) -> None:
    """Add an index, of the rows for which `where` holds; a column after a minus is in falling order.

    SQLite uses a partial index only for queries in the very words of its condition, which are `flag = 1` for a flag.
    """
    ordered = (table.c[column[1:]].desc() if column[0] == "-" else table.c[column] for column in columns)
    words = sa.text(f"{where.name} = 1") if isinstance(where, sa.Column) else where
    sa.Index(f"ix_{table.name}_{name}", *ordered, unique=unique, sqlite_where=words, postgresql_where=where)


deliveries = sa.Table(
    "deliveries",
    metadata,
    serial(),
    sa.Column("dkey", sa.LargeBinary, nullable=False),  # sha256(workspace, 0, raw body)
    *times("received_at", "last_at", nullable=False),
    sa.Column("pending", sa.Boolean, nullable=False),  # an arrival that the router has not looked at
    *texts(
        "workspace",
        "kind",  # empty until the router has read the body
        "problem",  # why it isn't a known event
        "domain",
        "sequence",
        "inbox",
        "detail",  # what a count may ask: a hard or a soft bounce, the day of a return
    ),
    *flags("found"),  # found through the API, without a delivery
    # Last, because SQLite walks over all of a body to what comes after it. NULL once pruned.
    sa.Column("body", sa.LargeBinary),
)
index(deliveries, "pending", "received_at", "id", where=deliveries.c.pending)
index(deliveries, "dkey", "dkey", where=sa.not_(deliveries.c.pending), unique=True)
index(deliveries, "received_at", "received_at", where=sa.not_(deliveries.c.pending))
index(deliveries, "workspace", "workspace", "received_at", where=sa.not_(deliveries.c.pending))
sightings = (  # the deliveries of the service that were read, without their words: for counts and causes
    sa.select(
        deliveries.c.id.label("delivery_id"),
        *(deliveries.c[name] for name in ("workspace", "kind", "domain", "sequence", "detail", "inbox")),
        deliveries.c.received_at.label("at"),
    )
    .where(sa.not_(deliveries.c.pending), sa.not_(deliveries.c.found), deliveries.c.kind != "")
    .subquery("sightings")
)
_HAS_BODY = sa.not_(deliveries.c.pending) & deliveries.c.body.is_not(None)
# With a column that is the same in all rows, as some indexes of posts have it.
index(deliveries, "body", "pending", "received_at", where=_HAS_BODY)
index(deliveries, "last_at", "workspace", "last_at", where=sa.not_(deliveries.c.pending))

alerts = sa.Table(
    "alerts",
    metadata,
    *keys("id"),
    sa.Column("delivery_id", Serial, sa.ForeignKey("deliveries.id"), nullable=False, unique=True),
    *times("received_at", nullable=False),
    *texts(
        "workspace",
        "kind",
        "email",
        "claimed_by",
        "claimed_name",
        "sequence",
        "domain",
        "snoozed_name",
        "snoozed_by",  # the id of who snoozed it, or asked for a reminder
        "handled_name",
        "closed_reason",  # the reason why it was closed as not interested
        "standing",  # the state of its sequence or domain, as JSON
        "reply",  # a hash of what the lead wrote: the same reply may arrive as several kinds of event
        "acked_name",  # who takes care of a paused domain
        "assigned_name",  # who assigned it to the person that has it; empty: they claimed it
        "rota",  # the rota whose turns it follows; empty: none
        "owner",  # whose turn it is, as long as nobody has claimed it; empty: the group's
        "owner_name",
        "passed",  # whose turn it was before, separated by spaces
    ),
    *times(
        "claimed_at",
        "mail_until",  # until when the click of who has it opens their mail program; NULL: not
        "waiting_since",  # since when it can be claimed; NULL: it need not be
        "snoozed_until",
        "handled_at",
        "worked_since",  # when it was claimed, or reopened since
        "recovered_at",
        "acked_at",
        "ack_due_at",  # when to remind of it next; NULL: it need not be
        "turn_ends_at",  # when it passes on; NULL: it doesn't
    ),
    *counts(
        "nudges",  # how often it was pointed out: 1 reminded, 2 escalated
        "claim_nudges",  # how often its claimer was reminded
        "ack_reminders",
    ),
    *flags("undelivered"),  # found through the API, and its delivery has not come yet
)
index(alerts, "snoozed_until", "snoozed_until", where=alerts.c.snoozed_until.is_not(None))
index(alerts, "email", "email")
index(alerts, "lead", "workspace", "email", "received_at")
index(alerts, "undelivered", "email", "undelivered", where=alerts.c.undelivered)
_CLAIMED = (alerts.c.claimed_by != "") & alerts.c.handled_at.is_(None)
index(alerts, "claimed_by", "claimed_by", "claimed_at", where=_CLAIMED)
_PAUSED = (alerts.c.kind == "domain.paused") & alerts.c.recovered_at.is_(None)
index(alerts, "not_recovered", "received_at", "workspace", where=_PAUSED)
index(alerts, "kind", "workspace", "kind", "received_at")
_UNCLAIMED = (alerts.c.kind == "reply.interested") & alerts.c.waiting_since.is_not(None)
# With all that a query names, also the kind, which is the same in all rows: SQLite takes the index of all alerts of a
# kind if this one is not enough by itself.
index(alerts, "unclaimed", "workspace", "kind", "received_at", "id", "waiting_since", where=_UNCLAIMED)
index(alerts, "claimed_at", "workspace", "claimed_at", where=alerts.c.claimed_at.is_not(None))
index(alerts, "handled_at", "workspace", "handled_at", where=alerts.c.handled_at.is_not(None))

posts = sa.Table(
    "posts",
    metadata,
    serial(),
    sa.Column("dedupe", sa.Text, nullable=False, unique=True),
    *times("created_at", nullable=False),
    *texts(
        "workspace",
        "channel",
        "kind",
        "alert_id",
        "note",  # a Card as JSON, for messages that aren't alerts
        "state",
        "bundle",  # the message it went out in, where several shared one
        "thread_ts",
        "ts",
        "error",
        "mention",  # whom Slack is to call: U…, S… or here
    ),
    *counts(
        "urgency",
        "token",
        "undo",  # the entry of the audit that its Undo button takes back
        "refusals",  # those in which Slack refused this very post
        "lookups",  # readings in a row that did not find it
        "failed_lookups",  # those that did not get to an end
        "version",
    ),
    *flags(
        "condensed",
        "clicked",  # a person changed it, and the message in Slack does not show that yet
        "turned",  # it shows another event than the message in Slack, which is not repainted yet
        "frozen",  # Slack lets nobody edit it: another message shows the state of its alert
    ),
    *times(
        "held_until",  # of a post that is held over a quiet time
        "tried_until",  # from when on the newest attempt can no longer turn up in the channel
        "sent_at",
    ),
)
# In the order in which a channel gets them, however many wait there.
index(posts, "waiting", "channel", "state", "-urgency", "id", where=posts.c.state != "sent")
# The state is among the columns of the next ones, though it is the same in all their rows: without statistics, SQLite
# takes the index of which a query gives the most columns, and that must not be one of all posts of a channel.
_IS_ALERT = (posts.c.kind == "alert") & (posts.c.state == "ready")
index(posts, "alerts", "channel", "state", "kind", "-urgency", "id", where=_IS_ALERT)
_IS_REST = (posts.c.kind != "alert") & (posts.c.state == "ready")
index(posts, "rest", "channel", "state", "id", where=_IS_REST)
_IS_STUCK = (posts.c.state == "dead") | (posts.c.state == "unsure")
index(posts, "dead", "channel", "state", "id", where=_IS_STUCK)
index(posts, "uncertain", "channel", "state", "thread_ts", where=posts.c.state == "uncertain")
index(posts, "held_until", "channel", "held_until", where=posts.c.held_until.is_not(None))
index(posts, "alert_id", "alert_id")
index(posts, "ts", "channel", "ts")
_WITH_UNDO = posts.c.undo != 0
index(posts, "undo", "undo", where=_WITH_UNDO)
index(posts, "no_alerts", "created_at", where=posts.c.kind != "alert")

facts = sa.Table(  # see `shared.store.facts`
    "facts",
    metadata,
    *keys("kind", "workspace", "key"),
    sa.Column("value", sa.Text, nullable=False, server_default="{}"),  # JSON
    *times("at"),
)

questions = sa.Table(  # confirmations that can still be answered
    "questions",
    metadata,
    *keys("id"),
    *times("ends_at", nullable=False),
    *texts(
        "workspace",
        "person",
        "data",  # the command, and what each answer carries out
    ),
    *times("given_at"),
)

jobs = sa.Table(  # what is due: see `shared.store.jobs`
    "jobs",
    metadata,
    serial(),
    sa.Column("rank", sa.SmallInteger, nullable=False, server_default="1"),  # 0: a person waits for it
    sa.Column("payload", sa.Text, nullable=False, server_default="{}"),
    *texts("kind", "workspace", "key"),
    *times("due_at"),  # leased: the end of the lease; NULL: it sleeps
    *counts(
        "token",  # random for each claim; 0: free
        "attempts",
        "revision",  # how often it was put
    ),
    sa.UniqueConstraint("kind", "workspace", "key"),
    postgresql_with={"autovacuum_vacuum_scale_factor": "0.01"},  # its rows change all the time
)
index(jobs, "due", "kind", "rank", "due_at", "id")

# One row for each sequence that was ever changed, locked while someone changes it.
sequence_changes = sa.Table(
    "sequence_changes",
    metadata,
    *keys("workspace", "sequence"),
    *counts(
        "token",
        "revision",  # how often it was changed, or may have been
    ),
    *times(
        "locked_until",
        # Until then the service may carry out an unanswered request to pause or resume it.
        "pause_late_until",
        "resume_late_until",
    ),
    *texts(
        "asked",  # the status that the change under way, or the last one, asks for
        "confirmed",  # the status that the service confirmed last; empty: unknown
    ),
)

audit = sa.Table(
    "audit",
    metadata,
    serial(),
    *times("at", nullable=False),
    *texts(
        "workspace",
        "actor_name",
        "actor_id",
        "face",
        "channel",
        "command",
        "result",
        "effect",
        "sequences",  # JSON: the ids of those that it paused or resumed
        "reason",  # of a pause
        "undoable",  # JSON: those that an Undo takes back, as they were before
        "undone_by",
        "overtaken_by",  # who changed since all that an Undo would take back
        "via",  # `assistant`, or empty
    ),
    *counts("undoes"),  # the entry that it took back
)
# Assistants may read thousands of times a day: the list of changes does not walk over that.
index(audit, "acts", "workspace", "id", where=audit.c.effect != "read")
index(audit, "read", "workspace", "id", where=audit.c.effect == "read")
index(audit, "undoable", "workspace", "id", where=audit.c.undoable != "")
index(audit, "changes", "workspace", "at", where=audit.c.sequences != "")

# Interested leads, whether announced, there before the first start, or not yet announced.
known_leads = sa.Table(
    "known_leads",
    metadata,
    *keys("workspace"),
    *keys("lead"),  # sha256 of the address; empty: the first look has been taken
    *times(
        "candidate_since",  # without an alert since then; NULL: no news
        "seen_at",  # when the service last listed it, to about a day; NULL: kept
    ),
)
index(known_leads, "seen_at", "seen_at", where=known_leads.c.seen_at.is_not(None))

domains = sa.Table(  # one row per domain; a job of the kind `domain` checks it
    "domains",
    metadata,
    *keys("domain"),
    *texts(
        "report",  # a DomainReport as JSON; empty: never checked
        "broken",  # the checks with a confirmed problem, separated by spaces
        "incident",  # JSON: by workspace, the alert about problems that aren't over
    ),
)
index(domains, "broken", "domain", where=domains.c.broken != "")

# One row per incident: written before the act, done with the message in one transaction.
incidents = sa.Table(
    "guardrail_incidents",
    metadata,
    serial(),
    sa.Column("sequences", sa.Text, nullable=False, server_default="[]"),  # ids, as JSON
    *times("began_at", nullable=False),
    *times("held_at", nullable=False),  # when its condition held last
    *texts(
        "workspace",
        "rule",
        "sentence",
        "action",
        "subject",
        "label",
        "note",
        "state",
        "domain",  # whose trouble it is, in small letters; empty: it is told by itself
        "told",  # the dedupe of the message that tells of it; empty: its domain's card does
    ),
    *times(
        "ended_at",
        "resumes_at",
    ),
    *counts("change"),  # the entry of the audit whose Undo rests its rule
)
_GOES_ON = incidents.c.ended_at.is_(None)
index(incidents, "open", "workspace", "rule", "subject", where=_GOES_ON, unique=True)

samples = sa.Table(  # how far the counts of a service day stood, at most one row in each slot of a day
    "guardrail_samples",
    metadata,
    *keys("workspace"),
    sa.Column("day", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("slot", sa.BigInteger, primary_key=True, autoincrement=False),
    *keys("scope", "key"),
    *times("at", nullable=False),
    *counts(
        "sends",
        "replies",
        "positive",
    ),
    *times("health"),
)
index(samples, "at", "at")

alembic_version = sa.Table(  # one row: the newest migration that was applied, or that the tables were created with
    "alembic_version", metadata, sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)  # fmt: skip

releases = sa.Table(  # which version of the program brought the schema to a revision
    "releases",
    metadata,
    *keys("revision"),
    *texts("version"),
    *times("at", nullable=False),
)
