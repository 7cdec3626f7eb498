"""Guardrails: a rule tells, suggests or pauses, once an incident, and never on doubtful data."""

from __future__ import annotations

import asyncio
import re

import pytest

from tests.kit import Message, Team, bounced, clock, paused_domain
from tests.kit.team import SALES

NAME = "Fintech ops leaders"
COUNT = 'guardrails add "pause sequence for 4h when bounces > 10 in 1h" as many'
OTHER, THIRD = "Recruiters Singapore", "IT services India"
BOTH = 'guardrails add "pause domain for 4h when bounces > 10 in 1h, at most 2 sequences at once" as many'


async def add(team: Team, line: str, *, user: str = "ann") -> None:
    """Add a rule and say yes to what it asks."""
    answer = await team.ask(line, user=user)
    if "Cancel" in answer.buttons:
        await team.click(answer, answer.buttons[0], user=user)


async def bounce(team: Team, count: int, *, first: int = 0, sequence: str = NAME) -> None:
    """Deliver so many bounces of a sequence, and let the guardrails look at them: a rule that only tells has seen them."""
    canary = f"canary{first}"
    await add(team, f'guardrails add "notify about sequence when bounces > 0 in 1h" as {canary}')
    bodies = [
        bounced(f"bob{number}", sequence=sequence, inbox="sam@useacme.example")
        for number in range(first, first + count)
    ]
    await asyncio.gather(*[team.deliver(body) for body in bodies])
    await team.settled()
    await look(team, f"Guardrail {canary}")
    await team.ask(f"guardrails remove {canary}")


async def look(team: Team, *words: str) -> Message:
    """Let time pass until a guardrail's message shows these words, and then once more."""

    async def there() -> Message | None:
        await team.pass_time(seconds=35)
        known = await team.messages()
        return next((one for one in known if all(word in one.shown for word in words)), None)

    found: Message = await team.until(there, f"a message with {words!r}")
    await team.pass_time(seconds=35)
    await team.settled()
    return found


async def spike(team: Team) -> None:
    """Add a rule, and deliver more bounces than it allows."""
    await add(team, COUNT)
    await bounce(team, 12)


async def pause_by_rule(team: Team) -> Message:
    """Return what the rule says that pauses for these bounces."""
    await spike(team)
    return await look(team, "many paused")


async def active(team: Team) -> bool:
    return not await team.account.is_paused(NAME)


async def test_a_rule_that_pauses_pauses_and_says_why(team: Team) -> None:
    message = await pause_by_rule(team)
    assert NAME in message.shown
    assert "12 bounces" in message.shown
    assert "Undo" in message.buttons
    assert await team.account.is_paused(NAME)


async def test_a_rule_stays_quiet_below_its_limit(team: Team) -> None:
    await add(team, COUNT)
    await bounce(team, 10)
    assert await active(team)
    assert not any("many paused" in one.shown for one in await team.messages())


async def test_the_pause_of_a_rule_ends_by_itself(team: Team) -> None:
    await pause_by_rule(team)
    await team.pass_time(hours=4, minutes=5)
    assert await team.until(lambda: active(team))


async def test_a_rule_pauses_no_more_in_a_day_than_it_may(team: Team) -> None:
    await add(team, COUNT.replace('in 1h"', 'in 1h, at most 1 a day"'))
    for act in ("pause", "resume"):  # what a person did before it fired holds up nothing
        await team.say(f'{act} "{NAME}"')
    await bounce(team, 12)
    await look(team, "many paused")
    await bounce(team, 12, first=100, sequence=OTHER)
    await look(team, OTHER)
    assert await team.account.is_paused(NAME)
    assert not await team.account.is_paused(OTHER)


async def test_a_rule_pauses_once_an_incident(team: Team) -> None:
    await pause_by_rule(team)
    await team.ask(f'resume "{NAME}"')
    await bounce(team, 3, first=100)
    assert await active(team), "a person resumed it during the incident"
    # An incident ends an hour after its last minute.
    for _ in range(3):
        await team.pass_time(minutes=22)
    await bounce(team, 12, first=200)
    assert await active(team)
    assert len([one for one in await team.messages() if "many paused" in one.shown]) == 1


