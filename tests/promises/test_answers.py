"""Answers: what a person reads first, nothing that is fine in the way, and the same numbers on every face."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from tests.kit import Account, Message, Shell, Team, interested, paused_domain
from tests.kit.clock import moment
from tests.kit.team import ALERTS

GUEST = "gus"


async def test_help_is_five_lines_with_three_buttons_and_the_rest_behind_one(team: Team) -> None:
    answer = await team.ask("help")
    lines = [line for line in answer.shown.splitlines()[1:] if line and line not in answer.buttons]
    assert len(lines) == 5
    assert answer.buttons == ["Status", "Replies", "Pause …", "All commands"]
    (every,) = await team.click(answer, "All commands")
    assert "guardrails" in every.shown
    assert "pause SEQUENCE" in every.shown
    assert "take over" in every.shown


async def test_people_see_only_the_commands_that_they_may_use(team: Team) -> None:
    answer = await team.ask("help", user=GUEST)
    assert "pause" not in answer.shown
    assert "Pause …" not in answer.buttons
    (every,) = await team.click(answer, "All commands", user=GUEST)
    assert "status" in every.shown
    assert "pause SEQUENCE" not in every.shown
    assert "away" not in every.shown, "there is no rota"
    assert "take over" not in every.shown


async def test_a_workspace_that_is_not_there_is_a_mistake_and_no_failure(team: Team) -> None:
    answer = await team.ask("status @nosuch")
    assert "Unknown outreach workspace" in answer.title
    assert "Reference" not in answer.shown


async def test_status_leaves_out_what_is_fine(team: Team) -> None:
    await team.deliver(interested("Ada"))
    card = await team.card("Ada")
    await team.click(card, "Claim")
    answer = await team.ask("status")
    for shown in ("Sequences", "Inboxes", "Today"):
        assert shown in answer.shown
    for fine in ("Service", "Alerts", "Last delivery", "Budget", "Requests", "Unclaimed"):
        assert fine not in answer.shown


async def test_status_says_what_is_not_fine(team: Team) -> None:
    await team.deliver(interested("Ada"))
    await team.card("Ada")
    team.account.answer("GET /stats", {"error": {"code": "internal"}}, status=500)
    answer = await team.ask("status")
    assert "Unclaimed replies" in answer.shown
    assert "partly available" in answer.shown


async def test_stats_are_totals_one_verdict_and_a_table_by_positive_replies(
    account: Account, shell: Shell
) -> None:
    rows = [
        {"group": "Calm", "sends": 2000, "replies": 90, "positive_replies": 10, "meetings": 1},
        {"group": "Best", "sends": 1000, "replies": 60, "positive_replies": 40, "meetings": 4},
        {"group": "New", "sends": 20, "replies": 1, "positive_replies": 0, "meetings": 0},
    ]
    account.answer("GET /stats", {"data": rows})
    shell.use(account.environ)
    shown = (await shell.type("stats")).out
    assert shown.count("confidence") == 1
    assert "3,020" in shown
    assert shown.index("Best  ") < shown.index("Calm  ") < shown.index("New  ")
    assert "±" not in shown


async def test_domains_are_a_line_each_with_the_worst_first(account: Account, shell: Shell) -> None:
    scores = {"good.example": 95.0, "bad.example": 59.7, "poor.example": 71.0}
    boxes = [{"email": f"sam@{name}", "health_score": score} for name, score in scores.items()]
    account.answer("GET /inboxes", {"data": [{**one, "status": "active"} for one in boxes]})
    shell.use(account.environ)
    run = await shell.type("domains", "--json")
    assert [(one["domain"], one["lowest_health"]) for one in run.data] == [
        ("bad.example", 59.7),
        ("poor.example", 71.0),
        ("good.example", 95.0),
    ]
    assert "59.7" in (await shell.type("domains")).out


@pytest.mark.parametrize("words", ["claim", "remind me"])
async def test_help_explains_what_is_typed_about_a_reply(team: Team, words: str) -> None:
    answer = await team.ask(f"help {words}")
    assert answer.title.startswith(words)
    assert f"{words} ada" in answer.shown


async def test_a_mistake_is_answered_with_one_example(team: Team) -> None:
    answer = await team.ask("pause")
    assert answer.shown.count("Example") == 1


async def test_a_health_score_is_the_same_everywhere(team: Team, shell: Shell) -> None:
    box = {"id": "ib_1", "email": "sam@bad.example", "health_score": 59.7, "status": "active"}
    team.account.answer("GET /inboxes", {"data": [box]})
    shell.use({**team.account.environ, "OUTREACH_DNS_ENABLED": "false"})
    for line in ("inboxes", "domains", "domain bad.example", "status"):
        assert "59.7" in (await team.ask(line)).shown
    for words in (("inboxes",), ("domain", "bad.example"), ("dashboard", "--once")):
        shown = (await shell.type(*words)).out
        assert "59.7" in shown, words


async def test_the_newest_leads_are_not_called_all_of_them(account: Account, shell: Shell) -> None:
    shell.use(account.environ)
    everyone = await shell.type("leads", "--limit", "5")
    assert everyone.out.startswith("Newest 5 leads")
    count = len((await shell.type("leads", "interested", "--all", "--json")).data)
    all_of_them = await shell.type("leads", "interested", "--all")
    assert all_of_them.out.startswith(f"{count} interested lead")


async def test_a_change_compares_full_days_with_full_days_of_the_service(
    account: Account, shell: Shell
) -> None:
    shell.use(account.environ)
    asked = len(account.asked("GET", "/stats"))
    shown = " ".join((await shell.type("stats")).out.split())
    assert len(account.asked("GET", "/stats")) > asked
    last = moment().date() - timedelta(days=1)
    first = last - timedelta(days=28)
    then = [day - timedelta(weeks=5) for day in (first, last)]
    assert "full days, same weekdays" in shown
    assert f"{then[1]:%-d %B}" in shown


# -- Home, and the sample


async def test_home_shows_mine_three_unclaimed_and_what_needs_attention(team: Team) -> None:
    names = ("Ada", "Bob", "Cleo", "Dora", "Emil")
    for name in names:
        await team.deliver(interested(name))
    await team.deliver(paused_domain("useacme.example"))
    card = await team.card("Ada")
    await team.settled()
    await team.click(card, "Claim")
    home = await team.home()
    assert "Yours · 1" in home.shown
    assert "Unclaimed · 4" in home.shown
    assert home.shown.index("Yours") < home.shown.index("Unclaimed") < home.shown.index("Needs attention")
    assert home.buttons.count("Claim") == 3
    assert "and 1 more" in home.shown
    assert re.search(r"useacme\.example\s+paused \S+ \w+ ago", home.shown)
    assert "Pause sequences …" in home.buttons


async def test_a_sample_card_is_seen_by_one_person_and_its_buttons_change_nothing(team: Team) -> None:
    await team.home()
    before = {one.ts for one in await team.messages()}
    await team.act("click", home=True, text="Show a sample card", user="ann", wait=5)
    sample = await team.message("A sample that only you see", channel="dm")
    assert "Felix" in sample.title
    assert "Claim" in sample.buttons
    for label in sample.buttons[:2]:
        await team.click(sample, label)
    await team.message("This is only a sample", channel="dm")
    assert {one.ts for one in await team.messages()} == before, "nobody else sees it"
    assert "No unclaimed replies" in (await team.ask("replies")).title


# -- a slow answer is one message


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("way", ["command", "mention", "direct message"])
async def test_a_slow_answer_is_one_message(team: Team, way: str) -> None:
    await team.install()
    # Longer than the bot waits before it says that it is at work.
    await team.act("faults", method="users.info", kind="delay", delay=1.0)
    channel = "dm" if way == "direct message" else ALERTS
    before = {one.ts for one in await team.messages(channel)}
    if way == "command":
        await team.say("sequences")
    elif way == "mention":
        own = (await team.traffic("auth.test"))[-1]["answer"]["user_id"]
        await team.act("message", text=f"<@{own}> sequences", wait=5)
    else:
        await team.act("message", text="sequences", channel="dm", wait=5)

    async def answered() -> list[Message]:
        found = [one for one in await team.messages(channel) if one.ts not in before]
        return [one for one in found if "sequences" in one.title and one.data.get("user") != "U0ANN00001"]

    assert await team.until(answered)
    told = [one for one in await team.messages(channel) if one.ts not in before]
    assert not any("taking longer" in one.shown or "Working" in one.shown for one in told)


@pytest.mark.usefixtures("impatient")
async def test_a_slow_yes_takes_the_place_of_its_question_and_goes_with_the_answer(team: Team) -> None:
    question = await team.ask("pause all")
    await team.restart()  # it knows nobody now, and has to ask
    await team.act("faults", method="users.info", kind="delay", delay=1.0)
    await team.click(question, question.buttons[0], wait=0)
    await team.changed(question, "Working …")
    await team.message("sequences paused")
    assert not any("Working" in one.shown for one in await team.messages())


@pytest.mark.parametrize(
    "line", ["guardrails", "subscriptions #sales", "audit", "undo", "digest at 09:00 #sales"]
)
async def test_records_that_cannot_be_opened_say_why(account: Account, shell: Shell, line: str) -> None:
    (shell.home / "file").touch()
    shell.use(account.environ)
    shell.set("OUTREACH_DATABASE_URL", f"sqlite:///{shell.home}/file/bot.db")
    run = await shell.type(*line.split())
    assert (run.code, run.out) == (1, "")
    assert "can't be opened" in run.err
