"""Two Slack workspaces and one bot: each sees what it may see, with its own token, people and channels."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from bot.alerts.rendering import write_note
from bot.blockkit.actions import line_of
from bot.slack import teams as slack_teams
from bot.store.db.schema import posts
from bot.store.queue.outbox import PlannedPost
from sandbox.slack import seed
from sandbox.slack.model import Json, Message
from shared.domain.card import Card
from tests.bot.fake_service import open_remote
from tests.bot.harness import TRANSPORTS, interested
from tests.bot.slack.oauth import FIRST, SECOND, Installed, oauth_bot, oauth_harness
from tests.waiting import until

GENERAL = "C0NORTH001"
ALERTS_OF_FIRST = f"{FIRST}/{seed.ALERTS}"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a shell changes is seen with the next request."""
    monkeypatch.setattr(slack_teams, "FRESH_SECONDS", 0.0)


@pytest.fixture(params=TRANSPORTS)
async def agency(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Installed]:
    """acme and globex in two Slack workspaces; acme's alerts come to #outreach-alerts of the first."""
    async with (
        open_remote("Q3 founders") as acme,
        open_remote() as globex,
        oauth_harness(tmp_path) as bot,
    ):
        bot.config_workspaces({"acme": acme.place(ALERTS_OF_FIRST), "globex": globex.place("")})
        if request.param == "socket":
            bot.use_socket_mode()
        async with oauth_bot(bot) as running:
            if request.param == "socket":
                await until(lambda: bot.slack.sockets.ready)
            await running.browser.install(FIRST)
            await running.browser.install(SECOND)
            yield running


def cards(agency: Installed, channel: str, *, team: str = SECOND) -> list[Message]:
    """The alerts in a channel."""
    world = agency.bot.slack.workspaces.by_id[team].world
    return [one for one in world.channels[channel].messages.values() if one.metadata]


def text_of(answers: list[dict[str, Any]]) -> str:
    return json.dumps(answers, ensure_ascii=False)


async def test_a_new_slack_workspace_has_no_access_until_someone_allows_it(
    agency: Installed,
) -> None:
    (refusal,) = await agency.say("sequences")
    assert f"outreach slack-workspaces grant {SECOND} @workspace" in refusal["text"]
    assert refusal["ephemeral"]
    await agency.teams.allow(SECOND, "globex")
    answer = text_of(await agency.say("sequences"))
    assert "globex" not in refusal["text"]
    assert "doesn't have access" not in answer


async def test_each_workspace_sees_the_outreach_workspaces_that_it_is_allowed(agency: Installed) -> None:
    await agency.teams.allow(FIRST, "acme")
    await agency.teams.allow(SECOND, "globex")
    assert "“globex”" in text_of(await agency.say("status @globex", team=FIRST))
    unknown = text_of(await agency.say("status @acme"))
    assert "“acme”" in unknown
    assert "known: globex" in unknown or "globex" in unknown
    assert "request" in text_of(await agency.say("status @acme", team=FIRST)).lower()
    assert "unknown workspace" not in text_of(await agency.say("status"))


async def test_an_uninstalled_workspace_gets_no_answer_and_posts_are_made_with_no_other_token(
    agency: Installed,
) -> None:
    await agency.teams.allow(FIRST, "acme")
    await agency.teams.remove(FIRST)
    (answer,) = await agency.say("status", team=FIRST)
    assert "isn't installed in this Slack workspace" in answer["text"]
    assert await agency.bot.deliver(interested(1), path="/acme") == 200
    await asyncio.sleep(0.5)
    for team in (FIRST, SECOND):
        world = agency.bot.slack.workspaces.by_id[team].world
        assert not [m for c in world.channels.values() for m in c.messages.values()]


async def test_alerts_go_to_the_channels_of_their_team_with_its_own_token(agency: Installed) -> None:
    """#sales and #pipeline have the same id."""
    await agency.teams.allow(FIRST, "acme")
    await agency.teams.allow(SECOND, "acme")
    card = text_of(await agency.say("subscribe reply.interested here @acme"))
    assert f"<#{seed.SALES}>" in card or "#pipeline" in card
    assert f"{SECOND}/" not in card
    assert await agency.bot.deliver(interested(1), path="/acme") == 200
    await until(lambda: cards(agency, seed.SALES) and cards(agency, seed.ALERTS, team=FIRST))
    assert not agency.texts(seed.SALES, team=FIRST)


