"""Signed deliveries: queue, retries, sender."""
