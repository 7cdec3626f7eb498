"""The terminal dashboard, also in browsers."""
