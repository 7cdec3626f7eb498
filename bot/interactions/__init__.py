"""Interactions in Slack: slash commands, clicks, modals, mentions and the Home tab."""