async def test_undo_of_a_rule_resumes_and_rests_the_rule(team: Team) -> None:
    await team.click(await pause_by_rule(team), "Undo")
    assert await team.until(lambda: active(team))
    await team.pass_time(hours=3)
    await bounce(team, 12, first=100)
    assert await active(team), "the rule rests for a day"


async def test_the_message_of_a_rule_says_that_it_was_undone(team: Team) -> None:
    message = await pause_by_rule(team)
    await team.click(message, "Undo")

    async def said() -> bool:
        now = await team.present(message)
        return "Undo" not in now.buttons and " paused " not in now.title

    assert await team.until(said)


async def test_a_rule_leaves_a_persons_pause_alone(team: Team) -> None:
    await add(team, COUNT)
    await team.ask(f'pause "{NAME}"')
    await bounce(team, 12)
    await team.pass_time(hours=5)
    await team.ask("whoami")
    assert await team.account.is_paused(NAME), "a pause without an end is not given one"


async def test_a_rule_that_suggests_pauses_nothing(team: Team) -> None:
    await add(team, 'guardrails add "suggest pausing sequence when bounces > 10 in 1h" as hint')
    await bounce(team, 12)
    message = await look(team, "12 bounces", "hint")
    assert await active(team)
    assert "Pause sequence" in message.buttons
    # A rule about the domain counts the same bounces: one trouble, one message, by the rule that suggests something.
    assert "suggests pausing" in message.title
    told = [one.ts for one in await team.messages() if "domain-bounces-10-1h" in one.shown]
    assert told == [message.ts]


async def test_a_suggestion_offers_a_pause_only_while_there_is_something_to_pause(team: Team) -> None:
    await add(team, 'guardrails add "suggest pausing sequence when bounces > 10 in 1h" as hint')
    await bounce(team, 12)
    message = await look(team, "12 bounces", "hint")
    await team.ask(f'pause "{NAME}"', user="ben")

    async def offers() -> bool:
        await team.pass_time(seconds=35)
        return "Pause sequence" in (await team.present(message)).buttons

    async def is_over() -> bool:
        return not await offers()

    assert await team.until(is_over)
    now = await team.present(message)
    assert f"{NAME} is paused" in now.title
    await team.ask(f'resume "{NAME}"', user="ben")
    assert await team.until(offers)
    assert "suggests pausing" in (await team.present(message)).title


async def test_a_message_about_a_guardrail_says_how_it_is_now(team: Team) -> None:
    await add(team, 'guardrails add "notify about sequence when bounces > 10 in 1h" as hint')
    off = await team.ask("guardrails off hint")
    assert "Turn on" in off.buttons
    await team.ask("guardrails on hint", user="ben")
    now = await team.changed(off, "Guardrail hint is on")
    assert not now.buttons


async def test_messages_of_changes_at_the_same_time_all_say_how_a_guardrail_is_now(team: Team) -> None:
    await add(team, 'guardrails add "notify about sequence when bounces > 10 in 1h" as hint')
    lines = ("guardrails off hint", "guardrails on hint") * 2
    people = ("ann", "ben", "cleo", "ann")
    doing = (team.say(line, user=user) for line, user in zip(lines, people, strict=True))
    await asyncio.gather(*doing)
    await team.settled()

    is_off = "off" in (await team.ask("guardrails")).part("hint")

    async def agree() -> bool:
        """Every message about the rule since it was added says how it is now."""
        public = [one.title for one in await team.settled() if not one.data.get("seen_by")]
        said = [title for title in public if title.startswith("Guardrail hint is")]
        return len(said) > 1 and all(("off" in title) == is_off for title in said)

    assert await team.until(agree)


