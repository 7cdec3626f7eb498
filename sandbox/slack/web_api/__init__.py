"""Slack's Web API (docs.slack.dev/reference/methods), one module per family of methods."""
