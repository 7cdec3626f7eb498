"""What people see, whole: each answer, card and page is compared with how it was, to the last word and label."""

from __future__ import annotations

import difflib
import textwrap
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.kit import Account, Shell, Team, interested
from tests.kit.clock import CLOCK, clock_of_the_loop, moment
from tests.kit.drawn import drawn, drawn_run, drawn_screen
from tests.kit.screen import open_screen
from tests.kit.story import Story, set_answer

MOMENT = datetime(2026, 11, 18, 14, 5, tzinfo=UTC)
"""The texts have moments of this day in them."""
SLOW_SECONDS = 40.0
AGE_SECONDS = 15.0
"""How old everything is at least that a dashboard shows: seconds of one digit would have another width."""


@pytest.fixture(autouse=True)
def moment_of_the_texts() -> Iterator[None]:
    """Begin at the moment of the texts, wherever the other tests are. A process's tests share its clock, which goes on."""
    CLOCK.release()
    CLOCK.fix(MOMENT)
    yield
    CLOCK.release()


def unhurried(lines: Iterable[str]) -> Iterator[str]:
    """Give the lines; on a machine so slow that the minute would end, with the clock put back by what it took so far."""
    began = time.monotonic()
    for line in lines:
        took = time.monotonic() - began
        if took > SLOW_SECONDS:
            CLOCK.shift(-took)
            began += took
        yield line


