"""Keep what is known of the sending domains' DNS."""

import sqlalchemy as sa
from alembic import op

revision = "0260"
down_revision = "0250"


def _text(name: str, *, primary_key: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, primary_key=primary_key, nullable=False, server_default="")


def upgrade() -> None:
    op.create_table(
        "domains",
        _text("domain", primary_key=True),
        sa.Column("due_at", sa.Double, nullable=False),
        sa.Column("lease_until", sa.Double),
        sa.Column("token", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("checked_at", sa.Double),
        *map(_text, ("report", "broken", "incident")),
    )
    op.execute("CREATE INDEX ix_domains_due_at ON domains (due_at)")
    op.execute("CREATE INDEX ix_domains_lease_until ON domains (lease_until)")
    op.execute("CREATE INDEX ix_domains_broken ON domains (domain) WHERE broken != ''")
    op.create_table(
        "domain_senders",
        _text("workspace", primary_key=True),
        _text("domain", primary_key=True),
        sa.Column("seen_at", sa.Double, nullable=False),
        sa.Column("health", sa.Double),
    )
    op.execute("CREATE INDEX ix_domain_senders_domain ON domain_senders (domain)")
    op.execute("CREATE INDEX ix_domain_senders_seen_at ON domain_senders (seen_at)")
    op.create_table(
        "domain_changes",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer, "sqlite"),
            primary_key=True,
            autoincrement=True,
            nullable=False,
        ),
        _text("domain"),
        sa.Column("at", sa.Double, nullable=False),
        _text("change"),
    )
    op.execute("CREATE INDEX ix_domain_changes_domain ON domain_changes (domain, at)")
    op.execute("CREATE INDEX ix_domain_changes_at ON domain_changes (at)")
