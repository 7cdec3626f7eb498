"""The oldest schema that is upgraded. It has no statements: an empty database is created at the newest schema."""

revision = "0160"
down_revision = None


def upgrade() -> None:
    """Nothing."""
