"""The bot's durable data: deliveries, alerts, posts, claims, timers, subscriptions, the audit."""

from shared.store.messages import LeaseTimings
from shared.store.store import Store, open_records, open_store

__all__ = ["LeaseTimings", "Store", "open_records", "open_store"]
