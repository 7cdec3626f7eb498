"""Databases and files shared between processes: connections, the rate budget, webhook subscriptions."""
