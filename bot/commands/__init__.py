"""How a command line becomes a Card in Slack."""
