"""200 guardrails over 12 workspaces: what a look at all of them costs, as a share of one core."""

from __future__ import annotations

import time
from collections.abc import Iterable

from bot.guardrails.account import EVERY
from shared.domain.wall_clock import DAY
from shared.guardrails.activity import Activity
from shared.guardrails.evaluate import doubt, holding
from shared.guardrails.rule import Rule
from shared.guardrails.sentence import parse
from shared.records.guardrails import CountSample, Happening
from tests.kit.clock import moment
from tools.bench.__main__ import Row

WORKSPACES, RULES = 12, 200
SEQUENCES, INBOXES, DAYS = 12, 30, 30
BOUNCES_A_DAY = 60
LOOKS = 3
TEMPLATES = (
    "suggest pausing sequence when bounces > {n}% of at least 50 sends in {window}",
    "suggest pausing domain when bounces > {n}% of at least 100 sends in {window}",
    "pause sequence for 4h when opt-outs > {n}% of at least 100 sends in {window}",
    "notify about sequence when no replies after {n}00 sends in 7d",
    "notify about inbox when health < {n}",
)
WINDOWS = ("1h", "4h", "24h", "3d", "7d")


def rules() -> list[Rule]:
    """Two hundred, no two of them the same."""
    sentences = (
        TEMPLATES[number % len(TEMPLATES)].format(
            n=5 + number // 25, window=WINDOWS[number // 5 % len(WINDOWS)]
        )
        for number in range(RULES)
    )
    return [parse(sentence) for sentence in sentences]


def account(*, now: float) -> Activity:
    """A month of one workspace."""
    today = int(now // DAY)
    scopes = [("sequence", f"Sequence {n}") for n in range(SEQUENCES)]
    scopes += [("inbox", f"sam{n}@mail{n % 5}.example") for n in range(INBOXES)]
    samples, happenings = [], []
    for day in range(today - DAYS, today + 1):
        for hour in range(8, 18):
            at = day * DAY + hour * 3600
            samples.append(CountSample(scope="poll", key="", day=day, at=at))
            for place, (scope, key) in enumerate(scopes):
                sends = (hour - 7) * (10 + place % 7)
                samples.append(CountSample(scope=scope, key=key, day=day, at=at, sends=sends, replies=1))
        for n in range(BOUNCES_A_DAY):
            at = day * DAY + 8 * 3600 + n * 600
            inbox = f"sam{n % INBOXES}@mail{n % 5}.example"
            sequence = f"Sequence {n % SEQUENCES}"
            happenings.append(Happening(at=at, kind="lead.bounced", sequence=sequence, inbox=inbox))
    samples += [
        CountSample(scope="health", key=key, day=today, at=now - 3600, health=80.0)
        for scope, key in scopes
        if scope == "inbox"
    ]
    known = Activity()
    known.add(happenings, samples)
    return known


def look(known: Iterable[Activity], wanted: Iterable[Rule], *, now: float) -> int:
    """Evaluate every rule for every workspace, as the job does; how many subjects hold."""
    wanted = list(wanted)
    found = 0
    for activity in known:
        for rule in wanted:
            doubt(rule, activity, now=now)
            found += len(holding(rule, activity, now=now))
    return found


def run() -> Iterable[Row]:
    now = (int(moment().timestamp() // DAY)) * DAY + 15 * 3600.0
    known, wanted = [account(now=now) for _ in range(WORKSPACES)], rules()
    look(known, wanted, now=now)
    began = time.process_time()
    for number in range(LOOKS):
        look(known, wanted, now=now + 30.0 * (number + 1))
    spent = (time.process_time() - began) / LOOKS
    share = spent / EVERY * 100
    name = f"{RULES} guardrails over {WORKSPACES} workspaces, looked at every {EVERY:.0f} s"
    yield name, share, "% of a core", "under 1 %", share < 1
