"""What one more entry in a table of kinds does: run in a process that has it (see `test_one_more_kind`)."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bot.alerts import notes, rendering
from bot.interactions import forms
from bot.interactions.forms import FormRequest
from shared.commands import parse
from shared.commands.subscribe import Subscribe
from shared.domain.card import Card
from shared.records.records import Subscription
from shared.storage.database import parse_url
from shared.store import Store, open_store
from shared.store.messages import PlannedPost, Post
from shared.store.posting import Sent
from tests.bot.due import claim_repaints, claim_turns
from tests.bot.harness import interested
from tests.bot.manual_clock import ANN, CHANNEL, HOUR, MINUTE, ManualClock, arrive, post_all, routes, sweep
from tests.shared.harness import open_harness
from tools.docs_pages import events_table

CALL = json.dumps(
    {"event": "lead.called", "lead": {"email": "ada@acme.example", "first_name": "Ada"}}
).encode()


@asynccontextmanager
async def opened() -> AsyncIterator[tuple[Store, ManualClock]]:
    clock = ManualClock()
    with tempfile.TemporaryDirectory() as folder:
        async with open_store(parse_url(f"sqlite:///{Path(folder)}/bot.db"), clock=clock) as store:
            yield store, clock


def title(post: Post) -> str:
    return rendering.card_of(post, several=False).title


async def drive_event() -> None:
    """A kind of event, from the delivery to the documentation."""
    async with opened() as (store, clock):
        await store.records.subscribe("default", [Subscription(channel="C2", event="lead.called")])
        await arrive(store, CALL)
        posted = await post_all(store, clock)
        assert {post.channel: title(post) for post in posted} == dict.fromkeys((CHANNEL, "C2"), "Called: Ada")
        assert (await store.records.summary("default")).unreadable == 0
        clock.now += 6 * MINUTE
        assert {(post.kind, "Ada" in title(post)) for post in await sweep(store, clock)} == {
            ("reminder", True)
        }
        claimed = await store.alerts.act(posted[0].alert_id, "claim", ANN)
        assert claimed is not None
        assert claimed.changed
    assert parse("subscribe called").arguments == Subscribe(events=("lead.called",))
    form = forms.form_view("subscribe", FormRequest(channel="C1", workspace="", workspaces=()))
    assert "Call from a lead" in json.dumps(form)
    with tempfile.TemporaryDirectory() as folder:
        async with open_harness(Path(folder)) as harness:
            await harness.deliver("lead.called", "a@x.com", "b@x.com", "c@x.com")
            assert "3 calls" in repr(await harness.say("digest today"))
    assert "| `lead.called` | a lead called | a card in the alert channel, at once |" in events_table()


async def drive_post() -> None:
    """A kind of message, from the plan to its deletion."""
    async with opened() as (store, clock):
        await arrive(store, interested(1), by=routes())
        (card,) = await post_all(store, clock)
        note = notes.write_note(Card(title="Well done"))
        kudos = PlannedPost(
            dedupe="kudos", channel=CHANNEL, kind="kudos", note=note, alert_id=card.alert_id, mention="U1"
        )
        await store.outbox.plan("default", kudos)
        (turn,) = await claim_turns(store, limit=1)
        assert turn.thread_ts, "under the card"
        assert rendering.broadcasts(turn.posts)
        assert "<@U1>" in rendering.message(turn.posts, several=False).text
        await store.posting.settle(turn, Sent(ts="9.9"))
        await store.alerts.act(card.alert_id, "claim", ANN)
        repainted = {post.kind: post for (post,) in await claim_repaints(store, limit=9)}
        assert rendering.card_of(repainted["kudos"], several=False).text == ("✓ Claimed by @ann.",)
        clock.now += 100 * HOUR
        await store.retention.prune(bodies_after=HOUR, hashes_after=1000 * HOUR)
        await store.alerts.act(card.alert_id, "release", ANN)
        clock.now += HOUR
        assert {post.kind for (post,) in await claim_repaints(store, limit=9)} == {"alert"}


def run(what: str) -> None:
    asyncio.run({"event": drive_event, "post": drive_post}[what]())
