"""The declarations of the models, by the path of each setting in the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from shared.settings.model import Settings

SettingPath = tuple[str, ...]


def in_file(path: Sequence[str | int]) -> str:
    """The setting as a person finds it in the file: `port`, `[dns] every`, `[[routes.rules]] no. 2 events`."""
    places = list(path)
    while len(places) > 1 and isinstance(places[-1], int):  # an element of a list is said with its key
        places.pop()
    *tables, key = map(str, places)
    for place, number in enumerate(places):
        if isinstance(number, int):
            return f"[[{'.'.join(tables[:place])}]] no. {number + 1} {'.'.join([*tables[place + 1 :], key])}"
    return f"[{'.'.join(tables)}] {key}" if tables else key


def keys_of(model: type[Any]) -> dict[str, FieldInfo]:
    """The keys that the file may have in a table; a table is a model of pydantic's, or a dataclass that it validates."""
    return {field.alias or name: field for name, field in model.__pydantic_fields__.items()}


def table_model(annotation: Any) -> type[Any] | None:
    """The model of a table, of a table of tables or of an array of tables."""
    if isinstance(annotation, type) and hasattr(annotation, "__pydantic_fields__"):
        return annotation
    return next((model for part in get_args(annotation) if (model := table_model(part))), None)


def _declared(model: type[Any], *tables: str) -> Iterator[tuple[SettingPath, FieldInfo]]:
    for key, field in keys_of(model).items():
        yield (*tables, key), field
        if inner := table_model(field.annotation):
            yield from _declared(inner, *tables, key)


def _variable(field: FieldInfo) -> str:
    extra = field.json_schema_extra
    return str(extra.get("variable", "")) if isinstance(extra, dict) else ""


def _contains_secret(annotation: Any) -> bool:
    return annotation is SecretStr or any(map(_contains_secret, get_args(annotation)))


FIELDS: Mapping[SettingPath, FieldInfo] = dict(_declared(Settings))
VARIABLES: Mapping[SettingPath, str] = {
    path: variable
    for path, field in FIELDS.items()
    if path[0] != "workspaces" and (variable := _variable(field))
}
SECRETS: frozenset[SettingPath] = frozenset(
    path for path, field in FIELDS.items() if not field.repr or _contains_secret(field.annotation)
)
"""No text may show these: secrets, and an address that may have a password in it. A file of their own may hold them.

Those below `workspaces` are of each workspace.
"""
