"""The OpenAPI document says what generators ask for, and every dial is written down."""

from __future__ import annotations

from pathlib import Path

import httpx

from sandbox.service import Service


async def test_every_dial_is_written_down(service: Service) -> None:
    text = (Path(__file__).parents[4] / "docs" / "sandbox.md").read_text("utf-8")
    async with httpx.AsyncClient(verify=False, base_url=service.origin) as client:
        paths = (await client.get("/control/openapi.json")).json()["paths"]
    assert len(paths) > 1
    assert [path for path in paths if path not in text] == []
