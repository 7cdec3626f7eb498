"""The whole sandbox in one block, and its clock."""

from __future__ import annotations

import ast
import asyncio
import inspect
import signal
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sandbox.asgi_server import bind, serving
from sandbox.clock import Clock
from sandbox.embedded import embedded
from sandbox.service import Service
from tests.kit.docs_blocks import blocks
from tests.kit.processes import running_async


async def test_a_port_in_use_is_reported_and_leaves_nothing_running() -> None:
    async with embedded(Service(scenario="empty")) as connection:
        port = int(connection["base_url"].removesuffix("/v1").rpartition(":")[2])
        with pytest.raises(OSError):
            async with embedded(Service(port=port, scenario="empty")):
                pass


@pytest.mark.e2e
@pytest.mark.parametrize("times", [1, 3])
async def test_however_often_it_is_asked_to_end_it_ends_in_order(times: int) -> None:
    pipe = asyncio.subprocess.PIPE
    command = [str(Path(sys.executable).with_name("outreach")), "sandbox", "--scenario", "empty"]
    command += ["--port", "0", "--slack-port", "0"]
    async with running_async(*command, stdout=pipe, stderr=pipe) as running:
        assert running.stdout is not None
        await running.stdout.readline()
        # A person who sees no reaction presses ctrl-c again: the end must not be cut short by it.
        for _ in range(times):
            running.send_signal(signal.SIGINT)
        _, complaints = await asyncio.wait_for(running.communicate(), 60)
        assert (running.returncode, complaints) == (0, b"")


async def _forever(request: Request) -> Response:
    await asyncio.Event().wait()
    return Response()


async def test_ends_although_a_request_never_does() -> None:
    app = Starlette(routes=[Route("/forever", _forever)])
    async with httpx.AsyncClient(verify=False) as client:
        async with serving(app, bind(0), name="test") as origin:
            pending = asyncio.create_task(client.get(f"{origin}/forever"))
            # The request has to be under way, or the server would have nothing that never ends.
            await asyncio.sleep(0.05)
        with pytest.raises(httpx.TransportError):
            await pending


class Real:
    """A real time that tests set."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_never_runs_backwards_when_the_real_time_steps_back() -> None:
    real = Real()
    clock = Clock(50.0, source=real)
    # As NTP may step it: what has happened must not lie in the future.
    real.now -= 500.0
    assert clock.now() == 50.0


async def test_the_stand_in_starts_as_its_page_shows() -> None:
    (block,) = (block for block in blocks("python") if block.page.name == "sandbox.md")
    code = compile(block.text, str(block.page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    names: dict[str, Any] = {}
    waiting = eval(code, names)
    if inspect.isawaitable(waiting):
        await waiting
    listed = block.text.partition("# ")[2].strip().split(", ")
    assert listed == list(names["slack"].announcement)
