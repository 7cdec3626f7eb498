"""The reason why the service paused a domain and the advice, the same in Slack and in the dashboard. Pure."""

from __future__ import annotations

from shared.api.events import Event
from shared.domain.evidence import clearly_more
from shared.text.formats import show_rate

BOUNCE = "bounce"
_COMPLAINTS = ("complain", "spam", "unsubscri", "opt-out", "opt out")
_REST = "Let the inboxes rest: each restarts with a small daily limit."


def advice(reason: str, *, bounced: int, left: int) -> str:
    """The advice by the service's reason; without one, by what clearly more came of: bounces, or leads that left."""
    given = reason.casefold()
    complained, bounces = any(word in given for word in _COMPLAINTS), BOUNCE in given
    # The service's own word counts before what the deliveries suggest.
    if not (complained or bounces):
        complained, bounces = clearly_more(left, bounced), clearly_more(bounced, left)
    if complained:
        return (
            "review what its sequences say and who receives them, and pause those that draw complaints. "
            + _REST
        )
    if bounces:
        return (
            "verify the addresses in its sequences before you send more, and remove those that bounce. "
            + _REST
        )
    return "check its inboxes and the sequences that use them, and let the inboxes rest."


def pause_reason(event: Event) -> str:
    """The service's reason, with the share of sends that it names; empty where it gives none."""
    share = event.raw.get("rate")
    given = (event.reason or "").replace("_", " ")
    # The document shows no type for it: what isn't a share of one is left out, not guessed.
    known = isinstance(share, int | float) and not isinstance(share, bool) and 0 < share <= 1
    return f"{given} {show_rate(share)}".strip() if known else given
