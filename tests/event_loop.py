"""How long the event loop of a bot's process was blocked, by its log or its metrics."""

from __future__ import annotations

import json

from prometheus_client.parser import text_string_to_metric_families

from bot.runtime.loop_monitor import LONG


def blocks_logged(log: str) -> list[float]:
    """The seconds of each long block."""
    lines = [line for line in log.splitlines() if line.startswith("{") and line.endswith("}")]
    events = [json.loads(line) for line in lines]
    return [event["seconds"] for event in events if event["event"] == "event loop blocked"]


def blocks_counted(metrics: str) -> int:
    """How many long blocks there were."""
    (blocks,) = (
        family
        for family in text_string_to_metric_families(metrics)
        if family.name == "outreach_event_loop_block_seconds"
    )
    buckets = {float(one.labels["le"]): one.value for one in blocks.samples if "le" in one.labels}
    return int(buckets[float("inf")] - buckets[LONG])
