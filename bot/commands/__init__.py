"""Commands become answers in Slack."""
