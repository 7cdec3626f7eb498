"""The decorator of values: dataclasses that never change and are given by keyword."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen(kind: type[T]) -> type[T]:
    """Make a class a dataclass whose fields are given by keyword, can't be set, and are in slots."""
    return dataclass(frozen=True, slots=True, kw_only=True)(kind)
