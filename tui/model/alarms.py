"""What is worth waking somebody: the moment at which a thing becomes bad, not the time that it stays so. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from shared.domain.card import Tone
from shared.domain.health import DomainHealth
from tui.model.board import RANK, Board


def new_alarms(before: Board | None, after: Board) -> tuple[str, ...]:
    if before is None or not before.domains:
        return ()
    return (*_domains(before, after), *_service(before, after))


def _domains(before: Board, after: Board) -> Iterator[str]:
    old = {domain.domain: domain for domain in before.domains}
    for domain in after.domains:
        was = old.get(domain.domain)
        if was and _is_alarming(domain) and (not _is_alarming(was) or RANK[domain.tone] < RANK[was.tone]):
            yield f"{domain.domain}: {'; '.join(domain.reasons)}"


def _is_alarming(domain: DomainHealth) -> bool:
    return domain.tone is Tone.BAD or (domain.inboxes > 0 and domain.resting == domain.inboxes)


def _service(before: Board, after: Board) -> Iterator[str]:
    if after.trouble and after.trouble.everything and not (before.trouble and before.trouble.everything):
        yield f"The service cannot be reached: {after.trouble.reason}"
