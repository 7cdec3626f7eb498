"""The choices for the dashboard."""

THEMES = ("night", "day", "contrast")
NOTIFICATIONS = ("off", "osc9")
"""The ways to notify the desktop: not at all, or by the sequence that most terminals know."""
