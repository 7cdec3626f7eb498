"""Reports and changes as JSON, as the records keep them."""

from __future__ import annotations

from functools import cache

from pydantic import TypeAdapter, ValidationError

from shared.domain_health.report import DomainChange, DomainReport


@cache
def _reports() -> TypeAdapter[DomainReport]:
    return TypeAdapter(DomainReport)


@cache
def _changes() -> TypeAdapter[DomainChange]:
    return TypeAdapter(DomainChange)


def encode_report(report: DomainReport) -> str:
    return _reports().dump_json(report).decode()


def decode_report(text: str) -> DomainReport | None:
    """None for what a newer version wrote with codes that this one doesn't know."""
    try:
        return _reports().validate_json(text)
    except ValidationError:
        return None


def encode_change(change: DomainChange) -> str:
    return _changes().dump_json(change).decode()


def decode_change(text: str) -> DomainChange | None:
    """None as in `decode_report`."""
    try:
        return _changes().validate_json(text)
    except ValidationError:
        return None
