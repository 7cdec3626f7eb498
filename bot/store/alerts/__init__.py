"""What people and time do to alerts: claims, snoozes, digests, timers, confirmations."""
