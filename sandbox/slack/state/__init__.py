"""Values and settings of the stand-in: model, seed, clock, scopes, faults."""
