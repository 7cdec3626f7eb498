"""Traces of alerts, from the delivery to the message, by OpenTelemetry where an OTEL_EXPORTER_OTLP_ENDPOINT is set.

An alert's trace and its first span have ids that are made from the alert's, so that all processes that work on it add to
one trace, without a word between them. Without an endpoint nothing is imported.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING

import structlog

from shared.api.version import VERSION

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""https://opentelemetry.io/docs/specs/otel/protocol/exporter/."""

log = structlog.get_logger("telemetry")
_next: ContextVar[tuple[int, int] | None] = ContextVar("ids_of_the_next_span", default=None)
_provider: TracerProvider | None = None


def set_up(environ: Mapping[str, str]) -> None:
    """Once per process, where the environment names an endpoint; the SDK reads the other OTEL_ variables itself."""
    if not any(environ.get(name) for name in ENDPOINTS):
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        log.warning("traces are off: the packages are missing", fix="pip install 'outreach-ops[otel]'")
        return
    send_to(BatchSpanProcessor(OTLPSpanExporter()))


def send_to(processor: SpanProcessor) -> None:
    """Record spans from now on, for `processor`."""
    global _provider  # noqa: PLW0603 # one per process, as its log
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

    class AlertIds(RandomIdGenerator):
        """The ids of an alert's first span, and random ones for all others."""

        def generate_trace_id(self) -> int:
            given = _next.get()
            return given[0] if given else super().generate_trace_id()

        def generate_span_id(self) -> int:
            given = _next.get()
            return given[1] if given else super().generate_span_id()

    name = os.environ.get("OTEL_SERVICE_NAME", "outreach-bot")
    resource = Resource.create({"service.name": name, "service.version": VERSION})
    _provider = TracerProvider(id_generator=AlertIds(), resource=resource)
    _provider.add_span_processor(processor)


def close() -> None:
    """Send what waits, and record nothing more."""
    global _provider  # noqa: PLW0603 # see `send_to`
    if _provider is not None:
        _provider.shutdown()
    _provider = None


def ids_of(alert_id: str) -> tuple[int, int]:
    """The ids of an alert's trace and of its first span; both differ from 0, which OpenTelemetry refuses."""
    digest = hashlib.sha256(alert_id.encode()).digest()
    return int.from_bytes(digest[:16]) | 1, int.from_bytes(digest[16:24]) | 1


def record(
    name: str,
    alert_id: str,
    *,
    began: float,
    first: bool = False,
    problem: str = "",
    attributes: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Record a span that ends now, and return its ids for the log; empty where traces are off.

    `began` is in Unix seconds. `first`: it is the alert's first span, under which all others are.
    """
    if _provider is None:
        return {}
    from opentelemetry import trace

    trace_id, root = ids_of(alert_id)
    context = trace.set_span_in_context(trace.INVALID_SPAN)
    if not first:
        sampled = trace.TraceFlags(trace.TraceFlags.SAMPLED)
        parent = trace.SpanContext(trace_id, root, is_remote=True, trace_flags=sampled)
        context = trace.set_span_in_context(trace.NonRecordingSpan(parent))
    token = _next.set((trace_id, root) if first else None)
    try:
        span = _provider.get_tracer("outreach", VERSION).start_span(
            name,
            context=context,
            start_time=int(began * 1e9),
            attributes={"outreach.alert": alert_id, **(attributes or {})},
        )
    finally:
        _next.reset(token)
    if problem:
        span.set_status(trace.Status(trace.StatusCode.ERROR, problem))
    span.end(max(int(began * 1e9), int(time.time() * 1e9)))
    made = span.get_span_context()
    return {
        "trace_id": trace.format_trace_id(made.trace_id),
        "span_id": trace.format_span_id(made.span_id),
    }