READING = """
help
help pause
status
sequences
sequences paused
inboxes
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
report last month
audit
pause fintechs 2hh
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
        lead bob@acme.example
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
        [Pause 10 sequences]
        @gus [Undo]
        [Undo]
        ~ < lead.bounced Cleo {"inbox": "sam@useacme.example", "sequence": "Fintech ops leaders"}
        pause domain:useacme.example for 1h
        [Pause Fintech ops leaders]
        undo
        [Undo]
        [Undo 1 change]
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
        subscribe bounces sequence=fintech #sales condensed
        subscriptions #sales
        domains
        digest at 09:00
        digest
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
    "names": """
        < reply.interested Ada
        < reply.interested Adam
        < reply.interested Bob {"lead": {"email": "bob@x.example"}}
        + 4m
        claim
        claim ad
        claim xx
        cliam ada
        claim al_nosuch
        snooze bob
        snooze bob until 2020-01-01
        snooze bob until tomorrow 9am
        wake bob
        snooze bob 2h
        claim bob
        assign Ada to nobody
        assign Ada to gus
        assign Ada
        assign Ada to ann
        @gus claim Ada
        takeover Adam
        claim Ada
        @ben claim Adam
        done
        done Adam
        remind Ada 3h
        wake Ada
        done ad
        not interested Adam: no budget
        [Not interested …]
        reopen Ada
        replies mine
        lead al_nosuch
        lead Ada
        lead ada@acme.example
        assign bob to ann
        @ben release Bob
        pause ada
        pause 2h
        home
        < reply.interested Zoe
        replies 2
        $ replies
        assign zoe at acme
        assign zoe ben
        @ben snooze zoe until blursday
    """,
    "away from the office": """
        subscribe ooo
        < reply.ooo Emil {"return_date": "2026-12-01"}
        < reply.ooo Fay {"return_date": "2026-11-01"}
        < lead.unsubscribed Dora
        ~ + 12d
        + 1d
        ! GET /stats [{"group": "emeka30@meetacme.example", "sends": 20, "replies": 1}]
        ~ < lead.bounced Ida {"inbox": "emeka30@meetacme.example", "bounce_type": "hard", "sequence": "Fintech ops leaders"}
        domain meetacme.example
        ~ < lead.bounced Jan {"inbox": "emeka30@meetacme.example", "sequence": "Nosuch"}
        domain meetacme.example
        ! ok
        ! GET /stats [{"group": "emeka30@meetacme.example"}]
        domain meetacme.example
        * domain.paused
        ~ < domain.paused getacme.example
        ~ + 1m
        domain getacme.example
    """,
    "a service that fails": """
        ! GET /sequences 500
        sequences
        pause fintech
        status
        ! ok
        ! PATCH /sequences/{id} 500
        pause fintech
        pause all
        [Pause 10 sequences]
        ! ok
        ! PATCH /sequences/{id} 404
        pause recruiters
        ! ok
        undo
        pause fintech for 2h
        @ben pause fintech for 4h
        undo
        @ben undo
        pause recruiters, saas
        pause recruiters
        + 11m
        undo
        [Undo]
        ! POST /leads 500
        add ada@acme.example to recruiters
        ! ok
        ! GET /inboxes []
        domain useacme.example
        inboxes
        ! ok
        ! GET /inboxes 500
        inboxes
        domains
        domain useacme.example
        status
        stats
        report
        ! ok
        ! GET /stats [{"group": "x", "sends": 20, "replies": 1}, {"group": "y", "replies": 3}]
        stats by inbox
        ! ok
        ! GET /stats 500
        stats
        domain getacme.example
        report
        ! ok
        audit
    """,
    "two workspaces": """
        status
        status @globex
        status @nosuch
        sequences @globex
        < reply.interested Ada
        replies
        replies @globex
        [Claim] Ada
        claim Ada @globex
        claim Ada @acme
        pause all @globex
        [Pause 2 sequences]
        pause all @globex
        ! PATCH /sequences/{id} 500
        [Undo]
        ! ok
        undo @globex
        subscribe bounces @globex
        subscriptions
        digest at 09:00 @globex
        digest now @globex
        stats @globex
        leads interested @globex
        guardrails @globex
        report @globex
        audit @globex
        whoami
        doctor
        home
        ~ + 18h
        [Stats]
    """,
    "settings": """
        doctor
        help away
        subscriptions
        < reply.interested Ada
        lead ada@acme.example
        + 8m
        look Ada
        [Details …]
        @ben claim Ada
        subscribe bounces here
        unsubscribe bounces
        unsubscribe opt-outs
        subscriptions #sales
        < lead.bounced Cleo
        < lead.unsubscribed Dora
        away until friday
        @ben away for 2h
        @cleo away
        < reply.interested Bob
        back
        back
        away until fridya
        status
        guardrails
        guardrails remove many
        guardrails off many
        guardrails add "suggest pausing sequence when bounces > 5 in 1h" as many
        guardrails add "pause sequence when bounces > 5 in 1h" as bounces-5
        @cleo pause fintech
        pause fintech
        @cleo resume fintech
        @cleo undo
        @cleo guardrails add "suggest pausing sequence when bounces > 5 in 1h" as mine
        whoami
        @cleo whoami
        @dev whoami
        pause all
        audit
        @ben back
        @cleo back
        < reply.interested Eve
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
    "mistakes": """
        hlep pause
        continue fintech
        xyzzy
        status @nosuch
        status @one @two
        domain
        domain useacme.exampl
        inboxes nosuch.example
        stats by
        stats by nothing
        stats 7d by inbox
        stats yesterday by steps
        report 2020-01-01..2026-01-01
        report yesterday
        report 2026-02-01..2026-01-01
        replies 0
        replies x
        replies 2
        leads intersted
        leads fintech bounced
        help take over
        help nosuch
        digest mondays
        digest 9
        digest mon,thu at 8 am
        subscriptions nosuch
        subscribe
        subscribe bounces inbox=a@b.example domain=b.example
        subscribe bounces domain=a@b.example
        subscribe bounces domain=useacme.exampl
        subscribe bounces sequence=nosuch
        subscribe replied here
        unsubscribe bounces
        unsubscribe all
        pause all for 2m
        + 3m
        [Pause 10 sequences]
        sequences active paused
        pause all tomorow
        pause fintech for 2h
        resume all
    """,
    "pauses over pauses": """
        pause fintech until 2020-01-01
        pause fintech tomorow
        pause fintech friday
        pause fintechs for ever
        pause all 2 hour
        pause
        pause fintech reason bounces are high
        pause fintech reason they are high
        pause fintech
        resume fintech
        resume fintech
        @ben pause fintech until tomorrow
        @ben resume recruiters
        undo
        pause recruiters for 1h
        @ben resume recruiters
        undo
        pause domain:nosuch.example
        pause domain:useacme.example
        pause all for 1h
        [Pause 9 sequences]
        pause all
        pause all for 3h
        sequences
        sequences paused
        undo
        resume all
        pause recruitters singapor
    """,
    "two leads of a name": """
        add ada@acme.example fintech first_name=Ada email=x
        add ada@acme.example to nosuch
        add ada@acme.example to fintech first_name=Ada last_name=Lovelace company=Acme
        add adele@acme.example to recruiters first_name=Adele last_name=Lovelace
        lead lovelace
        lead Ada Lovelace
        remove ada lovelace
        remove lovelace
        remove ld_nosuch
        [Remove]
    """,
    "rules that are refused": """
        guardrails nosuch
        guardrails pause everything
        guardrails add
        guardrails add notify about domain when health < 60 as low-health
        guardrails add notify about domain when health < 50 as low-health
        guardrails add pause sequence when bounces > 5% of at least 50 sends in 24h
        [Cancel]
        guardrails remove
        guardrails remove nosuch
        guardrails remove what/ever
        guardrails remove bounces-5
        guardrails off low health
        guardrails off low-health for ever
        guardrails off low-health for 24h
        guardrails
        guardrails on low-health
        guardrails on low-health
        guardrails off
        [Turn all off]
        guardrails on low-health
        guardrails
        guardrails remove low-health
        guardrails add pause sequence when bounces > 9 in 1h as late
        @ben guardrails add notify when bounces > 9 in 1h as late
        [Turn on]
        @gus guardrails add suggest pausing sequence when bounces > 10 in 1h
    """,
}


