"""Long-running tasks: supervision, wake-ups and pacing."""
