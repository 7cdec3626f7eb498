"""Who of the people in rotas is away, by what Slack says of them.

Read regularly and kept, so that no alert waits for Slack: what isn't known, or not any more, counts as present.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from bot.slack.directory import GONE
from bot.slack.permissions import Organization, Person
from bot.slack.web_api import SlackError, WebApi
from shared.domain.rota import Rota
from shared.domain.wall_clock import moment
from shared.text.slack_ids import bare, in_team, split_id

EVERY = 60.0
"""Seconds between two readings."""
KNOWN_SECONDS = 900.0
"""Seconds for which a reading counts where Slack doesn't answer later ones."""
AT_ONCE = 50
"""People of one dnd.teamInfo, the most that it takes (https://docs.slack.dev/reference/methods/dnd.teamInfo)."""
MOST_READ = 30
"""People whose profiles are read in one go: users.info is called a hundred times a minute at most."""
WITHIN = 5.0
"""Seconds for one call."""

log = structlog.get_logger("presence")


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A person, and the status that they set, as users.info has them."""

    person: Person
    status: str = ""
    """Its emoji, as `:palm_tree:`."""
    status_ends: float = 0.0
    """0: when the person changes it.

    https://docs.slack.dev/apis/web-api/user-presence-and-status
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Disturbance:
    """When a person is next, or now, not to be disturbed."""

    begins: float
    ends: float


class Presence:
    """`refresh` regularly; `why_away` and `name` answer at once, from what was read."""

    def __init__(
        self,
        slack: WebApi,
        people: Iterable[str],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._slack, self._clock = slack, clock
        self._people = sorted(set(people))
        self._profiles: dict[str, tuple[float, Profile]] = {}
        self._disturbances: dict[str, tuple[float, Disturbance]] = {}
        self._homes: dict[str, Organization] = {}

    async def refresh(self) -> None:
        """Read of everybody what Slack says; a call that fails leaves what was known before."""
        teams: dict[str, list[str]] = {}
        for person in self._people:
            teams.setdefault(split_id(person)[0], []).append(person)
        await asyncio.gather(*(self._read_team(team, people) for team, people in teams.items()))

    async def _read_team(self, team: str, people: Sequence[str]) -> None:
        slack = self._slack.of_team(team) if team else self._slack
        oldest = sorted(people, key=lambda one: self._profiles.get(one, (float("-inf"), None))[0])
        reads = [self._read_disturbances(slack, team, some) for some in _parts(people)]
        await asyncio.gather(*reads, *(self._read_profile(slack, one) for one in oldest[:MOST_READ]))

    async def _read_disturbances(self, slack: WebApi, team: str, people: Sequence[str]) -> None:
        """When each is not to be disturbed (https://docs.slack.dev/reference/methods/dnd.info)."""
        try:
            if len(people) > 1:
                asked = ",".join(map(bare, people))
                answer = await slack.read("dnd.teamInfo", seconds=WITHIN, users=asked)
                users = answer.get("users")
            else:
                (one,) = people
                users = {bare(one): (await slack.read("dnd.info", seconds=WITHIN, user=one)).data}
        except SlackError as error:
            if error.code in GONE and len(people) > 1:  # one of them hides all the others
                await asyncio.gather(*(self._read_disturbances(slack, team, [one]) for one in people))
            else:
                log.info("do not disturb is not known", error=str(error)[:200])
            return
        for user, dnd in users.items() if isinstance(users, dict) else ():
            is_on = isinstance(dnd, dict) and bool(dnd.get("dnd_enabled"))
            found = Disturbance(
                begins=_number(dnd, "next_dnd_start_ts") if is_on else 0.0,
                ends=_number(dnd, "next_dnd_end_ts") if is_on else 0.0,
            )
            self._disturbances[in_team(team, str(user))] = self._clock(), found

    async def _read_profile(self, slack: WebApi, person: str) -> None:
        try:
            if slack.team not in self._homes:
                own = await slack.call("auth.test", seconds=WITHIN)
                self._homes[slack.team] = Organization(
                    team=str(own.get("team_id") or ""), enterprise=str(own.get("enterprise_id") or "")
                )
            answer = await slack.read("users.info", seconds=WITHIN, user=person)
        except SlackError as error:
            log.info("a person's status is not known", person=person, error=str(error)[:200])
            return
        user = answer.get("user")
        info: dict[str, Any] = user if isinstance(user, dict) else {}
        profile = info.get("profile")
        status: Mapping[str, Any] = profile if isinstance(profile, dict) else {}
        self._profiles[person] = (
            self._clock(),
            Profile(
                person=Person.from_user({**info, "id": person}, home=self._homes[slack.team]),
                status=str(status.get("status_emoji") or ""),
                status_ends=_number(status, "status_expiration"),
            ),
        )

    def name(self, person: str) -> str:
        """As it is shown; empty where Slack never told."""
        return self._profiles[person][1].person.name if person in self._profiles else ""

    def why_away(self, person: str, rota: Rota, now: float) -> str:
        """Why a person gets no turn at a moment; empty: they are there, as far as is known."""
        earliest = self._clock() - KNOWN_SECONDS
        read_at, disturbance = self._disturbances.get(person, (float("-inf"), None))
        if disturbance and read_at >= earliest and disturbance.begins <= now < disturbance.ends:
            return "do not disturb"
        read_at, profile = self._profiles.get(person, (float("-inf"), None))
        if profile is None or read_at < earliest:
            return ""
        if not profile.person.is_member:
            return "deactivated" if profile.person.is_deleted else "not a member"
        if profile.status in rota.away_status and (not profile.status_ends or now < profile.status_ends):
            return f"status {profile.status}"
        if rota.hours and not rota.hours.include(moment(now), zone=profile.person.zone):
            return "outside their hours"
        return ""


def _parts(people: Sequence[str]) -> Iterator[Sequence[str]]:
    return (people[at : at + AT_ONCE] for at in range(0, len(people), AT_ONCE))


def _number(values: object, name: str) -> float:
    found = values.get(name) if isinstance(values, dict) else None
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else 0.0
