"""Traces: one for each alert, from its delivery to its messages, and nothing at all where they are off."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import structlog
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode, format_span_id, format_trace_id
from structlog.testing import capture_logs

from bot.telemetry import traces
from tests.bot.harness import BotHarness, bot_inside, interested, open_harness
from tests.waiting import until

ROOT = Path(__file__).parents[3]


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    traces.send_to(SimpleSpanProcessor(exporter))
    yield exporter
    traces.close()


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[BotHarness]:
    async with open_harness(tmp_path) as opened:
        await opened.control("settings", messages_per_second=0)
        async with bot_inside(opened):
            yield opened


async def test_an_alert_has_one_trace_from_its_delivery_to_its_message(
    spans: InMemorySpanExporter, bot: BotHarness
) -> None:
    await bot.control("faults", method="chat.postMessage", kind="status", status=503)
    assert await bot.deliver(interested(1)) == 200
    await bot.until_posted(1)
    await until(
        lambda: any(one.name == "post" and not one.status.description for one in spans.get_finished_spans())
    )
    assert await bot.deliver(interested(1)) == 200
    await until(lambda: any(one.name == "delivery repeated" for one in spans.get_finished_spans()))
    found = spans.get_finished_spans()
    (delivery,) = (one for one in found if one.name == "delivery")
    others = [one for one in found if one.name != "delivery"]
    assert delivery.parent is None
    assert delivery.attributes is not None
    assert delivery.attributes["outreach.kind"] == "reply.interested"
    assert {one.context.trace_id for one in others} == {delivery.context.trace_id}
    assert {one.parent.span_id for one in others if one.parent} == {delivery.context.span_id}
    failed, *_ = (one for one in others if one.name == "post")
    assert failed.status.status_code is StatusCode.ERROR
    assert len({one.context.span_id for one in found}) == len(found)


async def test_a_span_ends_after_it_began_and_its_ids_are_for_the_log(spans: InMemorySpanExporter) -> None:
    ids = traces.record("delivery", "al_1", began=2_000.0, first=True, problem="not understood")
    again = traces.record("post", "al_1", began=10.0**11)
    first, second = spans.get_finished_spans()
    assert first.context is not None
    assert ids == {
        "trace_id": format_trace_id(first.context.trace_id),
        "span_id": format_span_id(first.context.span_id),
    }
    assert (again["trace_id"], first.status.description) == (ids["trace_id"], "not understood")
    assert second.start_time is not None
    assert second.end_time == second.start_time  # a clock that was set back
    assert first.resource.attributes["service.name"] == "outreach-bot"


def test_nothing_is_imported_or_recorded_without_an_endpoint() -> None:
    program = """
import sys, bot.server
from bot.telemetry import traces
traces.set_up({})
assert traces.record("delivery", "al_1", began=0.0, first=True) == {}
print(*{name.partition(".")[0] for name in sys.modules})
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "opentelemetry" not in ran.stdout.split()


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    structlog.reset_defaults()
    with capture_logs() as lines:
        traces.set_up({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"})
    assert [line["fix"] for line in lines] == ["pip install 'outreach-ops[otel]'"]
    assert traces.record("post", "al_1", began=0.0) == {}
