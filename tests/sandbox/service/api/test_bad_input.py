"""Bodies, ids and headers that nobody sends on purpose: each is refused, none is an error of ours."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from itertools import product

import httpx

from sandbox.asgi_server import BODY_LIMIT
from sandbox.service import Service

WRONG_BODIES = [
    b"",
    b"{",
    b"null",
    b"[]",
    b'"text"',
    b"\xff\xfe\x00",
    b"[" * 200_000,
    b'{"status": "pau\x00sed"}',
    b"status=paused",
]


def error_of(response: httpx.Response) -> tuple[int, str, str | None]:
    error = response.json()["error"]
    assert set(error) <= {"code", "message", "field"}
    return response.status_code, error["code"], error.get("field")


async def test_a_body_that_is_no_json_object_is_400_and_named(api: httpx.AsyncClient) -> None:
    routes = (("POST", "/leads"), ("POST", "/webhooks"), ("PATCH", "/sequences/sq_00000000"))
    for body, (method, path) in product(WRONG_BODIES, routes):
        headers = {"Content-Type": "application/json"}
        status, code, field = error_of(await api.request(method, path, content=body, headers=headers))
        assert (status, code) == (400, "bad_request")
        assert field in {"body", "sequence_id", "leads", "url", "events", "status"}


async def test_a_body_without_the_json_content_type_gets_an_explanation(api: httpx.AsyncClient) -> None:
    for content_type in ("text/plain", "application/x-www-form-urlencoded"):
        headers = {"Content-Type": content_type}
        answer = await api.patch("/sequences/sq_00000000", content=b'{"status": "paused"}', headers=headers)
        assert error_of(answer) == (400, "bad_request", "body")
        assert "Content-Type: application/json" in answer.json()["error"]["message"]


async def test_values_of_the_wrong_type_are_named(api: httpx.AsyncClient) -> None:
    sequence = (await api.get("/sequences")).json()["data"][0]["id"]
    wrong = [
        ({"sequence_id": 7, "leads": []}, "sequence_id"),
        ({"sequence_id": sequence}, "leads"),
        ({"sequence_id": sequence, "leads": {}}, "leads"),
        ({"sequence_id": sequence, "leads": ["a@b.example"]}, "leads[0]"),
        (
            {"sequence_id": sequence, "leads": [{"email": "a@b.example", "first_name": 5}]},
            "leads[0].first_name",
        ),
        (
            {"sequence_id": sequence, "leads": [{"email": "a@b.example", "company": "x\0"}]},
            "leads[0].company",
        ),
        (
            {"sequence_id": sequence, "leads": [{"email": "a@b.example", "company": "x" * 501}]},
            "leads[0].company",
        ),
    ]
    for body, field in wrong:
        assert error_of(await api.post("/leads", json=body)) == (400, "bad_request", field)


async def test_custom_numbers_that_json_does_not_know_are_refused(api: httpx.AsyncClient) -> None:
    sequence = (await api.get("/sequences")).json()["data"][0]["id"]
    body = f'{{"sequence_id": "{sequence}", "leads": [{{"email": "nan@b.example", "n": NaN}}]}}'
    headers = {"Content-Type": "application/json"}
    response = await api.post("/leads", content=body.encode(), headers=headers)
    assert error_of(response)[:2] == (400, "bad_request")


async def test_a_body_over_the_limit_is_400_whether_announced_or_in_chunks(api: httpx.AsyncClient) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(BODY_LIMIT // 65_536 + 2):
            yield b" " * 65_536

    headers = {"Content-Type": "application/json"}
    announced = await api.post("/leads", content=b" " * (BODY_LIMIT + 1), headers=headers)
    assert error_of(announced) == (400, "bad_request", "body")
    assert error_of(await api.post("/leads", content=chunks(), headers=headers)) == (
        400,
        "bad_request",
        "body",
    )


WRONG_IDS = [
    "ld_%00%00%00%00%00%00%00%00",
    "ld_",
    "sq_é",
    "ld_é日本語日本語",
    "..%2f..%2fetc",
    "a/b",
    "ld_" + "0" * 190,
    "%F0%9F%8E%89",
]


async def test_ids_that_cannot_be_are_404(api: httpx.AsyncClient) -> None:
    for name in WRONG_IDS:
        assert error_of(await api.delete(f"/leads/{name}"))[:2] == (404, "not_found")
        answer = await api.patch(f"/sequences/{name}", json={"status": "paused"})
        assert error_of(answer)[:2] == (404, "not_found")


async def test_unknown_paths_and_methods_have_the_same_error_body(api: httpx.AsyncClient) -> None:
    assert error_of(await api.get("/nothing"))[:2] == (404, "not_found")
    for path in ("/", "", "/leads/", "/sequences/sq_00000000/"):
        assert error_of(await api.get(path))[:2] == (404, "not_found")
    assert error_of(await api.delete("/leads/"))[:2] == (404, "not_found")
    wrong = await api.put("/leads", json={})
    assert (error_of(wrong)[:2], wrong.headers["Allow"]) == ((405, "method_not_allowed"), "GET, POST")


async def test_an_authorization_header_of_any_bytes_is_401(service: Service) -> None:
    async with httpx.AsyncClient(verify=False, base_url=service.base_url) as stranger:
        for value in (
            b"",
            b"Bearer",
            b"Bearer \xff\xfe",
            b"Bearer " + b"x" * 7_000,
            b"bearer\tx",
        ):
            response = await stranger.get("/leads", headers=[(b"Authorization", value)])
            assert error_of(response)[:2] == (401, "unauthorized")


async def test_a_page_elsewhere_cannot_turn_the_dials(service: Service) -> None:
    async with httpx.AsyncClient(verify=False, base_url=service.control_url) as page:
        assert (await page.get("/state", headers={"Host": "rebound.example"})).status_code == 421
        answer = await page.post(
            "/reset",
            content=json.dumps({}),
            headers={"Origin": "https://evil.example", "Content-Type": "text/plain"},
        )
        assert answer.status_code == 403
