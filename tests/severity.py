"""How bad a verdict is, for tests that compare two of the same inboxes."""

from __future__ import annotations

from itertools import accumulate

from shared.domain.workspace_verdict import WorkspaceVerdict

WORST_FIRST = ("resting", "bad", "at_risk", "unknown")


def severity(verdict: WorkspaceVerdict) -> tuple[int, ...]:
    """Comparable between verdicts of the same inboxes: the greater, the worse."""
    return (verdict.paused_domains, *accumulate(verdict.counts[kind] for kind in WORST_FIRST))
