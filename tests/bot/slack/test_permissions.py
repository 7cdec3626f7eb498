"""People read and change in Slack what their role allows, through the stand-in: outsiders, bots, guests, and old Undo buttons."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.slack import directory
from bot.slack.manifest import manifest
from bot.slack.permissions import Person, Standing
from sandbox.slack import seed
from shared.commands import Role
from shared.settings.sections import Roles
from tests.bot.fake_service import KEY, Remote
from tests.bot.harness import CHANNEL, BotHarness, bot_inside, open_harness
from tests.kit.team import HASTE
from tests.kit.waiting import until

NAME = "Q3 founders"
SEQUENCES = (NAME, "Q3 CTO")
ELSEWHERE, OURS = "E0NORTHWND", "E0OUTBOUND"
ROBOT, LATER_GUEST = "U0ROBOT007", seed.CLEO.id
EVA = {"user": seed.EVA.id, "channel": seed.SALES}
READING = (
    "status", "lead ada@acme.example", "subscriptions", "audit", "whoami", "help", "sequences @acme",
)  # fmt: skip


@pytest.fixture
async def bot(tmp_path: Path, remote: Remote) -> AsyncIterator[BotHarness]:
    """One workspace, whose alert channel is #outreach-alerts."""
    async with open_harness(tmp_path, OUTREACH_BASE_URL=remote.url) as opened:
        await opened.control("manifest", **manifest())
        async with bot_inside(opened, pace=HASTE):
            yield opened


@pytest.fixture
async def agency(tmp_path: Path, remote: Remote, request: pytest.FixtureRequest) -> AsyncIterator[BotHarness]:
    """Two workspaces: globex, whose alert channel #sales is shared with Northwind, and acme."""
    async with open_harness(tmp_path) as opened:
        places = {
            name: (remote.url, KEY, channel) for name, channel in (("acme", CHANNEL), ("globex", seed.SALES))
        }
        opened.config_workspaces(places, text=getattr(request, "param", ""))
        await opened.control("manifest", **manifest())
        async with bot_inside(opened, pace=HASTE):
            yield opened


IN_SALES = pytest.mark.parametrize("agency", [f'[roles]\noutsiders = ["{seed.SALES}"]'], indirect=True)


def words(shown: object) -> str:
    return json.dumps(shown, ensure_ascii=False)


@pytest.mark.parametrize("stranger", [True, False])
@pytest.mark.parametrize("enterprise", ["", OURS])
async def test_an_admin_of_another_enterprise_organization_can_change_nothing(
    bot: BotHarness, remote: Remote, enterprise: str, *, stranger: bool
) -> None:
    await bot.control("settings", enterprise_id=enterprise)
    await bot.control("user", user=seed.EVA.id, enterprise_id=ELSEWHERE, is_admin=True, is_stranger=stranger)
    (answer,) = await bot.say(f"pause {NAME}", **EVA)
    assert "other organizations" in words(answer)
    (answer,) = await bot.say("doctor", **EVA)
    assert "other organizations" in words(answer)
    assert remote.patched == []


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
        (BEN, Roles(), "pause", "C1", True),
        (GUEST, Roles(), "pause", "C1", False),
        (GUEST, Roles(), "status", "C1", True),
        (GUEST, Roles(), "audit", "C1", False),
        (GUEST, Roles(commands={"audit": frozenset({GUEST.id})}), "audit", "C1", True),
        (replace(ANN, is_known=False), Roles(), "status", "C1", False),
        (ANN, RULED, "pause", "C1", False),
        (ANN, RULED, "remove", "C1", True),
        (BEN, RULED, "remove", "C1", True),
        (BEN, RULED, "pause", "C1", True),
        (BEN, RULED, "pause", "C0PAUSE001", True),
        (BEN, RULED, "add", "C0PAUSE001", False),
        (BEN, RULED, "remove", "C0ADMIN001", True),
        (GUEST, RULED, "remove", "C1", False),
        (GUEST, RULED, "resume", "C1", True),
        (GUEST, RULED, "resume", "C0QUIET001", False),
        (GUEST, RULED, "resume", "C0ADMIN001", True),
        (GUEST, RULED, "status", "C0QUIET001", True),
        (BOT, RULED, "pause", "C1", False),
        (STRANGER, RULED, "status", "C1", False),
        (STRANGER, RULED, "status", "C0OPEN0001", True),
        (STRANGER, RULED, "audit", "C0OPEN0001", False),
        (STRANGER, RULED, "pause", "C0OPEN0001", False),
        (STRANGER, Roles(operator=frozenset({STRANGER.id})), "pause", "C1", True),
    ],
)
def test_roles_hold_by_person_group_command_and_channel(
    person: Person, rules: Roles, name: str, channel: str, *, expected: bool
) -> None:
    assert Standing(person=person, rules=rules, channel=channel).may(name) is expected


