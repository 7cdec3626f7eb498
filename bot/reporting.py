"""Where it is said that a channel takes no alerts: in another channel, and in `status`."""

from __future__ import annotations

from bot import drawing
from bot.ledger import Ledger
from bot.ledger.inbox import Planned
from bot.ledger.outbox import Turn
from shared.card import Card, Tone
from shared.settings import Settings

_CURES = {
    "not_in_channel": "Invite the bot: /invite @outreach.",
    "channel_not_found": "The channel is gone, or private without the bot; invite it, or set another channel.",
    "is_archived": "Unarchive the channel, or set another.",
    "missing_scope": "Install the app again with the scopes of manifest.yml.",
    "token_revoked": "Install the app again and set the new SLACK_BOT_TOKEN.",
    "invalid_auth": "Set a valid SLACK_BOT_TOKEN.",
    "account_inactive": "Install the app again and set the new SLACK_BOT_TOKEN.",
}


class Reports:
    """Plans a note for the fallback channel, once per trouble."""

    def __init__(self, settings: Settings, ledger: Ledger) -> None:
        self._settings, self._ledger = settings, ledger

    async def broke(self, turn: Turn, error: str) -> None:
        """A channel takes nothing any more."""
        cure = _CURES.get(error, "See `outreach doctor`.")
        text = (f"Slack says {error}. {cure}", "Its alerts are kept and posted when it takes them again.")
        await self._plan(
            turn, "broke", Card(title=f"Channel {turn.channel} takes no alerts", tone=Tone.BAD, text=text)
        )

    async def cured(self, turn: Turn) -> None:
        """It takes messages again."""
        card = Card(
            title=f"Channel {turn.channel} takes alerts again",
            tone=Tone.GOOD,
            text=("What waited is on its way.",),
        )
        await self._plan(turn, "cured", card)

    async def _plan(self, turn: Turn, event: str, card: Card) -> None:
        fallback = self._fallback(turn.channel)
        if fallback is None:
            return
        dedupe = f"note:{event}:{turn.channel}:{turn.token}"
        planned = Planned(dedupe=dedupe, channel=fallback, kind="note", note=drawing.write_note(card))
        await self._ledger.note(turn.posts[0].workspace, planned)

    def _fallback(self, broken: str) -> str | None:
        """The configured fallback channel, else another workspace's alert channel."""
        others = [workspace.alert_channel for workspace in self._settings.workspaces.values()]
        wanted = [self._settings.routes.fallback, *others]
        return next((channel for channel in wanted if channel and channel != broken), None)
