"""Deliveries in and messages out: dedupe, routing, leases, outcomes, retention."""
