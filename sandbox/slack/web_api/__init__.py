"""Slack's Web API: a table of methods, and the front that reads and answers their calls."""
