"""Additions to FastAPI's OpenAPI document of `/v1`: examples, header descriptions, names and paths as the document has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI

from sandbox.service.base import ids

SECURITY = "bearerAuth"
SECURITY_DESCRIPTION = """An API key of one workspace, sent as `Authorization: Bearer <API_KEY>` with every request. The
sandbox prints the keys of its workspaces as it starts (`api_keys`), and `POST /control/keys` issues more."""
DESCRIPTION = """The outreach service's REST API, as a sandbox. What the public document leaves unshown is answered in
one plain dialect, described here; the control API (`/control/docs`) changes it.

**Authentication.** Every request carries `Authorization: Bearer <API_KEY>`; a key belongs to one workspace. A missing or
revoked key is answered with 401.

**Limits.** 10 requests per second per key; beyond that 429 with `Retry-After`, the number of seconds to wait.

**Webhooks.** `POST /webhooks` subscribes an address. Each delivery is signed: `X-Service-Signature` is the hex HMAC-SHA256
of the raw body, keyed with the subscription's secret."""

_LEAD, _SEQUENCE, _INBOX = ids.encode("ld", 4_000), ids.encode("sq", 1), ids.encode("ib", 1)
_RESPONSE_LEAD = {"email": "ada@engines.example", "first_name": "Ada", "company": "Engines"}
_ABOUT = {"lead": _RESPONSE_LEAD, "sequence": "SaaS founders – Europe", "step": 2}
_FROM = {"inbox": "mia@getacme.example"}
_EXAMPLES: dict[str, Any] = {
    "LeadPage": {
        "data": [
            {
                "id": _LEAD,
                "email": "ada@engines.example",
                "status": "active",
                "first_name": "Ada",
                "last_name": "Lovelace",
                "company": "Engines",
                "sequence_id": _SEQUENCE,
                "step": 1,
                "custom_fields": {"plan": "pro"},
                "created_at": "2026-03-02T09:14:00Z",
            }
        ],
        "next_cursor": ids.encode("cu", 4_000),
    },
    "NewLeads": {
        "sequence_id": _SEQUENCE,
        "leads": [
            {"email": "ada@engines.example", "first_name": "Ada", "company": "Engines", "plan": "pro"},
            {"email": "charles@engines.example"},
        ],
    },
    "Added": {"added": 1, "skipped": [{"email": "charles@engines.example", "reason": "duplicate"}]},
    "Removed": {"id": _LEAD, "removed": True},
    "Sequences": {
        "data": [{"id": _SEQUENCE, "name": "SaaS founders – Europe", "status": "active", "steps": 4}]
    },
    "SequenceChange": {"status": "paused"},
    "Sequence": {"id": _SEQUENCE, "name": "SaaS founders – Europe", "status": "paused", "steps": 4},
    "Inboxes": {
        "data": [
            {
                "id": _INBOX,
                "email": "mia@getacme.example",
                "health_score": 91.4,
                "daily_limit": 40,
                "status": "active",
            }
        ]
    },
    "Stats": {
        "data": [
            {
                "group": "SaaS founders – Europe",
                "id": _SEQUENCE,
                "sends": 1240,
                "replies": 17,
                "positive_replies": 4,
                "meetings": 2,
            }
        ]
    },
    "NewSubscription": {
        "url": "https://bot.example/webhooks/outreach",
        "events": ["reply.interested", "domain.paused"],
    },
    "Subscribed": {"id": ids.encode("wh", 1), "secret": "whsec_3q2-7w"},
    "LeadReplied": {"event": "lead.replied", **_ABOUT, "reply": "Maybe in spring.", **_FROM},
    "ReplyInterested": {"event": "reply.interested", **_ABOUT, "reply": "Tuesday at 10?", **_FROM},
    "ReplyOutOfOffice": {
        "event": "reply.ooo",
        **_ABOUT,
        "reply": "I am out of the office until 9 March.",
        "return_date": "2026-03-09",
        **_FROM,
    },
    "LeadBounced": {
        "event": "lead.bounced",
        **_ABOUT,
        "bounce_type": "hard",
        "reason": "550 5.1.1 The email account that you tried to reach does not exist.",
        **_FROM,
    },
    "LeadUnsubscribed": {"event": "lead.unsubscribed", **_ABOUT, "reply": "Please remove me.", **_FROM},
    "SequenceCompleted": {"event": "sequence.completed", **_ABOUT, **_FROM},
    "DomainPaused": {
        "event": "domain.paused",
        "domain": "getacme.example",
        "reason": "bounce_rate",
        "rate": 0.0712,
        "inboxes": ["mia@getacme.example"],
    },
}
_ERRORS = {
    "400": {"code": "bad_request", "message": "Input should be less than or equal to 100.", "field": "limit"},
    "401": {"code": "unauthorized", "message": "The API key is missing or revoked."},
    "404": {"code": "not_found", "message": "This sequence doesn't exist in this workspace."},
    "429": {"code": "rate_limited", "message": "Too many requests: 10 per second per key are allowed."},
}
_PARAMETERS = {
    ("path", "/leads/{id}", "id"): _LEAD,
    ("path", "/sequences/{id}", "id"): _SEQUENCE,
    ("query", "/leads", "sequence_id"): _SEQUENCE,
    ("query", "/leads", "status"): "interested",
    ("query", "/leads", "limit"): 50,
    ("query", "/leads", "cursor"): ids.encode("cu", 4_000),
    ("query", "/stats", "group_by"): "inbox",
    ("query", "/stats", "from"): "2026-03-01",
    ("query", "/stats", "to"): "2026-03-31",
}
_HEADERS = {
    "429": {
        "Retry-After": {
            "description": "Seconds to wait before the next request.",
            "required": True,
            "schema": {"type": "integer", "minimum": 1},
            "example": 1,
        }
    },
    "401": {
        "WWW-Authenticate": {"required": True, "schema": {"type": "string", "const": "Bearer"}},
    },
}
_PREFIX = "/v1"


class DocumentedAPI(FastAPI):
    """An application whose OpenAPI document is what generators need, without the 422 that this API never answers."""

    def openapi(self) -> dict[str, Any]:
        """The document; its paths are relative to the server's address, which ends in `/v1`."""
        if self.openapi_schema is None:
            spec = super().openapi()
            paths = spec["paths"].items()
            spec["paths"] = {path.removeprefix(_PREFIX): operations for path, operations in paths}
            for path, operation in _operations(spec):
                _complete(path, operation)
            for name in ("HTTPValidationError", "ValidationError"):
                spec["components"]["schemas"].pop(name, None)
        assert self.openapi_schema is not None
        return self.openapi_schema


def _operations(spec: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for part in ("paths", "webhooks"):
        for path, methods in spec[part].items():
            for operation in methods.values():
                yield path, operation


def _complete(path: str, operation: dict[str, Any]) -> None:
    operation["responses"].pop("422", None)
    for parameter in operation.get("parameters", ()):
        example = _PARAMETERS.get((parameter["in"], path, parameter["name"]))
        if example is not None:
            parameter["example"] = example
    for content in operation.get("requestBody", {}).get("content", {}).values():
        content["example"] = _EXAMPLES[_named(content)]
    for status, response in operation["responses"].items():
        if status in _HEADERS:
            response["headers"] = _HEADERS[status]
        for content in response.get("content", {}).values():
            error = _ERRORS.get(status)
            content["example"] = {"error": error} if error else _EXAMPLES[_named(content)]


def _named(content: dict[str, Any]) -> str:
    return str(content["schema"]["$ref"]).rpartition("/")[2]