async def test_a_bot_that_mentions_ours_can_read_but_not_change_anything(
    bot: BotHarness, remote: Remote
) -> None:
    await bot.control("user", user=ROBOT, name="robot", is_bot=True)
    assert "Bots can't change anything" in await mention(bot, f"pause {NAME}", user=ROBOT)
    assert NAME in await mention(bot, "sequences", user=ROBOT)
    assert remote.patched == []


async def test_a_message_posted_by_an_app_in_a_members_name_changes_nothing(
    bot: BotHarness, remote: Remote
) -> None:
    answer = await mention(bot, f"pause {NAME}", user=seed.BEN.id, bot_id="B0WORKFLOW")
    assert "Bots can't change anything" in answer
    assert remote.patched == []


async def mention(bot: BotHarness, line: str, **event: str) -> str:
    """An app_mention as Slack sends it for what is not typed by a person, and what its thread then says."""
    ts = (await bot.control("message", text="by an app", channel=CHANNEL))["message"]["ts"]
    fields = {"type": "app_mention", "text": f"<@{seed.BOT.id}> {line}", "channel": CHANNEL, "ts": ts}
    await bot.control("event", event={**fields, **event})
    url, which = f"{bot.slack.origin}/control/messages", {"channel": CHANNEL, "thread_ts": ts}

    async def answered() -> str:
        async with bot.http.get(url, params=which) as answer:
            found = (await answer.json())["messages"]
        return words(found) if len(found) > 1 else ""

    return str(await until(answered))


@pytest.mark.usefixtures("asked_anew")
async def test_someone_who_became_a_guest_cannot_confirm_and_can_once_a_member_again(
    bot: BotHarness, remote: Remote
) -> None:
    (question,) = await bot.say("pause all", user=LATER_GUEST)
    await bot.control("user", user=LATER_GUEST, is_restricted=True)
    (answer,) = await bot.press(question, "Pause all 2", user=LATER_GUEST)
    assert "Guests of this Slack workspace can view" in words(answer)
    assert remote.patched == []
    await bot.control("user", user=LATER_GUEST, is_restricted=False)
    await bot.press(question, "Pause all 2", user=LATER_GUEST)
    await bot.public_message("2 sequences paused")


@pytest.fixture
def asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slack is asked about a person each time, and not once a minute."""
    monkeypatch.setattr(directory, "PERSON_SECONDS", 0.0)


async def test_people_of_other_organizations_read_nothing_by_default(agency: BotHarness) -> None:
    for line in READING:
        (answer,) = await agency.say(line, **EVA)
        assert answer["seen_by"] == seed.EVA.id, line
        assert "don't have access in this channel" in words(answer), line
        assert not any(name in words(answer) for name in (NAME, "acme", "globex")), line


@IN_SALES
async def test_an_admin_opens_a_channels_own_workspace_to_people_of_other_organizations(
    agency: BotHarness, remote: Remote
) -> None:
    (answer,) = await agency.say("sequences", **EVA)
    assert NAME in words(answer)
    (answer,) = await agency.say("sequences @globex", **EVA)
    assert NAME in words(answer)
    (answer,) = await agency.say("subscriptions", **EVA)
    assert "Interested replies" in words(answer)
    for line in (
        "sequences @acme",
        "sequences @nobody",
        "subscriptions #outreach-alerts",
        "audit",
        "status @acme",
    ):
        (answer,) = await agency.say(line, **EVA)
        assert "other organizations can view" in words(answer), line
        assert not any(name in words(answer) for name in (NAME, "globex")), line
    (answer,) = await agency.say(f"pause {NAME}", **EVA)
    assert "not change anything" in words(answer)
    assert remote.patched == []


@IN_SALES
async def test_home_and_forms_show_people_of_other_organizations_nothing(agency: BotHarness) -> None:
    view = await agency.home(seed.EVA.id)
    assert "other organizations" in words(view)
    assert not any(name in words(view) for name in (NAME, "acme", "globex"))
    done = await agency.control(
        "shortcut", callback_id="pause_form", user=seed.EVA.id, channel=seed.SALES, wait=5
    )
    assert "other organizations" in words(done["view"])
    assert not any(name in words(done["view"]) for name in (NAME, "acme", "globex"))


@IN_SALES
async def test_a_person_of_whom_slack_says_nothing_reads_nothing(agency: BotHarness) -> None:
    await agency.control("faults", method="users.info", kind="error", error="internal_error", times=None)
    (answer,) = await agency.say("sequences", user=seed.BEN.id)
    assert "didn't say who you are" in words(answer)
