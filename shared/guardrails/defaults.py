"""The built-in rules. They only suggest or notify; docs/guardrails.md gives the sources of their thresholds. Pure."""

from __future__ import annotations

from collections.abc import Mapping

SHIPPED: Mapping[str, str] = {
    "bounces-5": "suggest pausing sequence when bounces > 5% of at least 200 sends in 24h",
    "domain-bounces-5": "suggest pausing domain when bounces > 5% of at least 200 sends in 24h",
    "bounces-10": "suggest pausing sequence when bounces > 10% of at least 60 sends in 4h",
    "domain-bounces-10": "suggest pausing domain when bounces > 10% of at least 60 sends in 4h",
    "opt-outs-2": "suggest pausing sequence when opt-outs > 2% of at least 500 sends in 3d",
    "domain-bounces-10-1h": "notify about domain when bounces > 10 in 1h",
    "domain-bounces-5-1h": "notify about domain when bounces > 5% of at least 60 sends in 1h",
    "no-replies-1000": "notify about sequence when no replies after 1000 sends in 14d",
    "positive-third": "notify about sequence when positive replies < 33% of baseline over at least 400 sends in 7d",
    "health-20": "notify about domain when health < 20",
}
"""Sentences by name."""
