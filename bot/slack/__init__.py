"""Slack's Web API, users, channels, permissions, Socket Mode and the app manifest."""