WORKSPACES = """
    default_workspace = "acme"
    [workspaces.acme]
    base_url = "{url}"
    api_key = "{acme}"
    webhook_secret = "whsec-of-the-tests"
    alert_channel = "C0ALERTS01"
    [workspaces.globex]
    base_url = "{url}"
    api_key = "{globex}"
    alert_channel = "C0SALES002"
"""
SETTINGS = {
    "two workspaces": WORKSPACES,
    "settings": """
        [links]
        lead = "https://crm.example.com/contacts?q={email}"
        [routes]
        mention = "U0BEN00002"
        quiet = "22:00-06:00"
        timezone = "Europe/Berlin"
        fallback = "C0SALES002"
        [routes.rota]
        people = ["U0BEN00002", "U0CLEO0003"]
        pass_after = "5m"
        [[routes.rules]]
        channel = "C0SALES002"
        events = ["lead.unsubscribed"]
        [roles]
        outsiders = ["C0ALERTS01"]
        operator = ["U0ANN00001", "U0BEN00002", "U0CLEO0003"]
        [roles.commands]
        pause = ["U0ANN00001"]
        [[guardrails]]
        name = "many"
        rule = "notify when opt-outs > 10 in 1h"
    """,
}
"""Of the stories that are told with some."""


@pytest.mark.parametrize("name", STORIES)
async def test_a_story_shows_what_it_did_to_the_last_word(
    snapshot: SnapshotAssertion, team: Team, shell: Shell, name: str
) -> None:
    if name in SETTINGS:
        use(team, SETTINGS[name])
        await team.restart()
    story = Story(team, shell)
    for number, line in enumerate(unhurried(map(str.strip, STORIES[name].strip().splitlines()))):
        told = await story.tell(line)
        assert told == snapshot(name=f"{number:02} {line}")


async def test_each_answer_in_slack_is_whole(snapshot: SnapshotAssertion, team: Team) -> None:
    for line in unhurried(READING):
        answer = drawn(await team.ask(line))
        assert answer == snapshot(name=line)


async def test_each_answer_in_a_shell_is_whole(
    snapshot: SnapshotAssertion, account: Account, shell: Shell
) -> None:
    shell.use({**account.environ, "OUTREACH_DNS_ENABLED": "false", "COLUMNS": "120"})
    for line in unhurried(READING + DATA):
        if line.startswith("lead "):
            continue  # a search that takes long says how fast it is
        run = await shell.type(*line.split())
        assert drawn_run(run) == snapshot(name=line)


WITHOUT_RECORDS = """
status
domain useacme.example
domains
replies
report
sequences paused
undo
pause fintech for 2h
pause fintech
pause fintech
pause fintech for 2h --yes
pause all for 1h --yes
resume fintech
resume fintech
digest now
remove ld_nosuch --yes
""".strip().splitlines()


async def test_each_answer_while_the_database_fails_is_whole(
    snapshot: SnapshotAssertion, account: Account, shell: Shell
) -> None:
    broken = shell.home / "broken.db"
    broken.write_bytes(b"no database at all\n" * 500)
    shell.use({**account.environ, "OUTREACH_DATABASE_URL": f"sqlite:///{broken}", "COLUMNS": "120"})
    shell.set("OUTREACH_DNS_ENABLED", "false")
    for number, line in enumerate(unhurried(WITHOUT_RECORDS)):
        run = await shell.type(*line.split())
        assert drawn_run(run) == snapshot(name=f"{number:02} {line}")


def use(team: Team, settings: str, more: str = "") -> None:
    """Let the bot, which is not started yet, have these settings."""
    if "[workspaces." in settings:
        settings = settings.format(url=team.account.base_url, **team.account.keys)
        team.environ = {name: value for name, value in team.environ.items() if name not in ONE_WORKSPACE}
        team.use_new_database()
    team.set(textwrap.dedent(settings) + more)


