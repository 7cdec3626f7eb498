"""`outreach forget`: erases a person from everything that the bot stored, and says what it can't reach."""

from __future__ import annotations

import asyncio
import contextlib
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa

from bot.slack.web_api import SlackError, open_web_api
from cli.console import exit_codes
from cli.console.interactive import confirm
from cli.console.resources import log_to_stderr, record
from shared.commands.base import Result
from shared.domain.card import Card, Fact, Tone
from shared.history.history import metadata as history
from shared.settings import Settings, load
from shared.storage.database import temporary_engine
from shared.storage.redaction import Key, Redaction, clear_free_space, mentions, redact
from shared.store import Store, open_store
from shared.store.db.engine import portions, sole_owner
from shared.store.db.schema import deliveries, metadata
from shared.store.deliveries import address
from shared.store.erasure import PostedMessage, Traces
from shared.text.formats import show_number

ROUNDS = 3
"""A running bot may write about the person meanwhile; after so many looks, that is said."""
LOOKS, LOOK_SECONDS = 60, 0.25
"""A running bot may be posting about the person: so often is looked whether it knows how that ended."""
T = TypeVar("T")
GONE = "message_not_found"
_WORDS = {
    "alerts": "alert",
    "deliveries": "stored text",
    "posts": "message",
    "questions": "open confirmation",
    "audit": "audit line",
}
"""The rows of the bot's tables, in words."""
ELSEWHERE = (
    "Not reached: backups of the database, files of `import`, `export` and `report`, and the outreach service. Remove the "
    "lead there too (`outreach remove ADDRESS`), or its next event is stored again."
)


async def run(options: Namespace) -> Result:
    """`ADDRESS [--slack] [--yes] [--json]`."""
    email = options.address.strip()
    if "@" not in email.strip("@") or any(sign.isspace() for sign in email):
        raise exit_codes.WrongUsage(f"{email or 'an empty text'} isn't an email address")
    settings, redaction = load(config=options.config), Redaction(address(email))
    async with open_store(settings.database) as store:
        traces = await store.erasure.find(email)
        if not traces and not any(
            await asyncio.to_thread(_in_databases, settings, partial(mentions, redaction=redaction))
        ):
            title = f"Nothing is stored about {email}"
            return Result(card=Card(title=title, text=tuple(_unreached(settings, redaction))))
        stay = (
            "" if options.slack else " The bot can't find its messages in Slack then (--slack deletes them)."
        )
        confirm(f"Erase {_listed(traces)} of {email}? It can't be undone.{stay}", yes=options.yes)
        traces = await _settled(store, traces)
        own = [message for message in traces.messages if not message.shared]
        # Before the records, which alone know where the messages are: interrupted here, it can be run again.
        kept_in_slack = await _delete_messages(own, settings) if own and options.slack else []
        deleted = len(own) - len(kept_in_slack) if options.slack else 0
        is_complete = await _erase(store, traces)
        # From what stays: other people's texts, the history of leads, notes.
        quoted: dict[str, Sequence[Key]] = {}
        redacting = partial(redact, redaction=redaction)
        for changes in await asyncio.to_thread(_in_databases, settings, redacting):
            quoted |= changes
        for some in portions([number for (number,) in quoted.get(deliveries.name, ())]):
            await store.erasure.redraw(some)
        # Counts alone: the audit log must not name who was erased.
        erased = f"erased a person: {_listed(traces)}, and {show_number(deleted, 'message')} in Slack"
        await record(store, settings.workspace(), "forget", erased)
    shared = len(traces.messages) - len(own)
    left = len(own) - deleted
    changed = sum(map(len, quoted.values()))
    sentences = {
        "Not deleted in Slack: {} about this person. Delete them there.": left,
        "Not reached: {} whose posting had no known end. Look for this person there.": traces.on_their_way,
        "{} also show other people: the bot redraws them without this one.": shared,
    }
    texts = [text.format(show_number(count, "message")) for text, count in sentences.items() if count]
    if changed:
        removed = f"The address was removed from {show_number(changed, 'other record')}"
        texts.append(f"{removed}; the bot redraws messages that quote it.")
    if not is_complete:
        texts.append("A running bot has stored something new about the person. Run it again.")
    texts += [
        *kept_in_slack,
        *await asyncio.to_thread(_clear, settings),
        *_unreached(settings, redaction),
    ]
    card = Card(
        title=f"Erased what was stored about {email}",
        tone=Tone.GOOD if is_complete and not (kept_in_slack or traces.on_their_way) else Tone.WARN,
        text=tuple(texts),
        facts=(Fact("Erased", _listed(traces)),),
    )
    rows = {
        "alerts": len(traces.rows["alerts"]),
        "deliveries": len(traces.rows["deliveries"]),
        "messages": len(traces.rows["posts"]),
        "audit": len(traces.rows["audit"]),
        "quoted": changed,
        "slack_messages_deleted": deleted,
        "slack_messages_left": left + shared + traces.on_their_way,
        "complete": is_complete,
    }
    return Result(card=card, rows=(rows,))


