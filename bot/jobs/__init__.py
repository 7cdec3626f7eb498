"""Jobs: digests, timed pauses, reconciliation, checks of domains."""
