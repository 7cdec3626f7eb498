"""`outreach mcp token`: the tokens with which assistants sign in at the bot's `/mcp`."""

from __future__ import annotations

import getpass
from argparse import Namespace
from collections.abc import Sequence

from bot.store import Store
from bot.store.assistant_tokens import AssistantToken
from cli.console import card_output, exit_codes
from cli.console.resources import audit_entry, open_bot_store
from shared.commands.result import Result
from shared.commands.table import Role
from shared.domain.card import Card, Fact, Row, Table, Tone, columns
from shared.domain.wall_clock import moment
from shared.settings import Settings
from shared.text.formats import show_number

LONGEST_SECONDS = 366 * 86_400
LONGEST_NAME = 60


async def manage(settings: Settings, options: Namespace) -> int:
    """`create`, `list` or `revoke`."""
    if options.action is None:
        raise exit_codes.WrongUsage("say what to do with tokens: create, list or revoke")
    act = {"create": _create, "list": _list, "revoke": _revoke}[options.action]
    async with open_bot_store(settings) as store:
        return await act(store, settings, options)


async def _create(store: Store, settings: Settings, options: Namespace) -> int:
    name = " ".join((options.name or "").split())
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise exit_codes.WrongUsage(f"name the token, in up to {LONGEST_NAME} letters: mcp token create NAME")
    if options.expires > LONGEST_SECONDS:
        raise exit_codes.WrongUsage("a token is valid for at most 366 days: --expires 366d")
    named = [one.strip().removeprefix("@") for one in options.workspaces.split(",") if one.strip()]
    workspaces = [settings.workspace(one).name for one in named or [options.workspace]]
    secret, token = await store.assistant_tokens.create(
        name,
        role=Role(options.role),
        workspaces=workspaces,
        created_by=getpass.getuser(),
        seconds=options.expires,
    )
    for workspace in workspaces:
        line = f"mcp token create {token.id} --role {token.role}"
        await store.records.record(audit_entry(workspace, line, "created"))
    card = Card(
        title=f"Token {token.name} created",
        tone=Tone.GOOD,
        text=("Copy it now: it isn't shown again.",),
        facts=(
            Fact(label="Token", value=secret),
            Fact(label="Id", value=token.id),
            Fact(label="Role", value=token.role),
            Fact(label="Workspaces", value=_workspaces(token)),
            Fact(label="Expires", value=f"{moment(token.expires_at):%-d %b %Y}"),
        ),
    )
    rows = ({**_data(token), "token": secret},)
    return card_output.answer(Result(card=card, rows=rows), as_json=options.json)


async def _list(store: Store, settings: Settings, options: Namespace) -> int:
    known = await store.assistant_tokens.all()
    now = store.database.clock()
    card = Card(
        title=show_number(len(known), "token"),
        table=_table(known, now=now) if known else None,
        footer="Create one: outreach mcp token create NAME",
    )
    return card_output.answer(Result(card=card, rows=tuple(map(_data, known))), as_json=options.json)


def _table(known: Sequence[AssistantToken], *, now: float) -> Table:
    rows = tuple(
        Row(
            cells=(
                token.id,
                token.name,
                token.role.value,
                _workspaces(token),
                _state(token, now),
                f"{moment(token.used_at):%-d %b %Y}" if token.used_at else "never",
            )
        )
        for token in known
    )
    return Table(columns=columns("Id", "Name", "Role", "Workspaces", "Valid", "Last used"), rows=rows)


async def _revoke(store: Store, settings: Settings, options: Namespace) -> int:
    token = await store.assistant_tokens.revoke(options.name or "")
    if token is None:
        raise exit_codes.Failed("No valid token has this id. See them: outreach mcp token list")
    for workspace in token.workspaces:
        await store.records.record(audit_entry(workspace, f"mcp token revoke {token.id}", "revoked"))
    text = "Whoever uses it is refused from now on."
    card = Card(title=f"Token {token.name} revoked", tone=Tone.GOOD, text=(text,))
    return card_output.answer(Result(card=card), as_json=options.json)


def _state(token: AssistantToken, now: float) -> str:
    if token.revoked_at is not None:
        return "revoked"
    until = f"{moment(token.expires_at):%-d %b %Y}"
    return f"until {until}" if token.counts(now) else f"expired {until}"


def _workspaces(token: AssistantToken) -> str:
    return ", ".join(f"@{name}" for name in sorted(token.workspaces))


def _data(token: AssistantToken) -> dict[str, object]:
    return {
        "id": token.id,
        "name": token.name,
        "role": token.role.value,
        "workspaces": sorted(token.workspaces),
        "created_by": token.created_by,
        "created_at": moment(token.created_at).isoformat(),
        "expires_at": moment(token.expires_at).isoformat(),
        "revoked_at": moment(token.revoked_at).isoformat() if token.revoked_at is not None else None,
        "used_at": moment(token.used_at).isoformat() if token.used_at is not None else None,
    }
