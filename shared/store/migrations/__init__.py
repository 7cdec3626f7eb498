"""Changes of the bot's schema, in order; applied at start by `shared.store.db.migrate`."""
