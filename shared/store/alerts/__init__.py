"""State changes of alerts: claims, snoozes, digests, timers, confirmations."""
