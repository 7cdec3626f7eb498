"""The store allows what the one table of a reply's states allows, and leaves the reply in the state that it names."""

from __future__ import annotations

import pytest

from shared.domain.reply_states import AFTER, State
from shared.records.audit import Actor
from shared.store import Store
from tests.bot.harness import interested
from tests.bot.manual_clock import ManualClock, arrive

ANN, BEN = Actor(name="ann", id="U1"), Actor(name="ben", id="U2")
VERBS = sorted({verb for acts in AFTER.values() for verb in acts} - {"mail"})  # the store knows it as `claim`
INTO = {
    State.UNCLAIMED: (),
    State.SNOOZED: ("snooze",),
    State.CLAIMED: ("claim", "remind"),
    State.DONE: ("done",),
}


@pytest.mark.parametrize("state", State)
async def test_an_act_changes_a_reply_exactly_where_the_table_allows_it(
    store: Store, clock: ManualClock, state: State
) -> None:
    await arrive(store, *(interested(number) for number in range(len(VERBS))))
    replies = (await store.records.open_replies("default")).replies
    for verb, reply in zip(VERBS, replies, strict=True):
        for step in INTO[state]:
            await store.alerts.act(reply.alert_id, step, ANN, until=clock.now + 60.0)
        # Each act takes nothing from anybody but who had the reply when it was offered.
        colleague = verb in {"takeover", "assign"}
        change = await store.alerts.act(
            reply.alert_id,
            verb,
            BEN if verb == "takeover" else ANN,
            until=clock.now + 90.0,
            instead_of="U1" if colleague and state is State.CLAIMED else "",
            person=BEN if verb == "assign" else None,
        )
        assert change
        assert (verb, change.changed) == (verb, verb in AFTER[state])
        assert change.alert.state is AFTER[state].get(verb, state)
