"""What runs on a schedule: reminders, digests, timed pauses, reconciliation."""
