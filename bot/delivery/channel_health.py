"""Notifies another channel when a channel rejects alerts, and when it accepts them again."""

from __future__ import annotations

from collections.abc import Callable
from secrets import token_hex

from bot.alerts import notes
from shared.domain.card import Card, Tone
from shared.settings import Settings
from shared.store.queue.leases import ChannelLease, ChannelRefused, Outcome, Settled, Unpostable
from shared.store.queue.outbox import PlannedPost, new_id
from shared.store.queue.post_kinds import NOTE

_FIXES = {
    "not_in_channel": "The bot isn't in the channel. Type /invite @outreach there.",
    "channel_not_found": "The channel was deleted, or is private and the bot isn't in it. Invite the bot, or set another channel.",
    "is_archived": "The channel is archived. Unarchive it, or set another channel.",
    "missing_scope": "The bot's token lacks a scope. Install the app again with the scopes in manifest.yml.",
    "token_revoked": "The bot's token was revoked. Install the app again and set the new SLACK_BOT_TOKEN.",
    "invalid_auth": "The bot's token is invalid. Set a valid SLACK_BOT_TOKEN.",
    "ekm_access_denied": "Your organization's key management suspended the workspace. An admin of Slack can restore it.",
    "account_inactive": "The bot's account was deactivated. Install the app again and set the new SLACK_BOT_TOKEN.",
}


class ChannelHealth:
    """Writes the note for the fallback channel, once per failure."""

    def __init__(self, settings: Settings, *, name: Callable[[str], str]) -> None:
        self._settings, self._name = settings, name

    def __call__(self, lease: ChannelLease, outcome: Outcome, settled: Settled) -> PlannedPost | None:
        """The note after a turn; None: nothing changed, or there is no other channel."""
        if settled.broke and isinstance(outcome, ChannelRefused):
            if new := new_id(outcome.error):
                return self._moved(lease, new)
            return self._note(lease, "broke", _broken(self._name(lease.channel), outcome.error))
        if settled.gave_up and isinstance(outcome, Unpostable) and lease.posts[0].kind != NOTE:
            return self._note(lease, "gave up", _given_up(self._name(lease.channel), outcome.error))
        return (
            self._note(lease, "recovered", _recovered(self._name(lease.channel)))
            if settled.recovered
            else None
        )

    def _note(self, lease: ChannelLease, event: str, card: Card) -> PlannedPost | None:
        fallback = self._fallback(lease.channel)
        return self._plan(lease, event, card, channel=fallback) if fallback else None

    def _moved(self, lease: ChannelLease, new: str) -> PlannedPost:
        """The channel is there under its new id, so that its own people are told."""
        old = lease.channel
        text = f"Slack changed the id of this channel from {old} to {new}. Its alerts wait."
        cure = (
            f"Replace {old} with {new} in the settings and reload them. What was subscribed by command: subscribe "
            f"again here, then type `/outreach unsubscribe all <#{old}>`."
        )
        card = Card(title="This channel has a new id", tone=Tone.BAD, text=(text, cure))
        return self._plan(lease, "moved", card, channel=new)

    def _plan(self, lease: ChannelLease, event: str, card: Card, *, channel: str) -> PlannedPost:
        dedupe = f"note:{event}:{lease.channel}:{lease.token}:{token_hex(4)}"
        return PlannedPost(dedupe=dedupe, channel=channel, kind="note", note=notes.write_note(card))

    def _fallback(self, broken: str) -> str | None:
        """The fallback of the settings, or another alert channel."""
        alerts = [workspace.alert_channel for workspace in self._settings.workspaces.values()]
        candidates = [self._settings.routes.fallback, *alerts]
        return next((channel for channel in candidates if channel and channel != broken), None)


def _broken(channel: str, error: str) -> Card:
    fix = _FIXES.get(error, f"Slack's error: {error}. Check with `outreach doctor`.")
    text = (
        fix,
        "Its alerts are kept, and posted when the channel accepts them again.",
    )
    return Card(title=f"Can't post to {channel}", tone=Tone.BAD, text=text)


def _given_up(channel: str, error: str) -> Card:
    text = (
        f"Slack refuses it ({error}), and the bot no longer tries. `/outreach replies` lists the replies that nobody "
        "has claimed, with their text."
    )
    return Card(title=f"A message for {channel} can't be posted", tone=Tone.BAD, text=(text,))


def _recovered(channel: str) -> Card:
    text = ("Held alerts are being posted.",)
    return Card(title=f"{channel} accepts alerts again", tone=Tone.GOOD, text=text)