def _in_databases(settings: Settings, act: Callable[[sa.Engine, sa.MetaData], T]) -> list[T]:
    """What `act` gives for the bot's database and for the dashboard's history, as far as they are there."""
    given = []
    own = settings.database, settings.database_file, metadata
    for url, file, tables in (own, (settings.history_database, settings.history_file, history)):
        if file is None or file.exists():
            with temporary_engine(url) as engine:
                given.append(act(engine, tables))
    return given


def _clear(settings: Settings) -> Sequence[str]:
    """Overwrite what SQLite keeps of deleted rows; names what could not be, because a program uses the file."""

    def clear(engine: sa.Engine, tables: sa.MetaData) -> str:
        # A running bot would have to wait for it, and with it the deliveries.
        may_wait = tables is history or is_free or engine.dialect.name != "sqlite"
        if may_wait and clear_free_space(engine):
            return ""
        name = Path(engine.url.database or "").name
        return f"{name}: its free space is overwritten when nothing uses it. Stop the bot and run it again."

    with sole_owner(settings.database) as is_free:
        return list(filter(None, _in_databases(settings, clear)))


def _unreached(settings: Settings, redaction: Redaction) -> Iterator[str]:
    """The files of the state folder that still have the address, and the places that no program can see."""
    databases = filter(None, (settings.database_file, settings.history_file))
    searched = {Path(f"{file}{ending}").resolve() for file in databases for ending in ("", "-wal", "-shm")}
    for file in sorted(path for path in settings.state_dir.rglob("*") if path.is_file()):
        with contextlib.suppress(OSError):
            if file.resolve() not in searched and redaction.is_in(file):
                yield f"Not reached: {file}. Delete it."
    yield ELSEWHERE


async def _settled(store: Store, traces: Traces) -> Traces:
    """The traces once no message is on its way to Slack: erased before, its place would never be known."""
    for _look in range(LOOKS):
        if not traces.on_their_way:
            break
        await asyncio.sleep(LOOK_SECONDS)
        traces = await store.erasure.find(traces.email)
    return traces


async def _erase(store: Store, traces: Traces) -> bool:
    """Erase the person in several rounds; False if something is left."""
    for _round in range(ROUNDS):
        await store.erasure.erase(traces)
        traces = await store.erasure.find(traces.email)
        if not traces:
            return True
    return False


async def _delete_messages(own: Sequence[PostedMessage], settings: Settings) -> list[str]:
    """Delete the messages; gives a sentence for each that Slack kept.

    https://docs.slack.dev/reference/methods/chat.delete
    """
    refusals = []
    log_to_stderr()
    async with open_web_api(settings.slack) as slack:
        for message in own:
            try:
                await slack.call("chat.delete", channel=message.channel, ts=message.ts)
            except SlackError as error:
                if error.code != GONE:
                    refusals.append(f"Slack refused to delete {message.channel} {message.ts}: {error.code}.")
    return refusals


def _listed(traces: Traces) -> str:
    counts = [
        show_number(len(traces.rows[table]), word) for table, word in _WORDS.items() if traces.rows[table]
    ]
    return ", ".join(counts) or "every mention"