ONE_WORKSPACE = {"OUTREACH_BASE_URL", "OUTREACH_API_KEY", "OUTREACH_ALERT_CHANNEL"}
SCREENS = {
    "pages": """
        1
        enter
        enter ~ Sent today
        2
        enter
        4
        a
        w
        1 question_mark
        escape at enter
        escape slash
        escape 2 a
        P
        escape colon
        escape 1
        s
        s
        s
        escape tab s
        enter ~ Sent today
        enter ~ 27 of 30
        p P
        escape
        escape escape escape slash "acme !healthy
        escape escape a
        a
        a
        down a
        colon "pau
        tab
        escape colon "xyzzy
        escape colon "pause webinar
        1
        n escape escape colon "status
        escape colon "puase fintech
        1
        escape colon "stats by step
        escape colon "pause domain:getacme.example
        escape colon "copy
        colon "refresh
        5
        1 slash "acme
        slash "tryacme
        slash "nosuch
        p
        colon "add ada@acme.example to fintech
        y ~ Added
    """,
    "replies": """
        3
        enter
        escape down u
        c
        u
        z
        1
        z
        z 5 "tomorrow
        d
        u
        x 1
        u
        x
        6 "No budget
        A "ben
        A "b
        escape u
        c
        down c
        2
        c 1
        u
        s
        s
        slash "cleo
        c
        escape R
        question_mark
        escape colon "copy
        colon "export
        1 3
        c
        d
        u
        u
        A "nobody
        1 "ben
        colon "theme
    """,
    "sequences": """
        2
        slash "!paused
        escape slash "status:paused meetings
        escape s
        s
        s
        P "2h
        n P "nonsense
        P "2h
        y ~ 18 Nov 16:11 @
        u
        down p
        y
        p
        y
        enter
        p
        escape 2
        ! GET /sequences 500
        p ~ returned 500
        escape colon "refresh ~ (500) for sequences since
        ! GET /inboxes 500
        colon "refresh ~ (500) for sequences, inboxes since
        4
        a
        3
        2
        ! ok
        colon "refresh ~ domains paused
    """,
    "workspaces": """
        5
        s
        s
        slash "globex
        escape enter
        5 up enter
        2
        5 a
        down enter
        3
        4
        1 enter
        colon "status
        escape colon "status @acme
        escape 5
        escape w
        escape question_mark
    """,
    "narrow": """
        1
        enter
        enter
        2
        enter
        3
        4
        w
        1 question_mark
        escape 2 p
        n colon "sta
    """,
}
"""Keys, after a quotation mark what is typed and entered, and after a tilde what is waited for."""


def changes(before: str, now: str) -> str:
    """The whole of a page, or less: the lines that are other ones than before."""
    lines = difflib.unified_diff(before.splitlines(), now.splitlines(), n=0, lineterm="")
    changed = "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))
    return min(now, changed, key=len)


@pytest.mark.parametrize("name", SCREENS)
async def test_each_page_of_the_dashboard_is_whole(
    snapshot: SnapshotAssertion, team: Team, tmp_path: Path, name: str
) -> None:
    """Some replies wait, and a domain of the crisis is paused; keys go through pages, ask, change and take back."""
    settings = '\n[dashboard]\nslack_user = "U0ANN00001"\n'
    if name == "workspaces":
        use(team, WORKSPACES, settings)
        await team.restart()
    else:
        team.set(settings)
    for lead in ("Ada", "Bob", "Cleo", "Dora"):
        await team.deliver(interested(lead))
    await team.pass_time(minutes=6)
    await team.account.control("POST", "events", workspace="acme", kind="domain.paused", count=1)
    await team.settled()
    size = (64, 24) if name == "narrow" else (120, 40)
    async with (
        clock_of_the_loop(moment()),
        open_screen(team.account, tmp_path, size=size, bot=team.environ, notices_clock=False) as screen,
    ):
        await screen.until("DOMAINS 9")
        # Each is read by itself, in whichever order the service answers.
        for words in ("33,331", "domains paused"):
            await screen.until(words)
        if name != "workspaces":  # the others of which are read meanwhile
            screen.open_records()
        await screen.until("0 bounces")
        CLOCK.shift(AGE_SECONDS)
        before = ""
        for number, line in enumerate(map(str.strip, SCREENS[name].strip().splitlines())):
            if line.startswith("! "):
                set_answer(team.account, line)
                continue
            acts, _, words = line.partition(" ~ ")
            keys, _, text = acts.partition('"')
            await screen.press(*keys.split())
            if text:
                await screen.type(text)
                await screen.press("enter")
            if words:
                await screen.until(words)
            now = drawn_screen(await screen.settled())
            assert changes(before, now) == snapshot(name=f"{number:02} {line}")
            before = now
