"""Clock, ids, errors, schema, storage and seeded randomness."""
