"""Metrics of the process itself."""

from __future__ import annotations

from pathlib import Path

from prometheus_client import CollectorRegistry

from bot.telemetry.metrics import Process
from tests.kit.clock import moment

NAMES = {
    "process_start_time_seconds",
    "process_resident_memory_bytes",
    "process_cpu_seconds",
    "process_open_fds",
}


def values(process: Process) -> dict[str, float]:
    return {family.name: family.samples[0].value for family in process.collect()}


def test_the_process_is_measured_where_only_processes_are_visible(tmp_path: Path) -> None:
    """As under the unit's `ProcSubset=pid`, which has no `/proc/stat`."""
    (tmp_path / "self").symlink_to("/proc/self")
    hidden = values(Process(proc=str(tmp_path), registry=CollectorRegistry()))
    assert hidden.keys() >= NAMES
    assert abs(hidden["process_start_time_seconds"] - moment().timestamp()) < 5, "it counts as started now"
    assert values(Process(proc=str(tmp_path / "nowhere"), registry=CollectorRegistry())) == {}
