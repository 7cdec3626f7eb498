"""The durable side of guardrails, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from shared.records.guardrails import ALL, CountSample, Happening, Incident, StoredRule, Switch


@dataclass
class MemoryGuardrails:
    """Implements `shared.records.guardrails.GuardRecords` for one workspace."""

    added: dict[str, StoredRule] = field(default_factory=dict)
    off: dict[str, Switch] = field(default_factory=dict)
    fired: list[Incident] = field(default_factory=list)
    came: list[Happening] = field(default_factory=list)
    counted: list[CountSample] = field(default_factory=list)
    heard: float | None = 0.0
    """When the first delivery came."""

    async def rules(self, workspace: str) -> Sequence[StoredRule]:
        return list(self.added.values())

    async def add_rule(self, workspace: str, rule: StoredRule) -> bool:
        if rule.name in self.added:
            return False
        self.added[rule.name] = rule
        return True

    async def remove_rule(self, workspace: str, name: str) -> bool:
        return self.added.pop(name, None) is not None

    async def switches(self, workspace: str) -> Sequence[Switch]:
        return list(self.off.values())

    async def switch_off(self, workspace: str, switch: Switch) -> None:
        self.off[switch.rule or ALL] = switch

    async def rest_undone(self, change: int, by: str) -> Switch | None:
        return None

    async def switch_on(self, workspace: str, rule: str) -> bool:
        return self.off.pop(rule, None) is not None

    async def incidents(self, workspace: str, since: float) -> Sequence[Incident]:
        return [one for one in self.fired if one.began_at >= since]

    async def happenings(
        self, workspace: str, since: float, until: float = float("inf")
    ) -> Sequence[Happening]:
        return [one for one in self.came if since <= one.at < until]

    async def heard_since(self, workspace: str) -> float | None:
        return self.heard

    async def samples(
        self, workspace: str, since: float, until: float = float("inf"), *, last_only: bool = False
    ) -> Sequence[CountSample]:
        return [one for one in self.counted if since <= one.at < until]