async def test_a_rule_acts_on_the_first_day_where_it_is_certain(team: Team) -> None:
    """Sends before the first delivery are unknown, but they can't be more than the service has counted."""
    await add(team, 'guardrails add "pause sequence when bounces > 3% of at least 50 sends in 24h" as rate')
    stats = (await team.account.request("GET", "/stats?group_by=sequence"))["data"]
    (row,) = [one for one in stats if one["group"] == NAME]
    assert row["sends"] > 100
    today = {**row, "sends": 400}
    team.account.answer("GET /stats", {"data": [today]})
    await bounce(team, 40)
    await look(team, "rate paused")
    assert await team.account.is_paused(NAME)


async def test_a_sentence_that_is_no_rule_is_refused_and_adds_none(team: Team) -> None:
    before = (await team.ask("guardrails")).title
    answer = await team.ask("guardrails add pause everything when it rains")
    assert "everything" in answer.shown
    assert (await team.ask("guardrails")).title == before


async def test_a_rule_that_pauses_asks_before_it_is_on(team: Team) -> None:
    question = await team.ask(COUNT)
    assert "bounces > 10 in 1h" in question.shown
    assert "Cancel" in question.buttons
    await bounce(team, 12)
    assert await active(team)


async def test_a_rule_that_is_off_does_nothing(team: Team) -> None:
    await add(team, COUNT)
    await team.ask("guardrails off many")
    await bounce(team, 12)
    assert await active(team)
    assert not any("many paused" in one.shown for one in await team.messages())


async def test_all_rules_are_turned_off_and_on_again(team: Team) -> None:
    await add(team, COUNT)
    question = await team.ask("guardrails off")
    await team.click(question, question.buttons[0])
    await bounce(team, 12)
    assert await active(team)
    await add(team, "guardrails on")
    await bounce(team, 12, first=100)
    await look(team, "many paused")
    assert await team.account.is_paused(NAME)


async def test_a_removed_rule_does_nothing(team: Team) -> None:
    await add(team, COUNT)
    await team.ask("guardrails remove many")
    assert "many" not in (await team.ask("guardrails")).shown
    await bounce(team, 12)
    assert await active(team)


async def test_guardrails_lists_the_rules_and_which_has_fired(team: Team) -> None:
    await pause_by_rule(team)
    listed = (await team.ask("guardrails")).shown
    line = next(part for part in listed.split("\n\n") if "many" in part and "fired" in part)
    assert "bounces-5" in listed
    assert "fired" in line


async def test_a_test_of_a_rule_says_what_it_would_have_done(team: Team) -> None:
    await bounce(team, 12)

    async def would_have_fired() -> Message | None:
        """The answer, once the hour of the bounces is one that the test goes through."""
        await team.pass_time(minutes=5)
        line = 'guardrails test "pause sequence when bounces > 9 in 1h"'
        answer = await team.ask(line, channel=SALES)
        return answer if "would have fired once" in answer.title else None

    shown = (await team.until(would_have_fired, "the rule to have fired")).shown
    assert NAME in shown
    assert re.search(r"once in the \d+ (s|min|h) that are known", shown)
    assert "Pausing each time for 24 h would have prevented – sends with 0 bounces." in shown
    assert await active(team), "a test pauses nothing"


