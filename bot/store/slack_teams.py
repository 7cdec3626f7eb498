"""The Slack workspaces that installed the bot, with their tokens and their access to outreach workspaces.

The SDK's installation store keeps the installations in tables of this database; the tokens are encrypted before.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC

import sqlalchemy as sa
from slack_sdk.oauth.installation_store import Installation
from slack_sdk.oauth.installation_store.sqlalchemy import SQLAlchemyInstallationStore

from bot.store.db.engine import Database, Repository, Transaction, reads, writes
from bot.store.db.schema import channel_leases, digests, posts, subscriptions
from bot.store.db.slack_schema import (
    slack_bots,
    slack_installations,
    slack_oauth_states,
    slack_team_workspaces,
)
from bot.store.queue.posts import UNSENT
from bot.store.webhooks import SecretCipher, SecretUnreadable

_TOKENS = ("bot_token", "bot_refresh_token", "user_token", "user_refresh_token", "incoming_webhook_url")


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackTeam:
    """One Slack workspace that installed the bot; `problem` says why its token cannot be read."""

    id: str
    name: str
    token: str = field(repr=False)
    bot_id: str
    bot_user_id: str
    installed_at: float
    workspaces: frozenset[str]
    problem: str = ""


class SlackTeams(Repository):
    """Installations of one app."""

    def __init__(self, database: Database, cipher: SecretCipher, *, client_id: str) -> None:
        super().__init__(database)
        self._cipher, self._client_id = cipher, client_id

    async def save(self, installation: Installation) -> None:
        """Keep an installation instead of any earlier one of its team. Raises `RecordsUnavailable`."""
        kept = copy(installation)
        for name in _TOKENS:
            if secret := getattr(kept, name):
                setattr(kept, name, self._cipher.encrypt(secret))

        def save(engine: sa.Engine) -> None:
            sdk = SQLAlchemyInstallationStore(self._client_id, engine)
            sdk.delete_all(enterprise_id=kept.enterprise_id, team_id=kept.team_id)
            sdk.save(kept)

        await self.database.run(save)

    @reads
    def all(self, tx: Transaction) -> Sequence[SlackTeam]:
        """Every team, by name."""
        allowed: defaultdict[str, set[str]] = defaultdict(set)
        for row in tx.execute(sa.select(slack_team_workspaces)):
            allowed[row.team].add(row.workspace)
        found: dict[str, SlackTeam] = {}
        c = slack_bots.c
        query = sa.select(slack_bots).where(c.client_id == self._client_id, c.team_id.is_not(None))
        for row in tx.execute(query.order_by(c.installed_at)):
            found[row.team_id] = self._team(row, frozenset(allowed[row.team_id]))
        return sorted(found.values(), key=lambda team: (team.name.casefold(), team.id))

    def _team(self, row: sa.Row[tuple[object, ...]], workspaces: frozenset[str]) -> SlackTeam:
        token, problem = "", ""
        try:
            token = self._cipher.decrypt(row.bot_token or "")
        except SecretUnreadable as error:
            problem = str(error)
        return SlackTeam(
            id=row.team_id,
            name=row.team_name or row.team_id,
            token=token,
            bot_id=row.bot_id or "",
            bot_user_id=row.bot_user_id or "",
            installed_at=row.installed_at.replace(tzinfo=UTC).timestamp(),
            workspaces=workspaces,
            problem=problem,
        )

    @writes
    def allow(self, tx: Transaction, team: str, workspace: str) -> None:
        tx.execute(tx.insert_once(slack_team_workspaces), {"team": team, "workspace": workspace})

    @writes
    def disallow(self, tx: Transaction, team: str, workspace: str) -> bool:
        """Let a team see an outreach workspace no more; False: it could not before."""
        c = slack_team_workspaces.c
        gone = tx.execute(sa.delete(slack_team_workspaces).where(c.team == team, c.workspace == workspace))
        _forget_channels(tx, team, workspace)
        return gone.rowcount > 0

    @writes
    def remove(self, tx: Transaction, team: str, *, installed_before: float | None = None) -> bool:
        """Forget a team: its tokens, what it may see, and what waits for its channels.

        `installed_before`: not if it was installed again since. False if nothing was removed.
        """
        if installed_before is not None:
            newest = tx.scalar(
                sa.select(sa.func.max(slack_bots.c.installed_at)).where(slack_bots.c.team_id == team)
            )
            if newest is None or newest.replace(tzinfo=UTC).timestamp() > installed_before:
                return False
        known = 0
        for table in (slack_bots, slack_installations):
            mine = (table.c.client_id == self._client_id) & (table.c.team_id == team)
            known += tx.execute(sa.delete(table).where(mine)).rowcount
        allowed = sa.delete(slack_team_workspaces).where(slack_team_workspaces.c.team == team)
        known += tx.execute(allowed).rowcount
        _forget_channels(tx, team)
        return known > 0

    @reads
    def state_is_used(self, tx: Transaction, state: str) -> bool:
        """Whether an installation with this state is done."""
        c = slack_oauth_states.c
        return tx.scalar(sa.select(c.state).where(c.state == _hash(state))) is not None

    @writes
    def use_state(self, tx: Transaction, state: str, *, seconds: float) -> bool:
        """Use up a state that may come again for so many seconds; False for all but the first who does."""
        tx.execute(sa.delete(slack_oauth_states).where(slack_oauth_states.c.expires_at <= tx.now))
        used = tx.insert_once(slack_oauth_states).values(state=_hash(state), expires_at=tx.now + seconds)
        return tx.scalar(used.returning(slack_oauth_states.c.state)) is not None


def _hash(state: str) -> bytes:
    return hashlib.sha256(state.encode(errors="replace")).digest()


def _forget_channels(tx: Transaction, team: str, workspace: str = "") -> None:
    """What is stored for the channels of a team: all, or of one outreach workspace."""
    for table in (subscriptions, digests, posts):
        mine = table.c.channel.startswith(f"{team}/", autoescape=True)
        if workspace:
            mine &= table.c.workspace == workspace
        if table is posts:
            tx.execute(sa.update(posts).where(mine).values(repaint_at=None))
            mine &= UNSENT
        tx.execute(sa.delete(table).where(mine))
    if not workspace:
        tx.execute(
            sa.delete(channel_leases).where(channel_leases.c.channel.startswith(f"{team}/", autoescape=True))
        )
