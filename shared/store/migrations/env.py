"""Run by Alembic: migrate on the connection, and within the transaction, that `shared.store.db.migrate` holds."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
