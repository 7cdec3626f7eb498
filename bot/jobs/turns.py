"""Passes the turn of a reply that nobody claims on to the next person in its rota, and then to the group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from bot.alerts import notes, turns
from bot.alerts.turns import People
from shared.domain.alert_settings import Routing
from shared.store.alerts.turns import Passed
from shared.store.queue.alert_row import AlertRow
from shared.store.queue.outbox import PlannedPost
from shared.store.queue.post_kinds import TURN
from shared.store.queue.turns import Candidates

TOGETHER = 5
"""More turns than this that pass on in one channel at once become one message."""


class PassingTurns:
    """Words what is posted of turns that passed on. Pure."""

    def __init__(self, routing: Routing, people: People) -> None:
        self._routing, self._people = routing, people

    def candidates(self, alert: AlertRow, now: float) -> Candidates | None:
        """Who may get the next turn; None where the rota isn't in the settings any more. Pure."""
        rota = self._routing.rotas.get(alert.rota)
        if rota is None:
            return None
        policy = self._routing.channel_policy(rota.name)
        return turns.candidates_of(rota, policy=policy, people=self._people, now=now)

    def plan(self, passed: Sequence[Passed], now: float) -> list[tuple[str, PlannedPost]]:
        """The messages to come, with their workspaces. Pure."""
        grouped: defaultdict[tuple[str, str], list[Passed]] = defaultdict(list)
        for one in passed:
            grouped[one.due.alert.workspace, one.due.channel].append(one)
        planned = []
        for (workspace, _), group in grouped.items():
            together = len(group) > TOGETHER or any(one.due.bundled for one in group)
            posts = [self._many(group, now)] if together else [self._one(one, now) for one in group]
            planned += [(workspace, post) for post in posts]
        return planned

    def _one(self, passed: Passed, now: float) -> PlannedPost:
        due = passed.due
        return PlannedPost(
            dedupe=f"{due.alert.id}:{due.channel}:{TURN}:{due.round}",
            channel=due.channel,
            kind=TURN,
            urgency=2,
            note=notes.write_note(turns.passed_card(passed)),
            condensed=True,
            mention=self._mention(passed, now),
            alert_id=due.alert.id,
        )

    def _many(self, group: Sequence[Passed], now: float) -> PlannedPost:
        first = group[0].due
        return PlannedPost(
            dedupe=f"{TURN}:{first.alert.workspace}:{first.channel}:{first.alert.id}:{now:.0f}",
            channel=first.channel,
            kind="note",
            urgency=2,
            note=notes.write_note(turns.summary_card(group)),
            mention=" ".join(dict.fromkeys(filter(None, (self._mention(one, now) for one in group)))),
        )

    def _mention(self, passed: Passed, now: float) -> str:
        """Nobody in the quiet hours of the channel."""
        if self._routing.channel_policy(passed.due.channel).quiet_until(now):
            return ""
        return passed.turn.owner or passed.candidates.group
