"""Whether a person may still pause sequences, checked when a rule that they added is about to pause."""

from __future__ import annotations

from bot.slack import permissions
from bot.slack.directory import UserDirectory
from bot.slack.web_api import WebApi
from shared.commands import COMMANDS
from shared.settings import Roles


class PauseRights:
    """Called with a Slack id and a channel. Where Slack does not say who it is, what held when the rule was added holds."""

    def __init__(self, slack: WebApi, rules: Roles) -> None:
        self._directory, self._rules = UserDirectory(slack, groups=rules.groups), rules

    async def __call__(self, user: str, channel: str) -> bool:
        person = await self._directory.find(user)
        if not person.is_known:
            return True
        if person.is_deleted:
            return False
        placed, pause = permissions.with_role(person, rules=self._rules, channel=channel), COMMANDS["pause"]
        return permissions.may(placed, pause.name, needed=pause.role, rules=self._rules, channel=channel)
