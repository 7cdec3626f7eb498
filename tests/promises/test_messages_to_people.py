"""Messages to a person: they stand in the person's direct messages with the bot."""

from __future__ import annotations

from tests.kit import Team, interested

ANN = "U0ANN00001"


async def to_ann(team: Team) -> None:
    """Have the alerts go to a person."""
    team.environ["OUTREACH_ALERT_CHANNEL"] = ANN
    await team.restart()


async def test_a_card_to_a_person_is_updated_where_it_stands(team: Team) -> None:
    await to_ann(team)
    await team.deliver(interested("Ada"))
    card = await team.card("Ada", channel="dm")
    await team.click(card, "Claim")
    claimed = await team.changed(card, "claimed by")
    assert "Claim" not in claimed.buttons
    calls = [one for one in await team.traffic("chat.") if one["direction"] == "web_api"]
    assert {one["name"] for one in calls} == {"chat.postMessage", "chat.update"}
    assert {one["request"]["channel"] for one in calls} == {card.channel}


async def test_a_card_to_a_person_is_updated_after_a_restart(team: Team) -> None:
    await to_ann(team)
    await team.deliver(interested("Ada"))
    card = await team.card("Ada", channel="dm")
    await team.restart()
    await team.click(card, "Claim")
    claimed = await team.changed(card, "claimed by")
    assert "Claim" not in claimed.buttons


async def test_a_post_to_a_person_without_an_answer_is_looked_up_before_it_is_tried_again(team: Team) -> None:
    await to_ann(team)
    # Slack has the message, and a second one would mention the person twice.
    await team.act("faults", method="chat.postMessage", kind="accept_then_cut")
    await team.deliver(interested("Ada"))
    await team.card("Ada", channel="dm")
    await team.deliver(interested("Grace"))
    await team.card("Grace", channel="dm")
    assert len([one for one in await team.messages("dm") if "Ada" in one.shown]) == 1


async def test_a_click_in_direct_messages_is_answered_on_its_card(team: Team) -> None:
    await to_ann(team)
    await team.deliver(interested("Ada"))
    card = await team.card("Ada", channel="dm")
    before = len(await team.messages("dm"))
    await team.click(card, "Claim")
    await team.changed(card, "claimed by")
    assert len(await team.messages("dm")) == before
