"""Run by Alembic: migrate on the connection, and within the transaction, that `bot.store.db.migrate` holds."""

from alembic import context

from bot.store.db.columns import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
