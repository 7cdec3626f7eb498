"""The commands that count: `status`, `stats`, `people`, digests, the client report."""
