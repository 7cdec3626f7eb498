"""The baseline, from which later migrations go on.

It has nothing to do: `shared.store.db.migrate` creates the tables of an empty database as they are declared.
"""

revision = "0323"
down_revision = None


def upgrade() -> None:
    """Apply nothing."""
