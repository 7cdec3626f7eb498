"""What Slack sends to the app: events, commands, envelopes."""
