"""A lead as one flat record with its custom fields, for exports and `--json`. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from shared.api.decoding.field_names import LEAD, fold
from shared.api.models import Lead

STANDARD = ("id", "email", "status", "first_name", "last_name", "company")
_KNOWN = {name for ranks in LEAD.ranks.values() for name in ranks}


def record_of(lead: Lead) -> dict[str, Any]:
    """A lead as one flat record: the standard fields, then the others by their own names; nested ones without the names around them."""
    record: dict[str, Any] = {name: getattr(lead, name) for name in STANDARD}
    values = {value for value in record.values() if value is not None}
    for path, value in _leaves(lead.raw, ()):
        if fold(path[-1]) in _KNOWN and value in values:
            continue  # it is one of the standard fields, under the service's name for it
        name = path[-1] if path[-1] not in record else ".".join(path)
        if name not in record:
            record[name] = value
    return record


def _leaves(value: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            yield from _leaves(inner, (*path, name))
        elif isinstance(inner, list):
            yield (*path, name), json.dumps(inner, ensure_ascii=False)
        else:
            yield (*path, name), inner
