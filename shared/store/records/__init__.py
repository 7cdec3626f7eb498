"""Data for commands, digests and reports: alerts, subscriptions, counts, the audit."""
