"""Notifies another channel when a channel rejects alerts, and when it accepts them again."""

from __future__ import annotations

from collections.abc import Callable
from secrets import token_hex

from bot.alerts import notes
from shared.domain.card import Card, Tone
from shared.settings import Settings
from shared.store.messages import PlannedPost, new_id
from shared.store.post_kinds import NOTE
from shared.store.posting import ChannelLease, ChannelRefused, Outcome, Settled, Unpostable

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
        if not (settled.broke or settled.gave_up or settled.recovered):
            return None
        broken, name = lease.channel, self._name(lease.channel)
        alerts = [workspace.alert_channel for workspace in self._settings.workspaces.values()]
        candidates = (self._settings.routes.fallback, *alerts)
        channel = next((one for one in candidates if one and one != broken), "")
        if settled.broke and isinstance(outcome, ChannelRefused):
            event, card = "broke", _broken(name, outcome.error)
            if new := new_id(outcome.error):
                event, card, channel = "moved", _moved(broken, new), new  # so that its own people are told
        elif settled.gave_up and isinstance(outcome, Unpostable) and lease.posts[0].kind != NOTE:
            event, card = "gave up", _given_up(name, outcome.error)
        elif settled.recovered:
            text = ("Held alerts are being posted.",)
            event, card = "recovered", Card(title=f"{name} accepts alerts again", tone=Tone.GOOD, text=text)
        else:
            return None
        dedupe = f"note:{event}:{broken}:{lease.token}:{token_hex(4)}"
        post = PlannedPost(dedupe=dedupe, channel=channel, kind=NOTE, note=notes.write_note(card))
        return post if channel else None


def _broken(channel: str, error: str) -> Card:
    fix = _FIXES.get(error, f"Slack's error: {error}. Check with `outreach doctor`.")
    text = (fix, "Its alerts are kept, and posted when the channel accepts them again.")
    return Card(title=f"Can't post to {channel}", tone=Tone.BAD, text=text)


def _moved(old: str, new: str) -> Card:
    text = f"Slack changed the id of this channel from {old} to {new}. Its alerts wait."
    cure = (
        f"Replace {old} with {new} in the settings and reload them. What was subscribed by command: subscribe "
        f"again here, then type `/outreach unsubscribe all <#{old}>`."
    )
    return Card(title="This channel has a new id", tone=Tone.BAD, text=(text, cure))


def _given_up(channel: str, error: str) -> Card:
    text = (
        f"Slack refuses it ({error}), and the bot no longer tries. `/outreach replies` lists the replies that nobody "
        "has claimed, with their text."
    )
    return Card(title=f"A message for {channel} can't be posted", tone=Tone.BAD, text=(text,))
