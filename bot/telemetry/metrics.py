"""The bot's Prometheus metrics; one registry per process."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

REGISTRY = CollectorRegistry(auto_describe=True)
counter, gauge = partial(Counter, registry=REGISTRY), partial(Gauge, registry=REGISTRY)
histogram = partial(Histogram, registry=REGISTRY)

_LATENCY = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.3, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600)


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
BUILD = gauge(
    "outreach_build_info",
    "Always 1; the version, commit and database schema of the running bot",
    ["version", "commit", "schema"],
)
DELIVERIES = counter("outreach_deliveries", "Deliveries by response", ["answer"])
REFUSED = counter(
    "outreach_refused_deliveries",
    "Deliveries whose signature matched no secret, by reason; not those that `doctor` sends",
    ["workspace", "reason"],
)
EVENTS = counter("outreach_events", "New events by kind", ["workspace", "kind"])
REPEATS = counter("outreach_repeats", "Repeated deliveries", ["workspace"])
INTAKE_WAITING = gauge("outreach_intake_waiting", "Deliveries waiting to be committed")
BATCH = histogram(
    "outreach_commit_deliveries", "Deliveries per commit", buckets=[2**power for power in range(9)]
)
POSTED = counter("outreach_posted", "Messages posted, by kind", ["kind"])
POST_SECONDS = histogram(
    "outreach_delivery_to_post_seconds",
    "Time from a delivery's arrival to its Slack message",
    buckets=_LATENCY,
)
ALERTS = gauge("outreach_alerts", "Unsent alerts by state", ["workspace", "state"])
REFUSED_ALERTS = gauge(
    "outreach_refused_alerts", "Alerts that Slack refuses, by its word for it", ["workspace", "error"]
)
OLDEST = gauge("outreach_oldest_waiting_seconds", "Age of the oldest waiting alert", ["workspace"])
SLACK_CALLS = counter("outreach_slack_calls", "Calls to Slack's Web API", ["method"])
SLACK_THROTTLED = counter("outreach_slack_throttled", "429 responses from Slack")
API_REQUESTS = counter("outreach_api_requests", "Requests to the outreach service", ["workspace"])
API_THROTTLED = counter("outreach_api_throttled", "429 responses from the outreach service", ["workspace"])
TASK_FAILURES = counter("outreach_task_failures", "Failures of background tasks", ["task"])
TASK_FAILING = gauge("outreach_task_failing", "1 while a task keeps failing", ["task"])
LOG_DROPPED = counter("outreach_log_lines_dropped", "Log lines dropped because stderr wasn't read")
