"""A question as text, for a face that keeps it until it is answered. Pure."""

from __future__ import annotations

import importlib
import json
from typing import Any

from pydantic import TypeAdapter

from shared.commands.result import Act, Question

ROOT = __name__.partition(".commands.")[0]
"""The package in which acts are looked for."""


def write_question(question: Question) -> str:
    """The command, and what each choice carries out."""
    choices = [_write(choice.act) for choice in question.choices]
    return json.dumps({"line": question.line, "choices": choices}, ensure_ascii=False)


def read_question(text: str) -> tuple[str, tuple[Act, ...]]:
    """The command and the acts of a question that was written. Raises ValueError for another version's."""
    kept = json.loads(text)
    return kept["line"], tuple(_read(one) for one in kept["choices"])


def _write(act: Act) -> dict[str, Any]:
    kind = type(act)
    name = f"{kind.__module__.removeprefix(ROOT)}:{kind.__name__}"
    return {"act": name, "data": _adapter(kind).dump_python(act, mode="json")}


def _read(kept: dict[str, Any]) -> Act:
    module, _, name = kept["act"].partition(":")
    try:
        kind = getattr(importlib.import_module(ROOT + module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"unknown act {kept['act']}") from error
    if not issubclass(kind, Act):
        raise ValueError(f"{kept['act']} is no act")  # noqa: TRY004 # of what was kept
    act: Act = _adapter(kind).validate_python(kept["data"])
    return act


_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {}


def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]
