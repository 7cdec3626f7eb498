"""The bot's HTTP application: webhooks in, Slack's requests in, health and metrics out."""
