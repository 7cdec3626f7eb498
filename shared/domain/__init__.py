"""Shared values and rules: cards, health, reports, snapshots."""
