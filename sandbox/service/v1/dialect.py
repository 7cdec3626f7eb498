"""Response formats where the document shows none: one default, and settings for other possible formats."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from sandbox.service.base.errors import Json, ReadyJson

SYNONYMS = {
    "health_score": "health",
    "daily_limit": "daily_cap",
    "steps": "step_count",
    "group": "name",
    "sends": "sent",
    "replies": "reply_count",
    "positive_replies": "positive",
    "meetings": "meetings_booked",
    "name": "title",
    "sequence_id": "campaign_id",
    "created_at": "created",
}
_FIXED = {"id", "email", "status", "data", "next_cursor", "added", "skipped", "secret"}
_FIXED |= {"first_name", "last_name", "company"}
_OPTIONAL = {"steps", "health_score", "daily_limit", "meetings", "positive_replies"}
_OPTIONAL |= {"created_at", "sequence_id", "step"}


class Dialect(BaseModel):
    """Settings for all that the document marks `not shown`; what it does show stays as it is."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    envelope: Literal["data", "bare", "named", "nested"] = Field(
        default="data", description="A list under `data`, bare, under its own name, or at `data.NAME`."
    )
    naming: Literal["snake", "camel", "synonym"] = Field(
        default="snake", description="Spelling of undocumented keys."
    )
    numbers: Literal["number", "string"] = Field(
        default="number", description="Numbers in undocumented objects."
    )
    last_page: Literal["null", "absent", "empty", "repeated"] = Field(
        default="null", description="`next_cursor` on the last page of GET /leads."
    )
    success: Literal["object", "empty_object", "none"] = Field(
        default="object", description="Response to PATCH and DELETE. `none` is 204."
    )
    extra: bool = Field(default=False, description="Add unknown fields.")
    missing: bool = Field(default=False, description="Leave out optional fields.")

    def listing(self, name: str, items: list[str]) -> Response:
        """The answer with a list whose envelope is not shown; `items` are JSON texts, one each."""
        if self == _PLAIN:
            return ReadyJson(f'{{"data":[{",".join(items)}]}}')
        spelled = self._spell_all(items)
        if self.envelope == "bare":
            return Json(spelled)
        if self.envelope == "named":
            return Json({name: spelled})
        return Json({"data": {name: spelled}} if self.envelope == "nested" else {"data": spelled})

    def page(self, items: list[str], *, cursor: str | None, asked: str | None) -> Response:
        """The answer of GET /leads, whose envelope is shown; the last page's cursor is not."""
        if self == _PLAIN:
            following = "null" if cursor is None else f'"{cursor}"'
            return ReadyJson(f'{{"data":[{",".join(items)}],"next_cursor":{following}}}')
        body: dict[str, Any] = {"data": self._spell_all(items)}
        if cursor is not None or self.last_page == "null":
            return Json(body | {"next_cursor": cursor})
        if self.last_page == "absent":
            return Json(body)
        return Json(body | {"next_cursor": "" if self.last_page == "empty" else asked or ""})

    def done(self, item: dict[str, Any]) -> Response:
        if self.success == "none":
            return Response(status_code=204)
        return Json({} if self.success == "empty_object" else self.spell(item))

    def _spell_all(self, items: list[str]) -> list[dict[str, Any]]:
        return [self.spell(json.loads(item)) for item in items]

    def spell(self, item: dict[str, Any]) -> dict[str, Any]:
        """An object, spelt as the settings say."""
        if self == _PLAIN:
            return item
        kept = {key: value for key, value in item.items() if not (self.missing and key in _OPTIONAL)}
        spelled = {self._key(key): self._value(value) for key, value in kept.items()}
        return spelled | {"x_region": "eu-1", "links": {"self": None}} if self.extra else spelled

    def _key(self, key: str) -> str:
        if self.naming == "synonym":
            return SYNONYMS.get(key, key)
        if self.naming == "camel" and key not in _FIXED:
            head, *tail = key.split("_")
            return head + "".join(part.capitalize() for part in tail)
        return key

    def _value(self, value: Any) -> Any:
        if self.numbers == "string" and isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        return value


_PLAIN = Dialect()