async def test_a_claim_shows_in_other_slack_workspaces_and_is_not_shared_by_equal_ids(
    agency: Installed,
) -> None:
    """Ben and Nia have the same id, each in their own workspace."""
    await agency.teams.allow(FIRST, "acme")
    await agency.teams.allow(SECOND, "acme")
    await agency.say("subscribe reply.interested here @acme")
    await agency.bot.deliver(interested(1), path="/acme")
    await until(lambda: cards(agency, seed.SALES) and cards(agency, seed.ALERTS, team=FIRST))
    (message,) = cards(agency, seed.SALES)
    click: Json = {"user": "nia", "channel": "pipeline", "ts": message.ts, "text": "Claim", "wait": 10}
    await agency.control("click", **click)
    (first,) = cards(agency, seed.ALERTS, team=FIRST)
    await until(lambda: "nia" in json.dumps(first.blocks))
    assert agency.bot.running is not None
    held = agency.bot.running.store.alerts.claimed_by
    assert len(await held(f"{SECOND}/{seed.BEN.id}")) == 1
    assert not await held(f"{FIRST}/{seed.BEN.id}")
    view = (await agency.control("home/open", team=FIRST, user="ben", wait=5))["view"]
    assert "Ada 1" not in json.dumps(view)


def _claim(blocks: list[dict[str, Any]]) -> str:
    elements = [element for block in blocks for element in block.get("elements", ())]
    found = [one for one in elements if line_of(str(one.get("value", ""))).startswith("claim ")]
    return line_of(str(found[0]["value"]))


async def test_an_alert_of_another_outreach_workspace_cannot_be_claimed_by_its_id(agency: Installed) -> None:
    await agency.teams.allow(FIRST, "acme")
    await agency.teams.allow(SECOND, "globex")
    await agency.bot.deliver(interested(1), path="/acme")
    await until(lambda: cards(agency, seed.ALERTS, team=FIRST))
    (first,) = cards(agency, seed.ALERTS, team=FIRST)
    line = _claim(first.blocks)
    assert "Ada" not in text_of(await agency.say(line))
    for verb in ("lead", "reply", "ack", "handled"):
        assert "Ada" not in text_of(await agency.say(f"{verb} {line.split()[1]}"))
    assert agency.bot.running is not None
    alert = line.split()[1]
    assert await agency.bot.running.store.alerts.workspace_of(alert) == "acme"
    assert not await agency.bot.running.store.alerts.claimed_by(f"{SECOND}/{seed.BEN.id}")


@pytest.mark.parametrize("named", [f"<#{ALERTS_OF_FIRST}>", ALERTS_OF_FIRST, "#outreach-alerts"])
async def test_a_channel_of_another_workspace_cannot_be_named(agency: Installed, named: str) -> None:
    await agency.teams.allow(FIRST, "acme")
    await agency.teams.allow(SECOND, "acme")
    answer = text_of(await agency.say(f"subscribe all {named} @acme"))
    assert "isn't in this Slack workspace" in answer
    assert agency.bot.running is not None
    assert not await agency.bot.running.store.records.subscriptions("acme", "")


async def test_members_are_those_of_each_team_and_guests_from_the_other_change_nothing(
    agency: Installed,
) -> None:
    """Eva is Northwind's admin, and in the first workspace a stranger in a shared channel."""
    await agency.teams.allow(FIRST, "acme")
    await agency.teams.allow(SECOND, "acme")
    own = text_of(await agency.say("subscribe reply.interested here @acme", user="eva"))
    assert "now gets interested replies" in own
    foreign = text_of(await agency.say("subscribe reply.interested here @acme", team=FIRST, user="eva"))
    assert "other organizations" in foreign


async def test_a_disallowed_workspace_hears_and_sees_no_more(agency: Installed) -> None:
    await agency.teams.allow(FIRST, "acme")
    await agency.teams.allow(SECOND, "acme")
    await agency.teams.allow(SECOND, "globex")
    await agency.say("subscribe reply.interested here @acme")
    await agency.say("digest at 09:00 @acme")
    assert await agency.teams.disallow(SECOND, "acme")
    await agency.bot.deliver(interested(1), path="/acme")
    await until(lambda: cards(agency, seed.ALERTS, team=FIRST))
    await asyncio.sleep(0.3)
    assert not cards(agency, seed.SALES)
    assert agency.bot.running is not None
    records = agency.bot.running.store.records
    assert not await records.subscriptions("acme", "")
    assert await records.digest_at("acme", f"{SECOND}/{seed.SALES}") is None
    assert "“acme”" in text_of(await agency.say("status @acme"))


