"""How a command becomes an answer in Slack."""
