"""What people see, whole: each answer, card and page is compared with how it was, to the last word and label."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.kit import Account, Shell, Team, interested
from tests.kit.clock import CLOCK
from tests.kit.drawn import drawn, drawn_run, drawn_screen
from tests.kit.screen import open_screen
from tests.kit.story import Story

pytestmark = pytest.mark.skipif("TEST_NOW" in os.environ, reason="the texts have moments of the day in them")
SAME_MINUTE_SECONDS = 50.0
Compare = Callable[[str, str], None]


@pytest.fixture
def is_as_it_was(snapshot: SnapshotAssertion) -> Compare:
    """Compare a text with the one that is kept under a name, as long as the clock's minute is still that of the start."""
    # The tests of a process share its clock, which goes on between them.
    CLOCK.release()
    CLOCK.fix()
    began = time.monotonic()

    def compare(name: str, text: str) -> None:
        if time.monotonic() - began > SAME_MINUTE_SECONDS:
            pytest.skip("the machine is too slow to compare minutes")
        assert text == snapshot(name=name)

    return compare


READING = """
help
help pause
status
sequences
sequences paused
inboxes unhealthy
inboxes useacme.example
domains
domain useacme.example
stats
stats by step
stats by person
leads fintech interested
lead nobody@acme.example
replies
replies mine
subscriptions
digest now
guardrails
guardrails test bounces-5
report
audit
whoami
away
nosuch
""".strip().splitlines()

DATA = """
status --json
sequences --csv
inboxes unhealthy --json --limit 3
domains --csv
stats by step --json
leads interested --json --limit 2
guardrails --json
report --json
dashboard --once
dashboard --once --json
pause nothing-like-this
pause all
""".strip().splitlines()
"""In a shell alone."""

STORIES = {
    "a reply": """
        home
        < reply.interested Ada
        < reply.interested Bob
        + 6m
        replies
        home
        [Claim] Ada
        replies mine
        @ben claim Ada
        @ben [Take over]
        + 10m
        snooze Ada 2h
        + 3h
        not interested Bob: no budget
        done Ada
        reopen Ada
        release Ada
        assign Ada to ben
        status
        audit
        stats by person
        digest today
        home
    """,
    "a menu": """
        < reply.interested Ada
        [Snooze until …]
        [Not interested …]
        [Assign …]
        [Pause sequence]
        [Details …]
        [Claim]
        [Remind me in 2 h]
        [Mark done]
        [Reopen]
        help
        [Pause …]
        [All commands]
        [Replies]
    """,
    "a pause": """
        pause fintech for 2h reason bounces are high
        sequences paused
        pause fintech for 1h
        pause fintech
        + 3h
        pause recruiters until tomorrow morning
        undo
        undo
        pause webinar
        pause nothing-like-this
        pause
        puase fintech
        pause fintech until tuesdya
        pause all
        [Cancel]
        pause all
        [Pause all 9]
        [Undo]
        pause domain:useacme.example for 1h
        resume all
        resume fintech
        @gus pause fintech
        audit
    """,
    "leads": """
        add ada@acme.example to fintech first_name=Ada company=Acme
        add ada@acme.example to fintech
        add nobody to fintech
        lead ada@acme.example
        remove ada@acme.example
        [Remove]
        remove ada@acme.example
        lead
        leads nosuch
        audit
    """,
    "events": """
        subscribe all
        < lead.replied Ada
        < reply.interested Bob
        < lead.bounced Cleo
        < lead.unsubscribed Dora
        < reply.ooo Emil
        < sequence.completed Fay
        < no.such.kind Hal
        subscriptions
        unsubscribe bounced
        subscribe bounces sequence=fintech #sales condensed
        subscribe nosuch
        subscriptions #sales
        domains
        digest at 09:00
        digest now
        digest off
        digest at 25:00
        ~ < domain.paused useacme.example
        ~ + 10m
        look useacme.example is paused
        ~ [Acknowledge]
        ~ + 10m
        look useacme.example is paused
    """,
    "guardrails": """
        guardrails add "pause sequence for 4h when bounces > 10 in 1h" as many
        [Turn on]
        guardrails add "pause everything"
        guardrails snooze many for 24h
        guardrails on many
        guardrails off
        guardrails
        guardrails on
        guardrails test many
        guardrails remove many
        guardrails remove many
        audit
    """,
}


@pytest.mark.parametrize("name", STORIES)
async def test_a_story_shows_what_it_did_to_the_last_word(
    is_as_it_was: Compare, team: Team, name: str
) -> None:
    story = Story(team)
    for number, line in enumerate(map(str.strip, STORIES[name].strip().splitlines())):
        is_as_it_was(f"{number:02} {line}", await story.tell(line))


async def test_each_answer_in_slack_is_whole(is_as_it_was: Compare, team: Team) -> None:
    for line in READING:
        is_as_it_was(line, drawn(await team.ask(line)))


async def test_each_answer_in_a_shell_is_whole(is_as_it_was: Compare, account: Account, shell: Shell) -> None:
    shell.use({**account.environ, "OUTREACH_DNS_ENABLED": "false", "COLUMNS": "120"})
    for line in READING + DATA:
        if line.startswith("lead "):
            continue  # a search that takes long says how fast it is
        run = await asyncio.to_thread(shell.run, *line.split())
        is_as_it_was(line, drawn_run(run))


KEYS = """
1
enter
enter
2
enter
3
c
d
4
5
w
1 question_mark
escape at enter
escape
1 p
escape
slash
escape
2 p
escape
a
P
escape
s
s
colon
escape
""".strip().splitlines()


async def test_each_page_of_the_dashboard_is_whole(is_as_it_was: Compare, team: Team, tmp_path: Path) -> None:
    """Two replies wait, and a domain of the crisis is paused; the keys go through all pages, and ask and take back."""
    team.set('[dashboard]\nslack_user = "U0ANN00001"\n')
    for name in ("Ada", "Bob"):
        await team.deliver(interested(name))
    await team.pass_time(minutes=6)
    await team.account.control("POST", "events", workspace="acme", kind="domain.paused", count=1)
    await team.settled()
    async with open_screen(team.account, tmp_path, size=(120, 40), bot=team.environ) as screen:
        await screen.until("DOMAINS 9")
        # Each is read by itself, in whichever order the service answers.
        for words in ("33,331", "domains paused"):
            await screen.until(words)
        for number, keys in enumerate(KEYS):
            await screen.press(*keys.split())
            is_as_it_was(f"{number:02} {keys}", drawn_screen(await screen.settled()))
