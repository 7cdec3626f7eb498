"""Index waiting posts in the order in which a channel gets them."""

from alembic import op

revision = "0170"
down_revision = "0160"


def upgrade() -> None:
    for index in ("ix_posts_waiting", "ix_posts_incidents", "ix_posts_dead", "ix_posts_uncertain"):
        op.execute(f"DROP INDEX {index}")
    for index in (
        "ix_posts_waiting ON posts (channel, state, urgency DESC, id) WHERE state != 'sent'",
        "ix_posts_answers ON posts (channel, state, kind, id) WHERE kind = 'answer' AND state = 'ready'",
        "ix_posts_calling ON posts (channel, state, urgency DESC) WHERE mention != '' AND state = 'ready'",
        "ix_posts_dead ON posts (channel, state, attempts, id) WHERE state = 'dead'",
        "ix_posts_uncertain ON posts (channel, state, thread_ts) WHERE state = 'uncertain'",
    ):
        op.execute(f"CREATE INDEX {index}")
