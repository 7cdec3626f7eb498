"""Looking up who replied, and the whole reply, from an alert's card; over HTTP and by Socket Mode."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.slack import seed
from sandbox.slack.views import top_view
from tests.bot.fake_service import Remote, open_remote
from tests.bot.harness import TRANSPORTS, BotHarness
from tests.bot.interactions.alert_bot import card, choose, click, mention, open_bot, shown
from tests.kit.waiting import until

NAME = "Q3 founders"
LONG = "Yes, Thursday works for us. " * 90
QUOTE = "On Tue, 3 Nov 2026 at 10:12, Sam <sam@mail.example> wrote:\n> Hi Ada,\n> do you have time?"


@pytest.fixture
async def remote() -> AsyncIterator[Remote]:
    async with open_remote() as opened:
        key = opened.add(NAME)
        opened.leads = [
            {"id": f"ld_{n}", "email": f"ada{n}@acme.example", "status": "active", "sequence_id": key}
            for n in range(1_500)
        ]
        opened.leads[1_400] |= {"status": "interested", "first_name": "Ada", "last_name": "Lovelace"}
        yield opened


@pytest.fixture(params=TRANSPORTS)
async def bot(request: pytest.FixtureRequest, remote: Remote, tmp_path: Path) -> AsyncIterator[BotHarness]:
    async with open_bot(tmp_path, request.param, OUTREACH_BASE_URL=remote.url) as opened:
        yield opened


def details_of(message: dict[str, Any]) -> str:
    """The label of the menu's last entry."""
    elements = [one for block in message["blocks"] for one in block.get("elements", ())]
    return str(next(one for one in elements if one["type"] == "overflow")["options"][-1]["text"]["text"])


async def modal(bot: BotHarness, words: str, user: str = seed.BEN.id) -> dict[str, Any]:
    """The view that is open, once it shows the text."""

    async def there() -> dict[str, Any] | None:
        view = top_view(bot.slack.workspace, user)
        return view if view and words in json.dumps(view, ensure_ascii=False) else None

    return dict(await until(there))


async def test_view_lead_shows_who_just_replied_in_a_modal_after_one_request(
    bot: BotHarness, remote: Remote
) -> None:
    message = await card(bot, 1_400)
    await mention(bot, message, "done")
    await choose(bot, await shown(bot, message, "done by @ben"), "View lead", user=seed.BEN.id)
    view = json.dumps(await modal(bot, "Ada Lovelace"))
    # By the status that the event implies, the lead is on the first page, and not behind 1,400 others.
    assert {query.get("status") for query in remote.asked} == {"interested"}
    for words in (NAME, '"2"', "Yes, call me.", "done", "Open card", "ada1400%40acme.example"):
        assert words in view
    assert f"/archives/{message['channel']}/p{message['ts'].replace('.', '')}" in view
    assert "mailto:ada1400@acme.example?body=" in view


async def test_the_details_show_the_whole_reply_with_the_mail_it_quotes(bot: BotHarness) -> None:
    message = await card(bot, reply=f"{LONG}\n\n{QUOTE}")
    drawn = json.dumps(message["blocks"])
    assert "do you have time" not in drawn
    await click(bot, message, details_of(message), user=seed.BEN.id)
    view = await modal(bot, "do you have time")
    texts = "".join(
        leaf.get("text", "")
        for block in view["blocks"]
        if block["type"] == "rich_text"
        for part in block["elements"]
        for leaf in part["elements"]
    )
    assert f"{LONG}\n\n{QUOTE}" in texts


async def test_people_of_other_organizations_read_no_more_than_the_card(bot: BotHarness) -> None:
    await bot.control("members", channel=seed.ALERTS, invite=seed.EVA.id)
    message = await card(bot, reply=f"Yes.\n\n{QUOTE}")
    await click(bot, message, details_of(message), user=seed.EVA.id)
    view = await modal(bot, "other organization", seed.EVA.id)
    assert "do you have time" not in json.dumps(view)