@pytest.mark.parametrize("agency", ["http"], indirect=True)
async def test_a_thread_of_a_disallowed_workspace_means_no_sequence_of_another(agency: Installed) -> None:
    """With one workspace left, a line needs no @NAME: the old card's sequence would be looked for there."""
    await agency.teams.allow(SECOND, "acme")
    await agency.teams.allow(SECOND, "globex")
    await agency.say("subscribe reply.interested here @acme")
    event = {"event": "reply.interested", "lead": {"email": "ada@acme.example"}, "sequence": "Q3 founders"}
    await agency.bot.deliver(json.dumps(event).encode(), path="/acme")
    await until(lambda: cards(agency, seed.SALES))
    (card,) = cards(agency, seed.SALES)
    await agency.teams.disallow(SECOND, "acme")
    said: Json = {"type": "app_mention", "user": seed.BEN.id, "text": f"<@{seed.BOT.id}> pause"}
    await agency.control("event", event={**said, "channel": seed.SALES, "ts": card.ts, "thread_ts": card.ts})
    answer = await until(lambda: next((t for t in agency.texts(seed.SALES) if "equence" in t[:40]), ""))
    assert "Which sequence?" in answer


async def test_an_alert_channel_of_a_team_that_may_not_see_the_workspace_gets_nothing(
    agency: Installed,
) -> None:
    await agency.bot.deliver(interested(1), path="/acme")
    await asyncio.sleep(0.5)
    assert not agency.texts(seed.ALERTS, team=FIRST)
    await agency.teams.allow(FIRST, "acme")
    assert agency.bot.running is not None
    await agency.bot.running.store.dead_letters.revive()
    agency.bot.running.signals.changed()
    await until(lambda: cards(agency, seed.ALERTS, team=FIRST))


async def removed_with_an_alert(agency: Installed) -> None:
    """The first workspace removed the bot, and an alert for it came afterwards."""
    await agency.teams.allow(FIRST, "acme")
    await agency.teams.remove(FIRST)
    await agency.bot.deliver(interested(1), path="/acme")
    assert agency.bot.running is not None
    leases = agency.bot.running.store.leases

    async def known() -> bool:
        return await leases.broken() == {ALERTS_OF_FIRST: "team_not_installed"}

    await until(known)
    assert (await leases.claim(limit=5)).next_in is None


@pytest.mark.parametrize("agency", ["http"], indirect=True)
async def test_an_alert_for_a_removed_workspace_is_posted_when_it_is_back_and_allowed(
    agency: Installed,
) -> None:
    await removed_with_an_alert(agency)
    assert agency.bot.running is not None
    dead_letters = agency.bot.running.store.dead_letters
    assert await dead_letters.revive() == 0
    await agency.browser.install(FIRST)
    assert await dead_letters.revive() == 0
    assert await agency.bot.running.store.leases.broken() == {}
    await agency.teams.allow(FIRST, "acme")
    assert await dead_letters.revive() == 1
    agency.bot.running.signals.changed()
    await until(lambda: cards(agency, seed.ALERTS, team=FIRST))


