"""Run one command of the table in a shell: parse, confirm, run, show."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cli.console import card_output, exit_codes
from cli.console.interactive import attended, confirm, progress_bar
from cli.console.resources import log_to_stderr, open_workspace
from shared.api.errors import OutreachError
from shared.commands import Command, Invocation, parse
from shared.commands.base import UNCHECKED, Arguments, CommandContext, InChannel, Place, Question, Result
from shared.commands.errors import failed_card
from shared.commands.leads import Lead, Remove
from shared.commands.pause import OnSequences
from shared.commands.run import run as run_command
from shared.domain.card import Card, warning
from shared.text.tokenize import quote

if TYPE_CHECKING:
    from bot.slack.directory import UserDirectory

PAGES_SEARCHED = 500
"""About a minute at the key's rate, with progress, and interruptible."""


def run(command: Command, options: Namespace) -> int:
    """Answer on stdout and return 0; a refusal goes to stderr and returns 1."""
    invocation = parse(line(command.verb, options.words))
    options.workspace = options.workspace or invocation.workspace
    invocation = replace(invocation, workspace=options.workspace)
    # Read first: some commands only read with some of their words.
    if invocation.changes and options.csv:
        raise exit_codes.WrongUsage(f"--csv works only with commands that read, like {command.verb} list")
    try:
        result = asyncio.run(_answer(invocation, options))
    except OutreachError as error:
        raise exit_codes.Refused(failed_card(error, invocation)) from None
    changes = invocation.changes
    result = _with_change(result, invocation.arguments) if changes else _first(result, options.limit)
    # A quiet change prints nothing unless it fails.
    return card_output.answer(result, options, is_silent=changes and options.quiet)


def line(name: str, words: Sequence[str]) -> str:
    return " ".join([name, *map(_quoted, words)])


def _quoted(word: str) -> str:
    """Quote a word unless it is plain; a field keeps its name before the quote: `title="VP Sales"`."""
    if word and not any(c.isspace() or c in "\"'“”„«»‘’‚\\" for c in word):
        return word
    # The shell has removed the quotes, which the reader of commands needs.
    if field := re.match(r"[\w.-]+=", word):
        return field[0] + quote(word[field.end() :])
    return quote(word)


async def _answer(invocation: Invocation, options: Namespace) -> Result:
    async with contextlib.AsyncExitStack() as stack:
        context = replace(
            await stack.enter_async_context(open_workspace(options)),
            unseen=options.yes,
            limit=options.limit,
            pages_searched=PAGES_SEARCHED,
            find_place=_take_unchecked,
        )
        directory = None
        is_in_channel = isinstance(invocation.arguments, InChannel)
        if is_in_channel and context.settings.slack.bot_token:
            from bot.slack.directory import UserDirectory
            from bot.slack.web_api import open_web_api

            log_to_stderr()
            slack = context.settings.slack
            directory = UserDirectory(await stack.enter_async_context(open_web_api(slack)))
            context = replace(context, find_place=directory.find_place)
            invocation = await _with_channel_id(invocation, directory)
        # It ends before a question is asked: both write on the terminal.
        with contextlib.ExitStack() as bar:
            if isinstance(invocation.arguments, Lead | Remove):
                context = replace(context, progress=bar.enter_context(progress_bar("leads searched")))
            done = await run_command(invocation, context)
        while isinstance(done, Question):
            done = await _confirmed(done, context)
        if is_in_channel:
            done = replace(done, card=await _with_channel_names(done.card, directory))
        return done


async def _take_unchecked(channel: str) -> Place:
    return Place(channel=channel, note=f"{UNCHECKED} Set SLACK_BOT_TOKEN to have it checked.")


async def _with_channel_id(invocation: Invocation, directory: UserDirectory) -> Invocation:
    """The line with the id of the channel that it names, as the database has it; raises `Refused` for an unknown one."""
    named = invocation.arguments
    assert isinstance(named, InChannel)
    if not named.channel.startswith("#"):
        return invocation
    place = await directory.locate(named.channel)
    if place.refusal:
        raise exit_codes.Refused(warning(place.refusal, place.fix))
    named = replace(named, channel=place.channel)
    return replace(invocation, arguments=named, line=named.line)


async def _with_channel_names(card: Card, directory: UserDirectory | None) -> Card:
    """The card with channels as `#name`, or as ids where Slack doesn't tell, and never as Slack's markup."""
    from bot import blockkit

    names = {channel: channel for channel in blockkit.channels_in(card)}
    if directory:
        for channel in names:
            place = await directory.channel(channel)
            if place and place.name:
                names[channel] = f"#{place.name}"
    return blockkit.with_channel_names(card, names)


async def _confirmed(question: Question, context: CommandContext) -> Result | Question:
    """Show what would be done, and do exactly that after a yes."""
    card, choice = question.card, question.choices[0]
    if question.is_open:
        return Result(card=card, problem="not confirmed")
    if not context.unseen:
        text = card.summary  # the log of a script gets one line with the cure, and no card
        if attended():
            card_output.show(card, stream=sys.stderr)
            text = f"{choice.label}?"
        confirm(text, yes=False)
    return await run_command(Invocation(arguments=choice.act, line=question.line), context)


def _with_change(result: Result, arguments: Arguments) -> Result:
    """The data of a change: what it was made to, until when, whether it was made, and the answer's sentences."""
    if result.problem:
        # With `--json` a script reads an empty array; the reason is on stderr.
        return replace(result, rows=())
    about = {"changed": result.changed, "message": result.card.title, "details": list(result.card.text)}
    ends: dict[str, object] = {}
    if isinstance(arguments, OnSequences):
        ends["paused_until"] = result.until.isoformat() if result.until else None
    return replace(result, rows=tuple({**about, **row, **ends} for row in result.rows or ({},)))


def _first(result: Result, limit: int | None) -> Result:
    """The answer with its first entries alone, where `--limit` says how many."""
    if limit is None or result.problem:
        return result
    card = result.card
    table = card.table
    if table is not None and len(table.rows) > limit:
        total = table.total or len(table.rows)
        card = replace(card, table=replace(table, rows=table.rows[:limit], total=total))
    return replace(result, rows=result.rows[:limit], card=card)
