"""The values and rules everything else speaks in: cards, health, reports, snapshots."""