@pytest.mark.parametrize("agency", ["http"], indirect=True)
async def test_an_alert_for_a_removed_workspace_is_dropped_after_a_week(
    agency: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    await removed_with_an_alert(agency)
    assert agency.bot.running is not None
    store = agency.bot.running.store
    assert await store.dead_letters.drop_stranded() == {}
    now = store.database.clock()
    monkeypatch.setattr(store.database, "clock", lambda: now + 7 * 86_400 + 1)
    assert await store.dead_letters.drop_stranded() == {ALERTS_OF_FIRST: 1}
    assert (await store.records.summary("acme")).dead == 0


@pytest.mark.parametrize("agency", ["http"], indirect=True)
async def test_a_storm_of_alerts_without_access_has_no_summary(agency: Installed) -> None:
    await agency.teams.allow(FIRST, "globex")
    statuses = [await agency.bot.deliver(interested(number), path="/acme") for number in range(65)]
    assert set(statuses) == {200}
    assert agency.bot.running is not None
    records = agency.bot.running.store.records

    async def routed() -> bool:
        return (await records.summary("acme")).dead == 65

    await until(routed)
    assert not agency.texts(seed.ALERTS, team=FIRST)


@pytest.mark.parametrize("agency", ["http"], indirect=True)
async def test_alerts_without_access_delay_no_others(agency: Installed) -> None:
    """Dead letters of two outreach workspaces for one channel are revived each by itself."""
    await agency.browser.install(SECOND)
    assert agency.bot.running is not None
    store = agency.bot.running.store
    channel = f"{SECOND}/{seed.SALES}"
    for name in ("acme", "globex"):
        note = PlannedPost(dedupe=name, channel=channel, kind="note", note="{}", held_until=1e12)
        await store.outbox.plan(name, note)
    refuse = sa.update(posts).values(
        state="dead", error="team_not_allowed", note=write_note(Card(title="Hello"))
    )
    await store.database.write(lambda tx: tx.execute(refuse))
    await agency.teams.allow(SECOND, "acme")
    assert await store.dead_letters.revive() == 1
    assert await store.dead_letters.revive() == 0


@pytest.mark.parametrize(
    "order", [["app_uninstalled", "tokens_revoked"], ["tokens_revoked", "app_uninstalled"]]
)
async def test_uninstalling_cleans_up_whatever_the_order_of_its_events(
    agency: Installed, order: list[str]
) -> None:
    await agency.teams.allow(FIRST, "acme")
    await agency.teams.allow(SECOND, "acme")
    await agency.say("subscribe reply.interested here @acme")
    await agency.say("subscribe reply.interested here @acme", team=FIRST)
    agency.bot.slack.clock.advance(5)
    await agency.control("uninstall", order=order)
    await until(lambda: _known(agency, [FIRST]))
    assert agency.bot.running is not None
    left = await agency.bot.running.store.records.subscriptions("acme", "")
    assert [one.channel for one in left] == [f"{FIRST}/{seed.SALES}"]
    await agency.browser.install(SECOND)
    (refusal,) = await agency.say("status")
    assert "doesn't have access to an outreach workspace" in refusal["text"]


async def _known(agency: Installed, expected: list[str]) -> bool:
    return [team.id for team in await agency.teams.all()] == expected


async def test_a_late_uninstall_and_a_persons_own_token_leave_the_installation_alone(
    agency: Installed,
) -> None:
    before = await agency.teams.all()
    agency.bot.slack.second.events.fire("tokens_revoked", tokens={"oauth": [seed.EVA.id], "bot": []})
    late = {"type": "event_callback", "team_id": SECOND, "event_time": int(before[0].installed_at) - 60}
    agency.bot.slack.second.first.delivery.event(
        {**late, "event_id": "Ev1", "event": {"type": "app_uninstalled"}}
    )
    await asyncio.sleep(0.3)
    assert await agency.teams.all() == before


async def test_a_channel_that_moves_before_its_workspace_is_allowed_is_followed(agency: Installed) -> None:
    await agency.control("channel", team=FIRST, channel=seed.PRIVATE, id="C0SHARED07")
    assert agency.bot.running is not None
    events = agency.bot.running.store.slack_events

    async def known() -> bool:
        return await events.moved_channels() == {f"{FIRST}/{seed.PRIVATE}": f"{FIRST}/C0SHARED07"}

    await until(known)


async def test_home_of_a_workspace_shows_its_outreach_workspaces_only(agency: Installed) -> None:
    await agency.teams.allow(SECOND, "globex")
    await agency.bot.deliver(interested(1), path="/acme")
    view = json.dumps((await agency.control("home/open", user="nia", wait=5))["view"])
    assert "Ada 1" not in view
    assert "acme" not in view


async def test_a_form_names_the_channel_of_its_own_team(agency: Installed) -> None:
    await agency.teams.allow(SECOND, "acme")
    (answer,) = await agency.say("subscribe")
    click: Json = {
        "user": "nia",
        "channel": "pipeline",
        "ts": answer["ts"],
        "text": "Open form",
        "wait": 5,
    }
    view = (await agency.control("click", **click))["view"]
    (menu,) = [b["element"] for b in view["blocks"] if b.get("block_id") == "channel"]
    assert menu["initial_conversation"] == seed.SALES


async def test_a_mention_of_the_settings_calls_in_its_own_slack_workspace_alone(
    tmp_path: Path,
) -> None:
    async with open_remote("Q3 founders") as acme, oauth_harness(tmp_path) as bot:
        mention = f'[routes]\nmention = "{FIRST}/{seed.GROUPS[0].id}"\n'
        bot.config_workspaces({"acme": acme.place(ALERTS_OF_FIRST)}, text=mention)
        async with oauth_bot(bot) as agency:
            for team in (FIRST, SECOND):
                await agency.browser.install(team)
                await agency.teams.allow(team, "acme")
            await agency.say("subscribe reply.interested here")
            await agency.bot.deliver(interested(1))
            await until(lambda: cards(agency, seed.SALES) and cards(agency, seed.ALERTS, team=FIRST))
            (first,) = cards(agency, seed.ALERTS, team=FIRST)
            (second,) = cards(agency, seed.SALES)
    assert f"<!subteam^{seed.GROUPS[0].id}>" in first.text
    assert "subteam" not in json.dumps([second.text, second.blocks])
