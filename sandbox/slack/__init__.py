"""The Slack stand-in."""
