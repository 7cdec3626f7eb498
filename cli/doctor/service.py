"""Does the service take the key, and do its clock and ours agree?"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

from cli.doctor.finding import Finding, bad, doubtful, good
from shared.api.client import OutreachClient
from shared.api.errors import OutreachError, Unauthorized, Unreadable
from shared.api.http.rate_limit import Priority
from shared.settings import Workspace

NOTICEABLE_SECONDS, FATAL_SECONDS = 5.0, 120.0
"""Slack refuses requests that are five minutes old, and signs with its own clock."""


async def examine(client: OutreachClient, workspace: Workspace) -> AsyncIterator[Finding]:
    """One read with the key; its answer's Date header is the service's clock."""
    check = f"API key of {workspace.name}"
    try:
        sequences = await client.list_sequences(priority=Priority.INTERACTIVE)
    except Unauthorized:
        cure = "Create a key in the account settings and set OUTREACH_API_KEY."
        yield bad(check, "refused: missing or revoked", cure=cure)
    except Unreadable as fault:
        yield doubtful(
            check, str(fault), cure="`outreach doctor --shapes` shows what it sends; [fields] cures it."
        )
    except OutreachError as fault:
        yield bad(
            check, str(fault), cure=f"Is {workspace.base_url} the right address, and reachable from here?"
        )
    else:
        yield good(check, f"accepted, {len(sequences)} sequences")
    if client.service_time:
        yield clock(client.service_time, now=datetime.now(UTC))


def clock(theirs: datetime, *, now: datetime) -> Finding:
    """How far the clocks are apart; the header counts whole seconds."""
    apart = abs((now - theirs).total_seconds())
    if apart < NOTICEABLE_SECONDS:
        return good("Clock", "agrees with the service's")
    word = f"{apart:,.0f} s {'ahead of' if now > theirs else 'behind'} the service's"
    cure = "Set this machine's clock, best by NTP: Slack's signatures are good for five minutes."
    return (bad if apart >= FATAL_SECONDS else doubtful)("Clock", word, cure=cure)