async def test_a_test_of_a_rule_knows_the_days_before_the_bot_was_there(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.guardrails.BACKFILL", 30)
    for _ in range(4):
        await team.pass_time(minutes=5)
    line = 'guardrails test "notify about sequence when no replies after 100 sends in 7d"'
    assert "in the last 30 days" in (await team.ask(line, channel=SALES)).title
    before = len(team.account.asked("GET", "/stats"))
    await team.pass_time(minutes=5)
    assert len(team.account.asked("GET", "/stats")) - before < 20, "days that are over are read once"


async def test_a_rule_acts_on_no_incomplete_data(team: Team) -> None:
    """The service could not be read for a quarter of an hour: what has been sent meanwhile is unknown."""
    await add(team, 'guardrails add "pause sequence when bounces > 3% of at least 50 sends in 24h" as rate')
    await team.account.fail(endpoint="GET /stats", status=500, times=None)
    for number in range(90):
        await team.deliver(bounced(f"bob{number}", sequence=NAME, inbox="sam@useacme.example"))
    await team.settled()
    for _ in range(4):
        await team.pass_time(minutes=10)
        await team.ask("whoami")
    assert await active(team)


async def test_what_a_rule_finds_about_a_domain_stands_on_its_card(team: Team) -> None:
    """The service pauses a domain for its bounces, and a rule counts the same bounces: one incident, one card."""
    await add(team, 'guardrails add "notify about domain when bounces > 10 in 1h" as sinking')
    await team.deliver(paused_domain("useacme.example"))
    card = await team.card("useacme.example is paused")
    await bounce(team, 12)

    async def found() -> bool:
        await team.pass_time(seconds=35)
        return "sinking" in (await team.present(card)).shown

    assert await team.until(found, "what the rule found")
    await team.settled()
    others = [one for one in await team.mentioned() if one.ts != card.ts and one.alert_id]
    assert not any("sinking" in one.shown or "useacme.example" in one.title for one in others)


async def test_a_person_without_the_role_adds_no_rule(team: Team) -> None:
    await team.say(COUNT, user="gus", wait=5)
    assert "many" not in (await team.ask("guardrails")).shown


async def test_the_audit_log_names_the_rule_that_paused(team: Team) -> None:
    await pause_by_rule(team)
    assert "guardrail many" in (await team.ask("audit")).shown


async def test_a_rule_that_read_an_empty_list_pauses_at_the_next_look(team: Team) -> None:
    """One empty answer isn't a fact: the sequence is there, and nobody else has paused it."""
    await add(team, COUNT)
    team.account.answer("GET /sequences", {"data": []}, times=2)
    await bounce(team, 12)
    await look(team, "many paused")
    assert await team.account.is_paused(NAME)
    assert not any("already paused" in one.shown for one in await team.messages())


async def test_a_rule_asks_the_service_once_for_a_pause(team: Team) -> None:
    await pause_by_rule(team)
    await bounce(team, 12, first=100)
    assert len(team.account.asked("PATCH")) == 1


# -- a pause that fails, stays unconfirmed or is overtaken


async def refuse(team: Team, *names: str) -> None:
    """Have the service refuse each change of these sequences."""
    for name in names:
        sequence = await team.account.sequence(name)
        team.account.answer(f"PATCH /sequences/{sequence['id']}", {}, status=422)


async def domain_bounces(team: Team) -> None:
    """Most bounces of the domain are of the first sequence, the fewest of the third."""
    await add(team, BOTH)
    for count, name in ((3, THIRD), (4, OTHER), (5, NAME)):
        await bounce(team, count, first=100 * count, sequence=name)


async def asked(team: Team, count: int = 1) -> None:
    """Let time pass until a rule has asked the service for so many changes."""

    async def enough() -> bool:
        await team.pass_time(seconds=6)
        return len(team.account.asked("PATCH")) >= count

    await team.until(enough, "the request of a rule")


async def test_a_sequence_that_cannot_be_paused_holds_up_no_other_and_is_named(team: Team) -> None:
    await refuse(team, OTHER)
    await domain_bounces(team)
    left = f"Left running because of the rule's limit: {THIRD}."
    refused = f"Not paused because the service refused: {OTHER}."
    message = await look(team, f"many paused {NAME}", left, refused)
    assert await team.account.is_paused(NAME)
    assert not await team.account.is_paused(THIRD)
    team.account.forget_answers()
    await team.click(message, "Undo")
    assert await team.until(lambda: active(team))


@pytest.mark.parametrize("refused", [(OTHER,), (NAME, OTHER)])
async def test_rules_that_are_turned_off_pause_nothing_more(team: Team, refused: tuple[str, ...]) -> None:
    await refuse(team, *refused)
    await domain_bounces(team)
    await asked(team, 2)
    await add(team, "guardrails off")
    team.account.forget_answers()
    is_paused = NAME not in refused
    title = "many paused" if is_paused else "many didn't pause"
    await look(team, title, "Guardrails were turned off before it had paused everything.")
    assert await team.account.is_paused(NAME) == is_paused
    assert not await team.account.is_paused(OTHER)


async def test_what_a_person_paused_before_the_rule_could_is_not_the_rules(team: Team) -> None:
    await refuse(team, OTHER)
    await domain_bounces(team)
    await asked(team, 2)
    team.account.forget_answers()
    await team.account.change(OTHER, "paused")
    message = await look(team, f"many paused {NAME}")
    await team.click(message, "Undo")
    assert await team.until(lambda: active(team))
    assert await team.account.is_paused(OTHER)


async def test_a_pause_of_a_rule_whose_answer_was_lost_is_the_rules_after_a_restart_too(team: Team) -> None:
    await team.account.fail(endpoint="PATCH /sequences/{id}", status=500, times=None, executed=True)
    await spike(team)
    await asked(team)
    await team.restart()
    await team.account.recover()
    message = await look(team, "many paused")
    assert await team.account.is_paused(NAME)
    await team.click(message, "Undo")
    assert await team.until(lambda: active(team))


async def test_a_pause_that_the_service_never_confirms_is_told(team: Team) -> None:
    await team.account.fail(endpoint="PATCH /sequences/{id}", status=500, times=None)
    await spike(team)
    why = "The service did not confirm the pause: "
    await look(team, "many didn't pause", why, "shows what it may have paused")


async def test_a_decision_of_a_rule_that_is_an_hour_old_is_void(team: Team) -> None:
    await refuse(team, NAME)
    await spike(team)
    await asked(team)
    await team.stop()
    clock.move(3_700)
    team.account.forget_answers()
    await team.start()
    await look(team, "many didn't pause", "The bot was down for more than an hour")
    assert await active(team)


@pytest.mark.parametrize(
    ("last", "why"),
    [
        ("pause", "Someone else had already paused it."),
        ("resume", "Someone resumed it after the rule fired."),
    ],
)
async def test_a_rule_insists_on_nothing_that_a_person_resumed_meanwhile(
    team: Team, last: str, why: str
) -> None:
    await refuse(team, NAME)
    await spike(team)
    await asked(team)
    team.account.forget_answers()
    await team.say(f'pause "{NAME}"')
    await team.say(f'{last} "{NAME}"')
    await look(team, why)
    assert await active(team) == (last == "resume")


async def test_a_rule_waits_after_an_outage_of_the_bot(team: Team) -> None:
    """Bounces of hours come in one minute: counted as of now, they would look like a spike."""
    await add(team, COUNT)
    await team.stop()
    clock.move(5 * 3600)
    await team.start()
    await bounce(team, 12)
    assert await active(team)
    assert "waits: the bot has no data from" in (await team.ask("guardrails")).shown


async def test_a_rule_only_suggests_once_its_author_lost_the_permission(team: Team) -> None:
    await add(team, COUNT, user="cleo")
    await team.act("user", user="cleo", is_restricted=True)
    await team.restart()  # else Slack is asked about a person once a minute
    await bounce(team, 12)
    why = "Only a suggestion: @cleo, who added the rule, no longer has permission"
    await look(team, "many suggests pausing", why)
    assert await active(team)


async def test_a_count_that_the_service_leaves_out_is_not_zero(team: Team) -> None:
    """Of two sequences that share a name it tells the replies of one."""
    await team.stop()
    team.use_new_database()
    row = {"group": NAME, "sends": 100, "positive_replies": 0, "meetings": 0}
    team.account.answer("GET /stats", {"data": [row, {**row, "replies": 0}]})
    await team.start()
    await add(team, 'guardrails add "notify about sequence when no replies after 50 sends in 24h" as silent')
    await bounce(team, 1)
    assert not any("silent fired" in one.shown for one in await team.messages())
    team.account.forget_answers()
    team.account.answer("GET /stats", {"data": [{**row, "replies": 0}] * 2})
    await look(team, "silent fired")
