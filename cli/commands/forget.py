"""`outreach forget`: erases a person from everything that the bot stored, and says what it can't reach."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Sequence

from bot.slack.web_api import SlackError
from bot.store import Store
from bot.store.records.erasure import PostedMessage, Traces
from cli.console import card_output, exit_codes
from cli.console.interactive import attended, confirm
from cli.console.resources import audit_entry, open_bot_store
from cli.console.slack_channels import open_web_api
from shared.commands.result import Result
from shared.domain.card import Card, Fact, Tone
from shared.settings import Settings, load
from shared.text.formats import show_number

ROUNDS = 3
"""A running bot may write about the person meanwhile; after so many looks, that is said."""
GONE = "message_not_found"


def run(options: Namespace) -> int:
    """`ADDRESS [--slack] [--yes] [--json]`."""
    email = options.address.strip()
    if "@" not in email.strip("@") or any(sign.isspace() for sign in email):
        raise exit_codes.WrongUsage(f"{email or 'an empty text'} isn't an email address")
    return asyncio.run(_forget(email, load(config=options.config), options))


async def _forget(email: str, settings: Settings, options: Namespace) -> int:
    async with open_bot_store(settings) as store:
        traces = await store.erasure.find(email)
        if not traces:
            title = f"Nothing is stored about {email}"
            return card_output.answer(
                Result(card=Card(title=title, text=(_ELSEWHERE,)), rows=({},)), as_json=options.json
            )
        own = [one for one in traces.messages if not one.shared]
        stay = "" if options.slack or not own else _stay(own)
        confirm(f"Erase {_listed(traces)} of {email}? It can't be undone.{stay}", yes=options.yes)
        delete = bool(own) and (options.slack or _wants_messages_deleted(own, options))
        # Before the records, which alone know where the messages are: interrupted here, it can be run again.
        deleted, kept = await _delete_messages(own if delete else (), settings)
        left = await _erase(store, traces)
        result = f"erased a person: {_listed(traces)}, and {show_number(deleted, 'message')} in Slack"
        workspace = settings.workspace().name
        await store.records.record(audit_entry(workspace, "forget", result))
    return card_output.answer(_answer(email, traces, deleted, kept, left=left), as_json=options.json)


async def _erase(store: Store, traces: Traces) -> bool:
    """Whether something of the person is left."""
    for _round in range(ROUNDS):
        await store.erasure.erase(traces)
        traces = await store.erasure.find(traces.email)
        if not traces:
            return False
    return True


def _wants_messages_deleted(own: Sequence[PostedMessage], options: Namespace) -> bool:
    if options.yes or not attended():
        return False
    try:
        confirm(f"Also delete {show_number(len(own), 'message')} that the bot posted in Slack?", yes=False)
    except exit_codes.Failed:
        return False
    return True


async def _delete_messages(own: Sequence[PostedMessage], settings: Settings) -> tuple[int, Sequence[str]]:
    """How many messages are gone, and what Slack said of the others.

    https://docs.slack.dev/reference/methods/chat.delete
    """
    if not own:
        return 0, ()
    deleted, refusals = 0, list[str]()
    async with open_web_api(settings) as slack:
        for one in own:
            try:
                channel = await slack.message_channel(one.channel)
                await slack.call("chat.delete", channel=channel, ts=one.ts)
            except SlackError as error:
                if error.code != GONE:
                    refusals.append(f"{one.channel} {one.ts}: {error.code}")
                    continue
            deleted += 1
    return deleted, refusals


def _stay(own: Sequence[PostedMessage]) -> str:
    return f" Afterwards the bot can't find its {show_number(len(own), 'message')} in Slack (--slack deletes them)."


def _listed(traces: Traces) -> str:
    counts = (
        (len(traces.alerts), "alert"),
        (len(traces.deliveries), "stored text"),
        (len(traces.posts), "message"),
        (len(traces.questions), "open confirmation"),
        (len(traces.audit), "audit line"),
    )
    texts = [show_number(count, word) for count, word in counts if count]
    return ", ".join(texts) or "what is remembered"


def _answer(email: str, traces: Traces, deleted: int, refusals: Sequence[str], *, left: bool) -> Result:
    own = [one for one in traces.messages if not one.shared]
    remaining = len(own) - deleted
    shared = len(traces.messages) - len(own)
    slack = [
        f"Not deleted in Slack: {show_number(remaining, 'message')} about this person. Delete them there."
        if remaining
        else "",
        *(f"Slack refused to delete {one}." for one in refusals),
        f"{show_number(shared, 'message')} also show other people: the bot redraws them without this one."
        if shared
        else "",
    ]
    texts = [
        *slack,
        "A running bot has stored something new about the person. Run it again." if left else "",
        _ELSEWHERE,
    ]
    return Result(
        card=Card(
            title=f"Erased what was stored about {email}",
            tone=Tone.WARN if left or refusals else Tone.GOOD,
            text=tuple(filter(None, texts)),
            facts=(Fact(label="Erased", value=_listed(traces)),),
        ),
        rows=(
            {
                "alerts": len(traces.alerts),
                "deliveries": len(traces.deliveries),
                "messages": len(traces.posts),
                "audit": len(traces.audit),
                "slack_messages_deleted": deleted,
                "slack_messages_left": remaining + shared,
                "complete": not left,
            },
        ),
    )


_ELSEWHERE = (
    "Not reached: backups of the database, files of `import`, `export` and `report`, and the outreach service. Remove the "
    "lead there too (`outreach remove ADDRESS`), or its next event is stored again."
)
