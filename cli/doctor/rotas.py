"""Checks the people of the rotas with Slack, and the fields that name territories with the service's leads."""

from __future__ import annotations

import difflib
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from cli.doctor.finding import Finding, bad, doubtful, good
from shared.api.client import OutreachClient
from shared.api.errors import OutreachError
from shared.domain.rota import Rota
from shared.settings import CLAIM, Settings
from shared.text.sanitize import visible
from shared.text.slack_ids import split_id

if TYPE_CHECKING:
    from bot.slack.directory import UserDirectory
    from bot.slack.permissions import Person
    from bot.slack.web_api import WebApi

CHECK = "Rota"
LEADS = 100
"""Leads whose fields are compared with that of a territory."""


async def people(api: WebApi, settings: Settings) -> list[Finding]:
    """Whether each person in a rota of the Slack workspace of `api` is there, and may claim what they get."""
    from bot.slack.directory import UserDirectory

    directory = UserDirectory(api, groups=settings.roles.groups)
    named = {person: rota for rota in settings.routes.rotas.values() for person in rota.everybody}
    own = sorted(person for person in named if split_id(person)[0] == api.team)
    found = [await _person(directory, settings, one, named[one]) for one in own]
    wrong = [one for one in found if one]
    passed = [good(CHECK, f"Slack knows everyone in it ({len(own)}), and they can claim replies")]
    return wrong or (passed if own else [])


def _place(rota: Rota) -> str:
    return "[routes.rota]" if rota.name == "routes" else f"[routes.channels.{rota.name}.rota]"


async def _person(directory: UserDirectory, settings: Settings, person: str, rota: Rota) -> Finding | None:
    known = await directory.find(person)
    place = f"{_place(rota)} names {person}"
    if not known.is_known:
        near = await directory.nearest(person)
        hint = f"Did you mean {near}?" if near else "Copy the id from the profile's menu in Slack."
        return bad(CHECK, f"{place}, whom Slack doesn't know", fix=hint)
    who = f"{place} (@{visible(known.name)})"
    if known.is_deleted:
        return bad(CHECK, f"{who}, whose account is deactivated", fix="Remove them.")
    if not _may_claim(known, settings):
        return bad(CHECK, f"{who}, who can't claim replies", fix="Remove them, or allow it in [roles].")
    return None


def _may_claim(person: Person, settings: Settings) -> bool:
    from bot.slack import permissions
    from shared.commands import Role

    placed = permissions.with_role(person, rules=settings.roles, channel="")
    return permissions.may(placed, CLAIM, needed=Role.OPERATOR, rules=settings.roles)


async def territories(client: OutreachClient, settings: Settings) -> AsyncIterator[Finding]:
    """Whether the leads have the field by which a rota chooses."""
    wanted = {rota.lead_field: rota for rota in settings.routes.rotas.values() if rota.by == "territory"}
    if not wanted:
        return
    try:
        leads = (await client.list_leads(limit=LEADS)).items
    except OutreachError:
        return  # the check of the key says so
    known = sorted({name for lead in leads for name in _fields(lead.raw)})
    letters = {_letters(name): name for name in known}
    for name, rota in wanted.items():
        if not known or _letters(name) in letters:
            continue
        near = difflib.get_close_matches(_letters(name), letters, n=1)
        hint = (
            f"Did you mean {visible(letters[near[0]])}?"
            if near
            else f"Existing fields: {visible(', '.join(known))}."
        )
        yield doubtful(CHECK, f"{_place(rota)} chooses by {name}, which no lead has", fix=hint)


def _fields(values: Mapping[str, Any]) -> Iterable[str]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _fields(value)
        elif isinstance(value, str | int | float):
            yield str(name)


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name)).casefold()
