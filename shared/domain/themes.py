"""The dashboard's themes that a person can choose: a module of its own, since the first paint waits for it."""

THEMES = ("night", "day", "contrast")
