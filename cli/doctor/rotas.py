"""Checks the people of the rotas with Slack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.doctor.finding import Finding, bad, good
from shared.domain.rota import Rota
from shared.settings import CLAIM, Settings
from shared.text.sanitize import visible

if TYPE_CHECKING:
    from bot.slack.directory import UserDirectory
    from bot.slack.permissions import Person
    from bot.slack.web_api import WebApi

CHECK = "Rota"


async def people(api: WebApi, settings: Settings) -> list[Finding]:
    """Check that each person in a rota is there, and may claim what they get."""
    from bot.slack.directory import UserDirectory

    directory = UserDirectory(api, groups=settings.roles.groups)
    named = {person: rota for rota in settings.routes.rotas.values() for person in rota.people}
    own = sorted(named)
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
