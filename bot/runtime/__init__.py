"""What long-lived tasks are built from: wake-ups and their supervision."""
