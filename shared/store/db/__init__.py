"""The database: schema, engine, clock, lock and migrations."""
