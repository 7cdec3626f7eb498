"""What commands, digests and reports read: how alerts stand, subscriptions, counts, the audit."""
