"""What a person can choose for the dashboard: a module of its own, since the first paint waits for it."""

THEMES = ("night", "day", "contrast")
NOTIFICATIONS = ("auto", "off", "osc9", "osc99", "osc777")
"""How the terminal notifies the desktop: what it says it can, nothing, or one of three sequences."""
