"""What a person can choose for the dashboard."""

THEMES = ("night", "day", "contrast")
NOTIFICATIONS = ("off", "osc9")
"""How the terminal notifies the desktop: not at all, or by the sequence that most terminals know."""
