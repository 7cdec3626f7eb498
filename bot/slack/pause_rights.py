"""Whether a person may still pause sequences, checked when a rule that they added is about to pause."""

from __future__ import annotations

from bot.slack import permissions
from bot.slack.directory import UserDirectory
from bot.slack.web_api import WebApi
from shared.commands import COMMANDS
from shared.settings import Roles
from shared.text.slack_ids import split_id


class PauseRights:
    """Called with a Slack id and a channel. Where Slack does not say who it is, what held when the rule was added holds."""

    def __init__(self, slack: WebApi, rules: Roles) -> None:
        self._slack, self._rules = slack, rules
        self._directories: dict[str, UserDirectory] = {}
        """Of each Slack workspace whose people added a rule."""

    async def __call__(self, user: str, channel: str) -> bool:
        person = await self._directory(split_id(user)[0]).find(user)
        if not person.is_known:
            return True
        if person.is_deleted:
            return False
        with_role = permissions.with_role(person, rules=self._rules, channel=channel)
        return permissions.allowed(with_role, COMMANDS["pause"], rules=self._rules, channel=channel)

    def _directory(self, team: str) -> UserDirectory:
        if team not in self._directories:
            slack = self._slack.of_team(team) if team else self._slack
            self._directories[team] = UserDirectory(slack, groups=self._rules.groups)
        return self._directories[team]
