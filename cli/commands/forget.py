"""`outreach forget`: erases a person from everything that the bot stored, and says what it can't reach."""

from __future__ import annotations

import asyncio
import contextlib
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import sqlalchemy as sa

from bot.slack.web_api import SlackError
from cli.console import card_output, exit_codes
from cli.console.interactive import attended, confirm
from cli.console.resources import audit_entry, open_bot_store
from cli.console.slack_channels import open_web_api
from shared.commands.base import Result
from shared.domain.card import Card, Fact, Tone
from shared.history.engine import metadata as history
from shared.settings import Settings, load
from shared.storage.database import temporary_engine
from shared.storage.redaction import Key, Redaction, clear_free_space, mentions, redact
from shared.store import Store
from shared.store.db.engine import portions
from shared.store.db.lock import sole_owner
from shared.store.db.schema import deliveries, metadata
from shared.store.deliveries import address
from shared.store.erasure import PostedMessage, Traces
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
    redaction = Redaction(address(email))
    async with open_bot_store(settings) as store:
        traces = await store.erasure.find(email)
        if not traces and not await asyncio.to_thread(_mentions, settings, redaction):
            title = f"Nothing is stored about {email}"
            card = Card(title=title, text=tuple(_unreached(settings, redaction)))
            return card_output.answer(Result(card=card), as_json=options.json)
        own = [one for one in traces.messages if not one.shared]
        stay = "" if options.slack or not own else _stay(own)
        confirm(f"Erase {_listed(traces)} of {email}? It can't be undone.{stay}", yes=options.yes)
        delete = bool(own) and (options.slack or _wants_messages_deleted(own, options))
        # Before the records, which alone know where the messages are: interrupted here, it can be run again.
        deleted, kept = await _delete_messages(own if delete else (), settings)
        left = await _erase(store, traces)
        quoted = await asyncio.to_thread(_redact, settings, redaction)
        for some in portions([number for (number,) in quoted.get(deliveries.name, ())]):
            await store.erasure.redraw(some)
        result = f"erased a person: {_listed(traces)}, and {show_number(deleted, 'message')} in Slack"
        workspace = settings.workspace().name
        await store.records.record(audit_entry(workspace, "forget", result))
    unreached = (*await asyncio.to_thread(_clear, settings), *_unreached(settings, redaction))
    outcome = _result(
        traces, quoted=sum(map(len, quoted.values())), deleted=deleted, refusals=kept, left=left
    )
    card = replace(outcome.card, text=(*outcome.card.text, *unreached))
    return card_output.answer(replace(outcome, card=card), as_json=options.json)


@contextlib.contextmanager
def _databases(settings: Settings) -> Iterator[Sequence[tuple[sa.Engine, sa.MetaData]]]:
    """The bot's database and the dashboard's history, as far as they are there."""
    found = ((settings.database, metadata), (settings.history_database, history))
    with contextlib.ExitStack() as opened:
        yield [
            (opened.enter_context(temporary_engine(url)), tables)
            for url, tables in found
            if url.get_backend_name() != "sqlite" or Path(url.database or "").exists()
        ]


def _mentions(settings: Settings, redaction: Redaction) -> int:
    with _databases(settings) as databases:
        return sum(mentions(engine, tables, redaction) for engine, tables in databases)


def _redact(settings: Settings, redaction: Redaction) -> Mapping[str, Sequence[Key]]:
    """Remove the address from what stays: other people's texts, the history of leads, notes."""
    found: dict[str, Sequence[Key]] = {}
    with _databases(settings) as databases:
        for engine, tables in databases:
            found |= redact(engine, tables, redaction)
    return found


def _clear(settings: Settings) -> Iterator[str]:
    """Overwrite what SQLite keeps of deleted rows; what could not be, because a program uses the file."""
    with sole_owner(settings.database) as is_free, _databases(settings) as databases:
        for engine, tables in databases:
            # A running bot would have to wait for it, and with it the deliveries.
            may_wait = tables is history or is_free or engine.dialect.name != "sqlite"
            if not may_wait or not clear_free_space(engine):
                name = Path(engine.url.database or "").name
                yield f"{name}: its free space is overwritten when nothing uses it. Stop the bot and run it again."


def _unreached(settings: Settings, redaction: Redaction) -> Iterator[str]:
    """The files of the state folder that still have the address, and the places that no program can see."""
    urls = (settings.database, settings.history_database)
    databases = [url.database or "" for url in urls if url.get_backend_name() == "sqlite"]
    searched = {Path(name + ending).resolve() for name in databases for ending in ("", "-wal", "-shm")}
    for file in sorted(path for path in settings.state_dir.rglob("*") if path.is_file()):
        if file.resolve() not in searched:
            with contextlib.suppress(OSError):
                if redaction.is_in(file):
                    yield f"Not reached: {file}. Delete it."
    yield _ELSEWHERE


async def _erase(store: Store, traces: Traces) -> bool:
    """Erase the person in several rounds; True if something is left."""
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
    """Return how many messages are gone, and what Slack said of the others.

    https://docs.slack.dev/reference/methods/chat.delete
    """
    if not own:
        return 0, ()
    deleted, refusals = 0, list[str]()
    async with open_web_api(settings) as slack:
        for one in own:
            try:
                await slack.call("chat.delete", channel=one.channel, ts=one.ts)
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
    return ", ".join(texts) or "every mention"


def _result(traces: Traces, *, quoted: int, deleted: int, refusals: Sequence[str], left: bool) -> Result:
    """What was done about a person, and what is left; `quoted` rows stay, and had the address in their text."""
    own = [message for message in traces.messages if not message.shared]
    remaining, shared = len(own) - deleted, len(traces.messages) - len(own)
    texts = [f"Slack refused to delete {one}." for one in refusals]
    if remaining:
        count = show_number(remaining, "message")
        texts.append(f"Not deleted in Slack: {count} about this person. Delete them there.")
    if shared:
        count = show_number(shared, "message")
        texts.append(f"{count} also show other people: the bot redraws them without this one.")
    if quoted:
        count = show_number(quoted, "other record")
        texts.append(f"The address was removed from {count}; the bot redraws messages that quote it.")
    if left:
        texts.append("A running bot has stored something new about the person. Run it again.")
    card = Card(
        title=f"Erased what was stored about {traces.email}",
        tone=Tone.WARN if left or refusals else Tone.GOOD,
        text=tuple(texts),
        facts=(Fact(label="Erased", value=_listed(traces)),),
    )
    row = {
        "alerts": len(traces.alerts),
        "deliveries": len(traces.deliveries),
        "messages": len(traces.posts),
        "audit": len(traces.audit),
        "quoted": quoted,
        "slack_messages_deleted": deleted,
        "slack_messages_left": remaining + shared,
        "complete": not left,
    }
    return Result(card=card, rows=(row,))


_ELSEWHERE = (
    "Not reached: backups of the database, files of `import`, `export` and `report`, and the outreach service. Remove the "
    "lead there too (`outreach remove ADDRESS`), or its next event is stored again."
)
