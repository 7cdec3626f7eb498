"""Roles hold by person, group, command and channel."""

from __future__ import annotations

import pytest

from bot.slack.permissions import Person, Standing
from shared.commands import Role
from shared.settings.sections import Roles


def test_an_admin_of_another_workspace_is_an_admin_only_if_the_enterprise_made_them_one() -> None:
    home = {"team_id": "T1", "enterprise_id": "E1"}
    admin = {"id": "U1", "team_id": "T2", "is_admin": True}
    assert not Person.from_user(admin | {"enterprise_user": {"enterprise_id": "E1"}}, home=home).is_admin
    assert Person.from_user(
        admin | {"enterprise_user": {"enterprise_id": "E1", "is_owner": True}}, home=home
    ).is_admin
    assert not Person.from_user(admin, home=home).is_member
    assert not Person.from_user(admin | {"team_id": ""}, home={}).is_member


ANN = Person(id="U0ANN00001", name="ann", is_admin=True)
BEN = Person(id="U0BEN00002", name="ben", groups=frozenset({"S0SALES001"}))
GUEST = Person(id="U0CLEO0003", name="cleo", is_guest=True)
STRANGER = Person(id="U0EVA00004", name="eva", is_outsider=True)
BOT = Person(id="U0ROBOT005", name="robot", is_bot=True)
RULED = Roles(
    admin=frozenset({BEN.id}),
    operator=frozenset({GUEST.id}),
    commands={"remove": frozenset({"admin", ANN.id}), "pause": frozenset({"S0SALES001", BOT.id})},
    channels={"C0QUIET001": Role.READER, "C0PAUSE001": frozenset({"pause"}), "C0ADMIN001": Role.ADMIN},
    outsiders=frozenset({"C0OPEN0001"}),
)


@pytest.mark.parametrize(
    ("person", "rules", "name", "channel", "expected"),
    [
        (ANN, Roles(), "doctor", "C1", True),
        (BEN, Roles(), "doctor", "C1", False),
        (GUEST, Roles(), "audit", "C1", False),
        (GUEST, Roles(commands={"audit": frozenset({GUEST.id})}), "audit", "C1", True),
        (ANN, RULED, "pause", "C1", False),
        (ANN, RULED, "remove", "C1", True),
        (BEN, RULED, "pause", "C0PAUSE001", True),
        (BEN, RULED, "add", "C0PAUSE001", False),
        (BEN, RULED, "remove", "C0ADMIN001", True),
        (GUEST, RULED, "remove", "C1", False),
        (GUEST, RULED, "resume", "C1", True),
        (GUEST, RULED, "resume", "C0QUIET001", False),
        (GUEST, RULED, "resume", "C0ADMIN001", True),
        (BOT, RULED, "pause", "C1", False),
        (STRANGER, RULED, "status", "C0OPEN0001", True),
        (STRANGER, RULED, "audit", "C0OPEN0001", False),
        (STRANGER, Roles(operator=frozenset({STRANGER.id})), "pause", "C1", True),
    ],
)
def test_roles_hold_by_person_group_command_and_channel(
    person: Person, rules: Roles, name: str, channel: str, *, expected: bool
) -> None:
    assert Standing(person=person, rules=rules, channel=channel).may(name) is expected
