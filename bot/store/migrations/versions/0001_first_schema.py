"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create every table."""
    _answers()
    _arrivals()
    _audit()
    _deliveries()
    _digests()
    _known_leads()
    _lanes()
    _posts()
    _questions()
    _sightings()
    _spikes()
    _subscriptions()
    _timers()
    _alerts()


def _answers() -> None:
    op.create_table(
        "answers",
        sa.Column("batch", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("batch"),
    )


def _arrivals() -> None:
    op.create_table(
        "arrivals",
        sa.Column("id", SERIAL, autoincrement=True, nullable=False),
        sa.Column("dkey", sa.LargeBinary(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("batch", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )


def _audit() -> None:
    op.create_table(
        "audit",
        sa.Column("id", SERIAL, autoincrement=True, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("workspace", sa.Text(), server_default="", nullable=False),
        sa.Column("actor_name", sa.Text(), server_default="", nullable=False),
        sa.Column("actor_id", sa.Text(), server_default="", nullable=False),
        sa.Column("face", sa.Text(), server_default="", nullable=False),
        sa.Column("channel", sa.Text(), server_default="", nullable=False),
        sa.Column("command", sa.Text(), server_default="", nullable=False),
        sa.Column("result", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )


def _deliveries() -> None:
    op.create_table(
        "deliveries",
        sa.Column("id", SERIAL, autoincrement=True, nullable=False),
        sa.Column("dkey", sa.LargeBinary(), nullable=False),
        sa.Column("workspace", sa.Text(), server_default="", nullable=False),
        sa.Column("kind", sa.Text(), server_default="", nullable=False),
        sa.Column("problem", sa.Text(), server_default="", nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.Column("found", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("received_at", sa.Double(), nullable=False),
        sa.Column("last_at", sa.Double(), nullable=False),
        sa.Column("before_at", sa.Double(), nullable=False),
        sa.Column("seen", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("batch_first", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("batch", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("batch_before", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("pending", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "ix_deliveries_pending",
        "deliveries",
        ["received_at", "id"],
        unique=False,
        sqlite_where=sa.text("pending = 1"),
        postgresql_where=sa.text("pending"),
    )
    for column in ("dkey", "received_at"):
        op.create_index(
            f"ix_deliveries_{column}",
            "deliveries",
            [column],
            unique=column == "dkey",
            sqlite_where=sa.text("pending = 0"),
            postgresql_where=sa.text("NOT pending"),
        )


def _digests() -> None:
    op.create_table(
        "digests",
        sa.Column("workspace", sa.Text(), server_default="", nullable=False),
        sa.Column("channel", sa.Text(), server_default="", nullable=False),
        sa.Column("every", sa.Text(), server_default="", nullable=False),
        sa.Column("at", sa.Text(), server_default="", nullable=False),
        sa.Column("done_until", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("workspace", "channel", "every"),
    )


def _questions() -> None:
    op.create_table(
        "questions",
        sa.Column("id", sa.Text(), server_default="", nullable=False),
        sa.Column("workspace", sa.Text(), server_default="", nullable=False),
        sa.Column("person", sa.Text(), server_default="", nullable=False),
        sa.Column("line", sa.Text(), server_default="", nullable=False),
        sa.Column("names", sa.Text(), server_default="", nullable=False),
        sa.Column("ends_at", sa.Double(), nullable=False),
        sa.Column("given_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )


def _sightings() -> None:
    op.create_table(
        "sightings",
        sa.Column("delivery_id", SERIAL, autoincrement=False, nullable=False),
        sa.Column("workspace", sa.Text(), server_default="", nullable=False),
        sa.Column("kind", sa.Text(), server_default="", nullable=False),
        sa.Column("domain", sa.Text(), server_default="", nullable=False),
        sa.Column("sequence", sa.Text(), server_default="", nullable=False),
        sa.Column("detail", sa.Text(), server_default="", nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("delivery_id"),
    )
    op.create_index("ix_sightings_at", "sightings", ["at"], unique=False)


def _spikes() -> None:
    op.create_table(
        "spikes",
        sa.Column("workspace", sa.Text(), server_default="", nullable=False),
        sa.Column("kind", sa.Text(), server_default="", nullable=False),
        sa.Column("scope", sa.Text(), server_default="", nullable=False),
        sa.Column("name", sa.Text(), server_default="", nullable=False),
        sa.Column("since", sa.Double(), nullable=False),
        sa.Column("last_at", sa.Double(), nullable=False),
        sa.Column("dedupe", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("workspace", "kind", "scope", "name"),
    )


def _known_leads() -> None:
    op.create_table(
        "known_leads",
        sa.Column("workspace", sa.Text(), server_default="", nullable=False),
        sa.Column("lead", sa.Text(), server_default="", nullable=False),
        sa.Column("candidate_since", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("workspace", "lead"),
    )


def _lanes() -> None:
    op.create_table(
        "lanes",
        sa.Column("channel", sa.Text(), server_default="", nullable=False),
        sa.Column("due_at", sa.Double(), nullable=True),
        sa.Column("lease_until", sa.Double(), nullable=True),
        sa.Column("token", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("tat", sa.Double(), nullable=True),
        sa.Column("trouble", sa.Text(), server_default="", nullable=False),
        sa.Column("trouble_since", sa.Double(), nullable=True),
        sa.Column("storm", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("channel"),
    )


def _posts() -> None:
    op.create_table(
        "posts",
        sa.Column("id", SERIAL, autoincrement=True, nullable=False),
        sa.Column("dedupe", sa.Text(), nullable=False),
        sa.Column("workspace", sa.Text(), server_default="", nullable=False),
        sa.Column("channel", sa.Text(), server_default="", nullable=False),
        sa.Column("kind", sa.Text(), server_default="", nullable=False),
        sa.Column("alert_id", sa.Text(), server_default="", nullable=False),
        sa.Column("note", sa.Text(), server_default="", nullable=False),
        sa.Column("urgency", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("state", sa.Text(), server_default="", nullable=False),
        sa.Column("unsure", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("token", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("bundle", sa.Text(), server_default="", nullable=False),
        sa.Column("storm", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("thread_ts", sa.Text(), server_default="", nullable=False),
        sa.Column("ts", sa.Text(), server_default="", nullable=False),
        sa.Column("error", sa.Text(), server_default="", nullable=False),
        sa.Column("condensed", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("mention", sa.Text(), server_default="", nullable=False),
        sa.Column("held_until", sa.Double(), nullable=True),
        sa.Column("attempts", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("lookups", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("tried_until", sa.Double(), nullable=True),
        sa.Column("version", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("repaint_at", sa.Double(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("sent_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("dedupe"),
    )
    op.create_index("ix_posts_alert_id", "posts", ["alert_id"], unique=False)
    op.create_index(
        "ix_posts_repaint_at",
        "posts",
        ["repaint_at"],
        unique=False,
        sqlite_where=sa.text("repaint_at IS NOT NULL"),
        postgresql_where=sa.text("repaint_at IS NOT NULL"),
    )
    op.create_index(
        "ix_posts_storm",
        "posts",
        ["storm"],
        unique=False,
        sqlite_where=sa.text("storm != 0"),
        postgresql_where=sa.text("storm != 0"),
    )
    op.create_index("ix_posts_ts", "posts", ["channel", "ts"], unique=False)
    op.create_index(
        "ix_posts_waiting",
        "posts",
        ["channel", "id"],
        unique=False,
        sqlite_where=sa.text("state != 'sent'"),
        postgresql_where=sa.text("state != 'sent'"),
    )


def _subscriptions() -> None:
    op.create_table(
        "subscriptions",
        sa.Column("workspace", sa.Text(), server_default="", nullable=False),
        sa.Column("channel", sa.Text(), server_default="", nullable=False),
        sa.Column("event", sa.Text(), server_default="", nullable=False),
        sa.Column("sequence", sa.Text(), server_default="", nullable=False),
        sa.Column("inbox", sa.Text(), server_default="", nullable=False),
        sa.Column("condensed", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.PrimaryKeyConstraint("workspace", "channel", "event", "sequence", "inbox"),
    )


def _timers() -> None:
    op.create_table(
        "timers",
        sa.Column("id", SERIAL, autoincrement=True, nullable=False),
        sa.Column("workspace", sa.Text(), server_default="", nullable=False),
        sa.Column("kind", sa.Text(), server_default="", nullable=False),
        sa.Column("key", sa.Text(), server_default="", nullable=False),
        sa.Column("payload", sa.Text(), server_default="", nullable=False),
        sa.Column("due_at", sa.Double(), nullable=False),
        sa.Column("lease_until", sa.Double(), nullable=True),
        sa.Column("token", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("attempts", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("workspace", "kind", "key"),
    )
    op.create_index("ix_timers_due_at", "timers", ["due_at"], unique=False)


def _alerts() -> None:
    op.create_table(
        "alerts",
        sa.Column("id", sa.Text(), server_default="", nullable=False),
        sa.Column("delivery_id", SERIAL, nullable=False),
        sa.Column("workspace", sa.Text(), server_default="", nullable=False),
        sa.Column("kind", sa.Text(), server_default="", nullable=False),
        sa.Column("email", sa.Text(), server_default="", nullable=False),
        sa.Column("received_at", sa.Double(), nullable=False),
        sa.Column("claimed_by", sa.Text(), server_default="", nullable=False),
        sa.Column("claimed_name", sa.Text(), server_default="", nullable=False),
        sa.Column("claimed_at", sa.Double(), nullable=True),
        sa.Column("sequence", sa.Text(), server_default="", nullable=False),
        sa.Column("domain", sa.Text(), server_default="", nullable=False),
        sa.Column("waiting_since", sa.Double(), nullable=True),
        sa.Column("nudges", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("snoozed_until", sa.Double(), nullable=True),
        sa.Column("snoozed_name", sa.Text(), server_default="", nullable=False),
        sa.Column("handled_name", sa.Text(), server_default="", nullable=False),
        sa.Column("handled_at", sa.Double(), nullable=True),
        sa.Column("standing", sa.Text(), server_default="", nullable=False),
        sa.Column("looked_at", sa.Double(), nullable=True),
        sa.Column("recovered_at", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["delivery_id"], ["deliveries.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("delivery_id"),
    )
    for column in ("waiting_since", "snoozed_until"):
        op.create_index(
            f"ix_alerts_{column}",
            "alerts",
            [column],
            unique=False,
            sqlite_where=sa.text(f"{column} IS NOT NULL"),
            postgresql_where=sa.text(f"{column} IS NOT NULL"),
        )
    op.create_index("ix_alerts_email", "alerts", ["email"], unique=False)
    op.create_index("ix_alerts_open", "alerts", ["workspace", "kind", "claimed_by"], unique=False)
    # ### end Alembic commands ###
