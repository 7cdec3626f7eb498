"""Many alerts at once: few messages tell them, and each reply keeps its state and its Claim."""

from __future__ import annotations

import asyncio
import re

from tests.kit import Message, Team, bounced, interested, paused_domain


async def deliver_at_once(team: Team, bodies: list[bytes]) -> None:
    """Deliver all of them while the first message is still under way."""
    # The first post holds its channel for so long that all others wait when it is free again.
    await team.act("faults", method="chat.postMessage", kind="delay", delay=0.5)
    assert set(await asyncio.gather(*[team.deliver(body) for body in bodies])) == {200}


async def told(team: Team, words: str, count: int) -> list[Message]:
    """The messages that show these words, once they are there so often."""

    async def there() -> list[Message]:
        known = [one for one in await team.messages() if re.search(words, one.shown)]
        return known if sum(len(re.findall(words, one.shown)) for one in known) >= count else []

    found: list[Message] = await team.until(there, f"{count} times {words!r}")
    return found


async def largest(team: Team, count: int) -> tuple[Message, list[str]]:
    """The largest message of so many replies that came at once, and the names in it."""
    await deliver_at_once(team, [interested(f"Lead{number:02}") for number in range(count)])
    messages = await told(team, r"Lead\d\d at Acme", count)
    bundle = max(messages, key=lambda one: len(one.shown))
    return bundle, re.findall(r"(Lead\d\d) at Acme", bundle.shown)


async def test_forty_replies_at_once_are_a_few_messages_of_up_to_thirteen(team: Team) -> None:
    names = [f"Lead{number:02}" for number in range(40)]
    await deliver_at_once(team, [interested(name) for name in names])
    messages = await told(team, r"Lead\d\d at Acme", 40)
    shown = [re.findall(r"(Lead\d\d) at Acme", one.shown) for one in messages]
    assert sorted(name for group in shown for name in group) == names
    # Slack takes fifty blocks in a message: thirteen replies with their buttons, and what is around them.
    assert max(len(group) for group in shown) <= 13
    assert len(messages) <= 12


async def test_each_reply_of_a_message_is_claimed_by_itself(team: Team) -> None:
    await team.restart('[routes]\nmention = "U0BEN00002"\n')
    bundle, names = await largest(team, 20)
    assert "<@U0BEN00002>" in bundle.mrkdwn
    await team.click(bundle, "Claim", near=f"{names[2]} at Acme", user="ben")
    now = await team.changed(bundle, "@ben")
    assert now.buttons.count("Claim") == len(names) - 1
    assert "@ben" in now.part(f"{names[2]} at Acme")
    assert "@ben" not in now.part(f"{names[3]} at Acme")
    assert names[2] in (await team.ask("replies mine", user="ben")).shown
    assert names[3] not in (await team.ask("replies mine", user="ben")).shown


async def test_an_incident_is_never_in_a_message_of_replies(team: Team) -> None:
    bodies = [interested(f"Lead{number:02}") for number in range(10)]
    await deliver_at_once(team, [*bodies, paused_domain("useacme.example"), *bodies])
    (card,) = await told(team, "useacme.example is paused", 1)
    assert "Lead" not in card.shown
    assert "Acknowledge" in card.buttons


async def test_interested_replies_come_before_what_is_not_urgent(team: Team) -> None:
    await team.ask("subscribe lead.bounced here")
    bounces = [bounced(f"bob{number:02}") for number in range(20)]
    await deliver_at_once(team, [*bounces, interested("Ada"), interested("Grace")])
    await told(team, r"bob\d\d@gone", 20)
    order = [one.shown for one in await team.messages() if one.alert_id]
    first = next(place for place, text in enumerate(order) if "Ada" in text)
    # Those that were under way before the interested replies came may stand before them: one message of thirteen.
    assert sum(len(re.findall(r"bob\d\d@gone", text)) for text in order[:first]) < 14


async def test_what_is_unclaimed_of_a_message_is_reminded_of_and_what_is_claimed_is_not(team: Team) -> None:
    bundle, names = await largest(team, 8)
    await team.click(bundle, "Claim", near=f"{names[0]} at Acme")
    await team.changed(bundle, "@ann")
    known = {one.ts for one in await team.messages()}
    await team.pass_time(minutes=6)

    async def reminders() -> list[Message]:
        new = [one for one in await team.messages() if one.ts not in known]
        return [one for one in new if f"{names[1]} at Acme" in one.shown]

    (reminder,) = await team.until(reminders, "a reminder of the others")
    assert f"{names[0]} at Acme" not in reminder.shown
    assert "7" in reminder.title


async def test_two_people_who_asked_are_each_reminded_of_their_reply_of_a_message(team: Team) -> None:
    bundle, names = await largest(team, 8)
    people = {"ann": names[0], "ben": names[1]}
    for person, name in people.items():
        await team.ask(f"snooze {name} 2h", user=person)
    await team.pass_time(hours=2, minutes=1)
    for person, mention in (("ann", "<@U0ANN00001>"), ("ben", "<@U0BEN00002>")):
        assert people[person] in (await team.in_thread(bundle, mention)).shown
