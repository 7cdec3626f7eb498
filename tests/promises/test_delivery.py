"""Deliveries: each accepted one is on disk, is shown once, and nothing else is."""

from __future__ import annotations

import re

import pytest

from tests.kit import Team, bounced, interested, paused_domain, signature


async def test_an_interested_reply_is_a_card_with_who_wrote_what(team: Team) -> None:
    assert await team.deliver(interested("Ada")) == 200
    card = await team.card("Ada")
    assert "Acme" in card.shown
    assert "Yes, call me." in card.shown
    assert "sam@mail.example" in card.shown
    assert "Claim" in card.buttons


async def test_a_reply_that_is_delivered_again_stays_one_message(team: Team) -> None:
    body = interested("Ada")
    assert [await team.deliver(body) for _ in range(3)] == [200, 200, 200]
    await team.deliver(interested("Grace"))
    await team.card("Grace")
    assert len([one for one in await team.messages() if "Ada" in one.shown]) == 1


async def test_metrics_count_a_repeat(team: Team) -> None:
    body = interested("Ada")
    await team.deliver(body)
    await team.card("Ada")
    before = await repeats(team)
    await team.deliver(body)

    async def counted() -> bool:
        return await repeats(team) == before + 1

    assert await team.until(counted)


async def repeats(team: Team) -> float:
    """How many repeats `/metrics` has counted; the counter is this process's, so it begins anywhere."""
    _, text = await team.get("/metrics")
    found = re.search(r"^outreach_repeats_total\S* (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


async def test_an_accepted_delivery_is_posted_after_the_bot_was_stopped(team: Team) -> None:
    await team.act("faults", method="chat.postMessage", kind="error", error="internal_error", times=3)
    assert await team.deliver(interested("Ada")) == 200
    await team.restart()
    await team.card("Ada")
    assert len([one for one in await team.messages() if one.alert_id]) == 1


@pytest.mark.parametrize(
    "headers",
    [{}, {"X-Service-Signature": ""}, {"X-Service-Signature": "0" * 64}],
    ids=["none", "empty", "wrong"],
)
async def test_a_delivery_without_a_good_signature_is_refused(team: Team, headers: dict[str, str]) -> None:
    assert await team.deliver(interested("Mallory"), headers=headers) == 401
    await team.deliver(interested("Ada"))
    await team.card("Ada")
    assert not any("Mallory" in one.shown for one in await team.messages())


async def test_a_delivery_over_1_mib_is_refused(team: Team) -> None:
    assert await team.deliver(interested("Ada", reply="x" * (1 << 20))) == 413


async def test_a_signed_body_that_is_no_event_is_answered_200_and_shown_in_status(team: Team) -> None:
    body = b"this is no JSON"
    assert await team.deliver(body, headers={"X-Service-Signature": signature(body)}) == 200

    async def shown() -> bool:
        answer = await team.ask("status")
        return "couldn't be read" in answer.shown or "unreadable" in answer.shown.lower()

    assert await team.until(shown)


async def test_a_bounce_is_counted_and_not_posted(team: Team) -> None:
    await team.deliver(bounced("Bob"))
    await team.deliver(interested("Ada"))
    await team.card("Ada")
    assert not any("bob@gone.example" in one.shown for one in await team.messages())


async def test_a_kind_that_a_channel_subscribes_to_is_posted_there(team: Team) -> None:
    await team.ask("subscribe lead.bounced here")
    await team.deliver(bounced("Bob"))
    assert "bob@gone.example" in (await team.card("bob@gone.example")).shown


async def test_a_paused_domain_is_told_with_its_reason_at_once(team: Team) -> None:
    await team.deliver(paused_domain("mail.example", reason="Bounce rate 7.1%"))
    card = await team.card("mail.example is paused")
    assert "Bounce rate 7.1%" in card.shown
    assert "Acknowledge" in card.buttons


@pytest.mark.xfail(strict=True, reason="a second delivery with another reason makes a card of its own")
async def test_one_incident_of_a_domain_is_one_card(team: Team) -> None:
    await team.deliver(paused_domain("mail.example"))
    await team.card("mail.example is paused")
    await team.deliver(paused_domain("mail.example", reason="Bounce rate 7.2%"))
    await team.deliver(interested("Ada"))
    await team.card("Ada")
    assert len([one for one in await team.messages() if "mail.example is paused" in one.title]) == 1


@pytest.mark.xfail(strict=True, reason="the card still counts how often the reply was received")
async def test_a_repeat_changes_nothing_that_people_see(team: Team) -> None:
    body = interested("Ada")
    await team.deliver(body)
    before = (await team.card("Ada")).shown
    await team.deliver(body)
    await team.deliver(interested("Grace"))
    await team.card("Grace")
    for _ in range(20):
        assert (await team.card("Ada")).shown == before
        await team.ask("whoami")


async def test_every_alert_carries_metadata_with_its_id(team: Team) -> None:
    await team.deliver(interested("Ada"))
    card = await team.card("Ada")
    assert card.data["metadata"]["event_type"] == "outreach_alert"
    assert card.alert_id


async def test_what_a_lead_wrote_mentions_nobody_and_forges_no_link(team: Team) -> None:
    await team.deliver(interested("Ada", reply="<!channel> see <https://evil.example|our bank> *now*"))
    card = await team.card("our bank")
    assert "<!channel>" not in card.mrkdwn
    assert "<https://evil.example|our bank>" not in card.mrkdwn
