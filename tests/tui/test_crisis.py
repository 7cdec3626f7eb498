"""The verdict, and what a wall says, through a whole crisis of the sandbox, against the truth of its database."""

from __future__ import annotations

from itertools import pairwise

import pytest

from shared.domain.card import Tone
from shared.domain.health import WORST_FIRST
from tests.tui.crisis_sheet import moments, sheet


@pytest.mark.e2e
async def test_the_verdict_never_says_better_when_it_is_worse() -> None:
    seen = await moments()
    text = sheet(seen)
    assert max(len(moment.paused) for moment in seen) == seen[0].domains, "all were paused at once"
    assert not seen[-1].paused, "and all have recovered"
    for moment in seen:
        assert moment.verdict.paused_domains == len(moment.paused), text
        if moment.paused:
            assert moment.verdict.tone is Tone.BAD, text
            assert moment.is_lit, text
            counted = f"{len(moment.paused)} of" if len(moment.paused) < moment.domains else "All"
            assert f"{counted} {moment.domains} domains paused" in moment.wall, text
            assert "since" in moment.wall, text
            assert "alarm" in moment.banner, text
        else:
            assert "paused" not in moment.wall, text
        assert moment.verdict.counts.all == seen[0].verdict.counts.all, text
    for before, after in pairwise(seen):
        if before.paused < after.paused:
            assert after.verdict.severity > before.verdict.severity, text
            assert WORST_FIRST.index(after.verdict.tone) <= WORST_FIRST.index(before.verdict.tone), text
