"""What the API and the control API refuse, case by case as `refused.json` lists it; none is an error of theirs."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from sandbox.asgi_server import BODY_LIMIT
from sandbox.service import Service
from tests.sandbox.cases import built
from tests.sandbox.service.conftest import sequence_id

CASES: list[dict[str, Any]] = json.loads(
    Path(__file__).parents[1].joinpath("refused.json").read_text("utf-8")
)
CODES = {400: "bad_request", 401: "unauthorized", 404: "not_found", 405: "method_not_allowed"}
HTTPS = ["hooks.firm.example/x", "hooks.firm.example:8443/x", "hooks.firm.example./x", "127.0.0.1:9/x"]


@pytest.mark.parametrize("part", ["/v1/leads", "/v1/sequences", "/v1/stats", "/v1/webhooks", "/control", ""])
async def test_what_cannot_be_is_refused_and_named(
    service: Service, api: httpx.AsyncClient, part: str
) -> None:
    known = await sequence_id(api)
    parts = ("/v1/leads", "/v1/sequences", "/v1/stats", "/v1/webhooks", "/control")
    for case in CASES:
        method, _, path = case["request"].partition(" ")
        if next((one for one in parts if path.startswith(one)), "") != part:
            continue
        body = built(case["json"] if "json" in case else case.get("content"), 0)
        content = (json.dumps(body) if "json" in case else body or "").replace("$sequence", known)
        headers = {"Content-Type": case.get("type", "application/json")}
        url = f"{service.origin}{path.replace('$sequence', known)}"
        answer = await api.request(method, url, content=content.encode(), headers=headers)
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (case["status"], CODES[case["status"]]), case
        assert error.get("field") == case["field"] if "field" in case else True, case


async def test_a_body_over_the_limit_is_400_whether_announced_or_in_chunks(api: httpx.AsyncClient) -> None:
    # Without a Content-Length, the body has to be counted while it comes.
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(BODY_LIMIT // 65_536 + 2):
            yield b" " * 65_536

    for content in (b" " * (BODY_LIMIT + 1), chunks()):
        answer = await api.post("/leads", content=content, headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["error"]["field"]) == (400, "body")


async def test_a_page_elsewhere_cannot_turn_the_dials(service: Service) -> None:
    async with httpx.AsyncClient(verify=False, base_url=service.control_url) as page:
        # DNS rebinding: a foreign page's name may lead to this machine, but its Host header keeps the name.
        assert (await page.get("/state", headers={"Host": "rebound.example"})).status_code == 421
        assert (await page.post("/reset", headers={"Origin": "https://evil.example"})).status_code == 403


async def test_https_to_named_hosts_and_http_to_this_machine_are_taken(api: httpx.AsyncClient) -> None:
    here = ["127.0.0.1:9/x", "localhost/x", "[::1]:9/"]
    for url in [f"https://{one}" for one in HTTPS] + [f"http://{one}" for one in here]:
        answer = await api.post("/webhooks", json={"url": url, "events": ["lead.bounced"]})
        assert (url, answer.status_code) == (url, 201)
