"""Run by Alembic: migrate on the connection, and within the transaction, that `bot.ledger.migrate` holds."""

from alembic import context

from bot.ledger.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
