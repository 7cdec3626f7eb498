"""Links of cards: to the lead's page in a CRM, and by `Claim & reply` to the person's mail program. Pure.

Slack's reference of a button's `url` speaks of pages that a browser loads, and promises nothing of `mailto:`
(https://docs.slack.dev/reference/block-kit/block-elements/button-element#fields). So the button leads to the bot, which
redirects. The click comes to the bot as well, beside the visit.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from shared.frozen import frozen
from shared.text.links import lead_link

if TYPE_CHECKING:
    from shared.settings import Settings

PATH = "/reply/"
VALID_SECONDS = 30 * 86_400.0
MAC_BYTES = 16
_TOKEN = re.compile(r"(al_[0-9a-z]{1,40})\.([0-9]{1,12})\.([A-Za-z0-9_-]{22})")
_PURPOSE = b"outreach: the links of Claim & reply"
"""Derives the key, so that what is signed here is a signature of nothing else."""


@frozen
class Links:
    """The settings of links: the address of a lead's page, the bot's own, and the secrets that sign."""

    lead: str = ""
    public_url: str = ""
    """The bot's address from outside; empty: cards have no `Claim & reply`."""
    secrets: Sequence[str] = ()
    """The first signs; all of them are believed."""

    def to_lead(self, email: str | None) -> str:
        return lead_link(self.lead, email)

    def to_mail(self, alert: str, *, since: float) -> str:
        """The address of `Claim & reply`; empty where the bot has no public one.

        It is the same as long as the card stays as it is, and counts for thirty days from the Unix time `since`.
        """
        if not (self.public_url and self.secrets):
            return ""
        signed = f"{alert}.{since:.0f}"
        return f"{self.public_url}{PATH}{signed}.{_mac(self.secrets[0], signed)}"

    def read_token(self, token: str, *, now: float) -> str:
        """The alert that a token names; empty where it isn't ours or has expired."""
        found = _TOKEN.fullmatch(token)
        if not found:
            return ""
        signed = f"{found[1]}.{found[2]}"
        # Compared in constant time: the page is open to everybody. All secrets count, so that one can be changed.
        ours = any(hmac.compare_digest(_mac(secret, signed), found[3]) for secret in self.secrets)
        return found[1] if ours and now < int(found[2]) + VALID_SECONDS else ""


def _mac(secret: str, text: str) -> str:
    key = hmac.digest(secret.encode(), _PURPOSE, hashlib.sha256)
    mac = hmac.digest(key, text.encode(), hashlib.sha256)[:MAC_BYTES]
    return base64.urlsafe_b64encode(mac).decode().rstrip("=")


def links_of(settings: Settings) -> Links:
    """The links of a bot: signed by the keys for secrets, or else by what the bot shares with Slack alone."""
    slack = (settings.slack.signing_secret, settings.slack.bot_token)
    kept = [one.get_secret_value() for one in (*settings.secret_keys, *slack) if one is not None]
    return Links(
        lead=settings.links.lead, public_url=settings.public_url or "", secrets=tuple(filter(None, kept))
    )
