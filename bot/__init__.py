"""The Slack bot and webhook receiver."""
