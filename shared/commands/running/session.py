"""The changes that one process has made, for its Undo where the bot's database isn't at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from shared.records.audit import Actor, AuditEntry, Undoable


class SessionChanges:
    """The same as the audit of `Records`, as far as an Undo needs it; nobody else's changes are in it."""

    def __init__(self) -> None:
        self._entries: list[AuditEntry] = []

    async def record(self, entry: AuditEntry) -> int:
        self._entries.append(replace(entry, number=len(self._entries) + 1))
        return len(self._entries)

    async def last_undoable(self, workspace: str, actor: Actor, since: datetime) -> Undoable | None:
        for entry in reversed(self._entries):
            counts = entry.undoable and not entry.undone_by and entry.at >= since
            if counts and entry.actor == actor and entry.workspace == workspace:
                return self._with_later(entry)
        return None

    async def undoable(self, workspace: str, number: int) -> Undoable | None:
        found = self._entries[number - 1 : number] if number else []
        return self._with_later(found[0]) if found and found[0].workspace == workspace else None

    async def take_undo(self, number: int, by: str) -> bool:
        is_free = not self._entries[number - 1].undone_by
        if is_free:
            self._change(number, undone_by=by)
        return is_free

    async def give_back_undo(self, number: int) -> None:
        self._change(number, undone_by="")

    def _change(self, number: int, *, undone_by: str) -> None:
        self._entries[number - 1] = replace(self._entries[number - 1], undone_by=undone_by)

    def _with_later(self, entry: AuditEntry) -> Undoable:
        later: Sequence[AuditEntry] = [
            one for one in self._entries[entry.number :] if not (one.undone_by or one.undoes)
        ]
        moved = {name: one for one in later for name in one.sequences if name in entry.undoable}
        return Undoable(entry=entry, moved=moved)
