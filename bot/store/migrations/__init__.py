"""Changes of the bot's schema, in order; applied at start by `bot.store.db.migrate`."""
