"""Polling, history and the state of each workspace."""
