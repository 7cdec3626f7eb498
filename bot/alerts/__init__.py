"""Alerts: the card of each event, and the channels that get it."""
