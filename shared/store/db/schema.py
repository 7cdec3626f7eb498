"""The bot's tables, for SQLite and PostgreSQL alike. All times are Unix seconds.

Separate from the code that uses them, because tests compare the migrations with them on both engines.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

metadata = sa.MetaData(naming_convention={"ix": "ix_%(table_name)s_%(column_0_N_name)s"})

NOW = sa.bindparam("now", type_=sa.Double)
"""The time of the transaction, in statements that are built once: building one takes ten times as long as running it."""


Serial = sa.BigInteger().with_variant(sa.Integer, "sqlite")  # only INTEGER counts up by itself in SQLite


def serial() -> sa.Column[int]:
    return sa.Column("id", Serial, primary_key=True, autoincrement=True)


def text(name: str, *, primary_key: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, primary_key=primary_key, nullable=False, server_default="")


def count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False, server_default="0")


def timestamp(name: str, *, nullable: bool = True) -> sa.Column[float]:
    return sa.Column(name, sa.Double, nullable=nullable)


def texts(*names: str) -> list[sa.Column[str]]:
    return [text(name) for name in names]


def counts(*names: str) -> list[sa.Column[int]]:
    return [count(name) for name in names]


def flags(*names: str) -> list[sa.Column[bool]]:
    return [sa.Column(name, sa.Boolean, nullable=False, server_default=sa.false()) for name in names]


def timestamps(*names: str) -> list[sa.Column[float]]:
    return [timestamp(name) for name in names]


def partial_index(
    name: str,
    *columns: sa.ColumnElement[Any],
    where: sa.ColumnElement[bool] | sa.TextClause,
    unique: bool = False,
) -> None:
    """Add an index of the rows for which `where` holds, on either engine."""
    sa.Index(name, *columns, unique=unique, sqlite_where=where, postgresql_where=where)


deliveries = sa.Table(
    "deliveries",
    metadata,
    serial(),
    sa.Column("dkey", sa.LargeBinary, nullable=False),  # sha256(workspace, 0, raw body)
    timestamp("received_at", nullable=False),
    timestamp("last_at", nullable=False),
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
    count("seen"),
    # Last, because SQLite walks over all of a body to what comes after it. NULL once pruned.
    sa.Column("body", sa.LargeBinary),
)
sa.Index(
    "ix_deliveries_pending",
    deliveries.c.received_at,
    deliveries.c.id,
    sqlite_where=sa.text("pending = 1"),  # in the very words of a query, else SQLite leaves it unused
    postgresql_where=deliveries.c.pending,
)
partial_index("ix_deliveries_dkey", deliveries.c.dkey, unique=True, where=sa.not_(deliveries.c.pending))
partial_index("ix_deliveries_received_at", deliveries.c.received_at, where=sa.not_(deliveries.c.pending))
partial_index(
    "ix_deliveries_workspace",
    deliveries.c.workspace,
    deliveries.c.received_at,
    where=sa.not_(deliveries.c.pending),
)
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
partial_index("ix_deliveries_body", deliveries.c.pending, deliveries.c.received_at, where=_HAS_BODY)
partial_index(
    "ix_deliveries_last_at", deliveries.c.workspace, deliveries.c.last_at, where=sa.not_(deliveries.c.pending)
)

alerts = sa.Table(
    "alerts",
    metadata,
    text("id", primary_key=True),
    sa.Column("delivery_id", Serial, sa.ForeignKey("deliveries.id"), nullable=False, unique=True),
    timestamp("received_at", nullable=False),
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
    *timestamps(
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
partial_index("ix_alerts_turns", alerts.c.owner, where=alerts.c.turn_ends_at.is_not(None))
partial_index("ix_alerts_snoozed_until", alerts.c.snoozed_until, where=alerts.c.snoozed_until.is_not(None))
sa.Index("ix_alerts_email", alerts.c.email)
sa.Index("ix_alerts_lead", alerts.c.workspace, alerts.c.email, alerts.c.received_at)
sa.Index(
    "ix_alerts_undelivered",
    alerts.c.email,
    alerts.c.undelivered,
    sqlite_where=sa.text("undelivered = 1"),  # in the very words of a query
    postgresql_where=alerts.c.undelivered,
)
_CLAIMED = (alerts.c.claimed_by != "") & alerts.c.handled_at.is_(None)
partial_index("ix_alerts_claimed_by", alerts.c.claimed_by, alerts.c.claimed_at, where=_CLAIMED)
_OPEN = (alerts.c.kind == "reply.interested") & alerts.c.handled_at.is_(None) & (alerts.c.sequence != "")
partial_index(
    "ix_alerts_sequence",
    alerts.c.workspace,
    alerts.c.sequence,
    alerts.c.standing,
    alerts.c.received_at,
    where=_OPEN,
)
_PAUSED = (alerts.c.kind == "domain.paused") & alerts.c.recovered_at.is_(None)
partial_index("ix_alerts_not_recovered", alerts.c.received_at, alerts.c.workspace, where=_PAUSED)
sa.Index("ix_alerts_kind", alerts.c.workspace, alerts.c.kind, alerts.c.received_at)
_UNCLAIMED = (alerts.c.kind == "reply.interested") & alerts.c.waiting_since.is_not(None)
# With all that a query names, also the kind, which is the same in all rows: SQLite takes the index of all alerts of a
# kind if this one is not enough by itself.
partial_index(
    "ix_alerts_unclaimed",
    alerts.c.workspace,
    alerts.c.kind,
    alerts.c.received_at,
    alerts.c.id,
    alerts.c.waiting_since,
    where=_UNCLAIMED,
)
partial_index(
    "ix_alerts_claimed_at", alerts.c.workspace, alerts.c.claimed_at, where=alerts.c.claimed_at.is_not(None)
)
partial_index(
    "ix_alerts_handled_at", alerts.c.workspace, alerts.c.handled_at, where=alerts.c.handled_at.is_not(None)
)

posts = sa.Table(
    "posts",
    metadata,
    serial(),
    sa.Column("dedupe", sa.Text, nullable=False, unique=True),
    timestamp("created_at", nullable=False),
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
        "attempts",
        "refusals",  # those in which Slack refused this very post
        "lookups",  # readings in a row that did not find it
        "failed_lookups",  # those that did not get to an end
        "version",
    ),
    *flags(
        "unsure",  # an attempt ended without an answer: look it up before the next
        "keyless",  # posted without what it could be found by: it is neither looked up nor sent again
        "condensed",
        "clicked",  # a person changed it, and the message in Slack does not show that yet
        "turned",  # it shows another event than the message in Slack, which is not repainted yet
        "frozen",  # Slack lets nobody edit it: another message shows the state of its alert
    ),
    *timestamps(
        "held_until",  # of a post that is held over a quiet time
        "doubted_at",  # since when it is uncertain: a reading that began before proves nothing about it
        "tried_until",  # from when on the newest attempt can no longer turn up in the channel
        "sent_at",
    ),
)
partial_index(  # in the order in which a channel gets them, however many wait there
    "ix_posts_waiting",
    posts.c.channel,
    posts.c.state,
    posts.c.urgency.desc(),
    posts.c.id,
    where=posts.c.state != "sent",
)
# The state is among the columns of the next ones, though it is the same in all their rows: without statistics, SQLite
# takes the index of which a query gives the most columns, and that must not be one of all posts of a channel.
_IS_ANSWER = (posts.c.kind == "answer") & (posts.c.state == "ready")
partial_index("ix_posts_answers", posts.c.channel, posts.c.state, posts.c.kind, posts.c.id, where=_IS_ANSWER)
_IS_ALERT = (posts.c.kind == "alert") & (posts.c.state == "ready")
partial_index(
    "ix_posts_alerts",
    posts.c.channel,
    posts.c.state,
    posts.c.kind,
    posts.c.urgency.desc(),
    posts.c.id,
    where=_IS_ALERT,
)
_IS_REST = (posts.c.kind != "alert") & (posts.c.state == "ready")
partial_index("ix_posts_rest", posts.c.channel, posts.c.state, posts.c.id, where=_IS_REST)
partial_index(
    "ix_posts_dead",
    posts.c.channel,
    posts.c.state,
    posts.c.attempts,
    posts.c.id,
    where=posts.c.state == "dead",
)
partial_index(
    "ix_posts_uncertain",
    posts.c.channel,
    posts.c.state,
    posts.c.thread_ts,
    where=posts.c.state == "uncertain",
)
partial_index(
    "ix_posts_held_until", posts.c.channel, posts.c.held_until, where=posts.c.held_until.is_not(None)
)
sa.Index("ix_posts_alert_id", posts.c.alert_id)
sa.Index("ix_posts_ts", posts.c.channel, posts.c.ts)
_WITH_UNDO = posts.c.undo != 0
partial_index("ix_posts_undo", posts.c.undo, where=_WITH_UNDO)
partial_index("ix_posts_no_alerts", posts.c.created_at, where=posts.c.kind != "alert")

facts = sa.Table(  # see `shared.store.facts`
    "facts",
    metadata,
    text("kind", primary_key=True),
    text("workspace", primary_key=True),
    text("key", primary_key=True),
    sa.Column("value", sa.Text, nullable=False, server_default="{}"),  # JSON
    timestamp("at"),
)
sa.Index("ix_facts_at", facts.c.kind, facts.c.at)

questions = sa.Table(  # confirmations that can still be answered
    "questions",
    metadata,
    text("id", primary_key=True),
    timestamp("ends_at", nullable=False),
    *texts(
        "workspace",
        "person",
        "data",  # the command, and what each answer carries out
        "result",  # what the answer came to, for who taps it again
    ),
    timestamp("given_at"),
)
sa.Index("ix_questions_ends_at", questions.c.ends_at)

jobs = sa.Table(  # what is due: see `shared.store.jobs`
    "jobs",
    metadata,
    serial(),
    sa.Column("rank", sa.SmallInteger, nullable=False, server_default="1"),  # 0: a person waits for it
    sa.Column("payload", sa.Text, nullable=False, server_default="{}"),
    *texts(
        "kind",
        "workspace",
        "key",
        "error",
    ),
    timestamp("due_at"),  # leased: the end of the lease; NULL: it sleeps
    *counts(
        "token",  # random for each claim; 0: free
        "attempts",
        "revision",  # how often it was put
    ),
    sa.UniqueConstraint("kind", "workspace", "key"),
    postgresql_with={"autovacuum_vacuum_scale_factor": "0.01"},  # its rows change all the time
)
sa.Index("ix_jobs_due", jobs.c.kind, jobs.c.rank, jobs.c.due_at, jobs.c.id)

sequence_changes = (
    sa.Table(  # one row for each sequence that was ever changed, locked while someone changes it
        "sequence_changes",
        metadata,
        text("workspace", primary_key=True),
        text("sequence", primary_key=True),
        *counts(
            "token",
            "revision",  # how often it was changed, or may have been
        ),
        *timestamps(
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
)

audit = sa.Table(
    "audit",
    metadata,
    serial(),
    timestamp("at", nullable=False),
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
    count("undoes"),  # the entry that it took back
)
# Assistants may read thousands of times a day: the list of changes does not walk over that.
partial_index("ix_audit_acts", audit.c.workspace, audit.c.id, where=audit.c.effect != "read")
partial_index("ix_audit_read", audit.c.workspace, audit.c.id, where=audit.c.effect == "read")
partial_index("ix_audit_undoable", audit.c.workspace, audit.c.id, where=audit.c.undoable != "")
partial_index("ix_audit_changes", audit.c.workspace, audit.c.at, where=audit.c.sequences != "")

known_leads = (
    sa.Table(  # interested leads, whether announced, there before the first start, or not yet announced
        "known_leads",
        metadata,
        text("workspace", primary_key=True),
        text("lead", primary_key=True),  # sha256 of the address; empty: the first look has been taken
        *timestamps(
            "candidate_since",  # without an alert since then; NULL: no news
            "seen_at",  # when the service last listed it, to about a day; NULL: kept
        ),
    )
)
partial_index("ix_known_leads_seen_at", known_leads.c.seen_at, where=known_leads.c.seen_at.is_not(None))

domains = sa.Table(  # one row per domain; a job of the kind `domain` checks it
    "domains",
    metadata,
    text("domain", primary_key=True),
    *texts(
        "report",  # a DomainReport as JSON; empty: never checked
        "broken",  # the checks with a confirmed problem, separated by spaces
        "incident",  # JSON: by workspace, the alert about problems that aren't over
    ),
)
partial_index("ix_domains_broken", domains.c.domain, where=domains.c.broken != "")

incidents = (
    sa.Table(  # one row per incident: written before the act, done with the message in one transaction
        "guardrail_incidents",
        metadata,
        serial(),
        sa.Column("sequences", sa.Text, nullable=False, server_default="[]"),  # ids, as JSON
        timestamp("began_at", nullable=False),
        timestamp("held_at", nullable=False),  # when its condition held last
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
        *timestamps(
            "ended_at",
            "resumes_at",
        ),
        count("change"),  # the entry of the audit whose Undo rests its rule
    )
)
_GOES_ON = incidents.c.ended_at.is_(None)
partial_index(
    "ix_guardrail_incidents_open",
    incidents.c.workspace,
    incidents.c.rule,
    incidents.c.subject,
    unique=True,
    where=_GOES_ON,
)
sa.Index("ix_guardrail_incidents_began_at", incidents.c.workspace, incidents.c.began_at)
sa.Index("ix_guardrail_incidents_change", incidents.c.change)

samples = sa.Table(  # how far the counts of a service day stood, at most one row in each slot of a day
    "guardrail_samples",
    metadata,
    text("workspace", primary_key=True),
    sa.Column("day", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("slot", sa.BigInteger, primary_key=True, autoincrement=False),
    text("scope", primary_key=True),
    text("key", primary_key=True),
    timestamp("at", nullable=False),
    *counts(
        "sends",
        "replies",
        "positive",
    ),
    timestamp("health"),
)
sa.Index("ix_guardrail_samples_at", samples.c.at)

alembic_version = sa.Table(  # one row: the newest migration that was applied, or that the tables were created with
    "alembic_version", metadata, sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)  # fmt: skip

releases = sa.Table(  # which version of the program brought the schema to a revision
    "releases",
    metadata,
    text("revision", primary_key=True),
    text("version"),
    timestamp("at", nullable=False),
)
