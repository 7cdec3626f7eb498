"""`leads`, `lead`, `add` and `remove`, over the real client."""

from __future__ import annotations

import httpx
import pytest

from shared.commands import UsageError, parse
from shared.commands.leads import Add
from shared.domain.card import Tone
from shared.records import Actor
from tests.kit.commands import CommandHarness, facts, text


async def results(harness: CommandHarness) -> list[str]:
    return [entry.result for entry in await harness.entries()]


async def reply_of(harness: CommandHarness, email: str) -> None:
    """Have an interested reply come, which Ben has claimed."""
    quoted = "Yes, call me.\n\nOn Tue, 3 Nov 2026, Sam <sam@mail.example> wrote:\n> Hi"
    lead = {"email": email, "first_name": "Ann", "last_name": "Lee", "company": "New"}
    await harness.deliver("reply.interested", email, lead=lead, sequence="Q3 CTO", step=2, reply=quoted)
    ben = Actor(name="ben", id="U2", face="slack")
    await harness.store.alerts.act((await harness.ids())[email], "claim", ben)


def many_leads(harness: CommandHarness) -> None:
    harness.service.leads = [
        {"id": f"ld_{n}", "email": f"p{n}@acme.com", "status": "active"} for n in range(2100)
    ]


async def test_a_choice_of_sequences_keeps_the_status(harness: CommandHarness) -> None:
    card = await harness.say("leads q3 replied")
    assert [button.line for button in card.buttons] == ["leads sq_1 replied", "leads sq_2 replied"]


async def test_a_lead_is_found_by_address_or_id_on_a_later_page(harness: CommandHarness) -> None:
    harness.service.leads[240]["plan"] = "pro"
    card = await harness.say("lead P240@ACME.com")
    assert facts(card)["plan"] == "pro"
    assert card.buttons[0].line == "remove ld_240"
    assert (await harness.say("lead ld_3")).title == "P3"
    assert len(harness.service.asked("GET")) == (1 + 3) + (1 + 1), "the interested ones first"


async def test_the_search_stops_and_says_where(harness: CommandHarness) -> None:
    # The API has no look-up of a lead: its pages are read, as many as ten requests a second allow.
    many_leads(harness)
    card = await harness.say("lead p2050@acme.com")
    assert "Searched 2,000 leads: the newest of all and of each status." in text(card)
    assert card.tone is Tone.UNKNOWN


async def test_an_old_lead_is_found_among_those_of_its_status(harness: CommandHarness) -> None:
    many_leads(harness)
    harness.service.leads[2050]["status"] = "bounced"
    card = await harness.say("lead p2050@acme.com")
    assert [row["id"] for row in card.data or ()] == ["ld_2050"]
    question = await harness.say(card.buttons[0].line)
    assert [one.label for one in question.buttons] == ["Remove"]


async def test_add_to_a_shared_beginning_keeps_the_fields_in_the_choice(harness: CommandHarness) -> None:
    card = await harness.say('add ann@new.com to q3 first_name="Ann Marie"')
    chosen = parse(card.buttons[1].line)
    assert chosen.arguments == Add(email="ann@new.com", target=("sq_2",), fields={"first_name": "Ann Marie"})
    assert harness.service.asked("POST") == []


async def test_an_empty_response_is_no_success(harness: CommandHarness) -> None:
    # A 201 that counts nothing says nothing about the lead.
    with harness.failing("POST /leads", httpx.Response(201, json={})):
        card = await harness.say("add ann@new.com to sq_1")
    assert card.tone is Tone.WARN


async def test_remove_of_an_unseen_id_still_asks(harness: CommandHarness) -> None:
    # Only the newest leads are read: an id that isn't among them may exist all the same.
    card = await harness.say("remove ld_old")
    gone = await harness.answer(card)
    assert (gone.title, gone.tone) == ("ld_old isn't in this workspace", Tone.WARN)
    assert await results(harness) == ["refused: not found"]


async def test_one_address_of_two_leads_is_a_choice(harness: CommandHarness) -> None:
    # In two sequences one address is two leads, each with an id of its own.
    harness.service.leads[5]["email"] = "p4@acme.com"
    card = await harness.say("remove p4@acme.com")
    assert [button.line for button in card.buttons] == ["remove ld_4", "remove ld_5"]
    assert harness.service.asked("DELETE") == []


async def test_a_recent_reply_is_found_with_one_request(
    harness: CommandHarness,
) -> None:
    harness.service.leads[240]["status"] = "interested"
    await reply_of(harness, "p240@acme.com")
    card = await harness.say("lead p240@acme.com")
    by_label = facts(card)
    stands = "claimed by @ben after 0 s"
    assert (by_label["Sequence"], by_label["Step"], by_label["Reply"]) == ("Q3 CTO", "2", stands)
    assert card.quote == "Yes, call me."
    assert [one for one in harness.service.asked("GET") if one == "/leads"] == ["/leads"]
    # The reply says that the lead is interested, so that the first page of those is enough.
    assert harness.service.requests[-1].values == {"status": "interested", "limit": "100"}


async def test_a_lead_is_found_by_name(harness: CommandHarness) -> None:
    harness.service.leads[30] |= {"first_name": "Ada", "last_name": "Lovelace"}
    harness.service.leads[31] |= {"first_name": "Ada", "last_name": "Lowell"}
    assert (await harness.say("lead ada lovelace")).title == "Ada Lovelace"
    assert (await harness.say("lead Lovelace")).title == "Ada Lovelace"
    several = await harness.say("lead ada lo")
    assert several.title == "“ada lo” matches 2 leads"
    with pytest.raises(UsageError):
        await harness.say("remove ada lovelace")


async def test_a_lead_that_is_not_listed_still_shows_its_reply(harness: CommandHarness) -> None:
    await reply_of(harness, "gone@new.com")
    card = await harness.say("lead gone@new.com")
    assert (card.title, card.tone) == ("Ann Lee at New", Tone.UNKNOWN)
    assert facts(card)["Sequence"] == "Q3 CTO"
    assert not card.refused
