"""The bot's Prometheus metrics; one registry per process."""

from __future__ import annotations

import time
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

REGISTRY = CollectorRegistry(auto_describe=True)

_LATENCY = [0.01 * 2**power for power in range(20)]
"""Seconds, up to an hour and a half."""


class Process(ProcessCollector):
    """`process_*`, also under systemd's `ProcSubset=pid`, which hides `/proc/stat` with the time of the boot."""

    def _boot_time(self) -> float:
        try:
            return float(super()._boot_time())  # type: ignore[no-untyped-call]
        except OSError:
            # The process counts as started now. Its own file has that time in ticks since the boot.
            after_name = Path(self._proc, "self", "stat").read_bytes().rpartition(b")")[2].split()
            return time.time() - float(after_name[19]) / self._ticks


PROCESS = Process(registry=REGISTRY)
BUILD = Gauge(
    "outreach_build_info",
    "Always 1; the version, commit and database schema of the running bot",
    ["version", "commit", "schema"],
    registry=REGISTRY,
)
DELIVERIES = Counter("outreach_deliveries", "Deliveries by response", ["answer"], registry=REGISTRY)
REFUSED = Counter(
    "outreach_refused_deliveries",
    "Deliveries whose signature matched no secret, by reason; not those that `doctor` sends",
    ["workspace", "reason"],
    registry=REGISTRY,
)
EVENTS = Counter("outreach_events", "New events by kind", ["workspace", "kind"], registry=REGISTRY)
REPEATS = Counter("outreach_repeats", "Repeated deliveries", ["workspace"], registry=REGISTRY)
INTAKE_WAITING = Gauge("outreach_intake_waiting", "Deliveries waiting to be committed", registry=REGISTRY)
BATCH = Histogram(
    "outreach_commit_deliveries",
    "Deliveries per commit",
    buckets=[2**power for power in range(9)],
    registry=REGISTRY,
)
POSTED = Counter("outreach_posted", "Messages posted, by kind", ["kind"], registry=REGISTRY)
POST_SECONDS = Histogram(
    "outreach_delivery_to_post_seconds",
    "Time from a delivery's arrival to its Slack message",
    buckets=_LATENCY,
    registry=REGISTRY,
)
ALERTS = Gauge("outreach_alerts", "Unsent alerts by state", ["workspace", "state"], registry=REGISTRY)
REFUSED_ALERTS = Gauge(
    "outreach_refused_alerts",
    "Alerts that Slack refuses, by its word for it",
    ["workspace", "error"],
    registry=REGISTRY,
)
OLDEST = Gauge(
    "outreach_oldest_waiting_seconds", "Age of the oldest waiting alert", ["workspace"], registry=REGISTRY
)
SLACK_CALLS = Counter("outreach_slack_calls", "Calls to Slack's Web API", ["method"], registry=REGISTRY)
SLACK_REFUSED = Counter(
    "outreach_slack_refused",
    "Messages and views that Slack rejected and the bot sent again in a simpler form",
    ["method", "error"],
    registry=REGISTRY,
)
SLACK_THROTTLED = Counter("outreach_slack_throttled", "429 responses from Slack", registry=REGISTRY)
API_REQUESTS = Counter(
    "outreach_api_requests", "Requests to the outreach service", ["workspace"], registry=REGISTRY
)
API_THROTTLED = Counter(
    "outreach_api_throttled", "429 responses from the outreach service", ["workspace"], registry=REGISTRY
)
TASK_FAILURES = Counter("outreach_task_failures", "Failures of background tasks", ["task"], registry=REGISTRY)
TASK_FAILING = Gauge("outreach_task_failing", "1 while a task keeps failing", ["task"], registry=REGISTRY)
LOG_DROPPED = Counter(
    "outreach_log_lines_dropped", "Log lines dropped because stderr wasn't read", registry=REGISTRY
)
