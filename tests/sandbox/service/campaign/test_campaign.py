"""A campaign that lives: by rules that are values, and by the account that follows from them."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from itertools import pairwise
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox import SCENARIOS
from sandbox.service import Service, ids, rules, scenarios
from sandbox.service.deliverability import (
    Counts,
    health_tomorrow,
    limit_after_rest,
    limit_tomorrow,
    reason_to_pause,
)
from sandbox.service.dice import roll, rolls
from sandbox.service.moments import DAY, HOUR
from sandbox.service.people import Person, person, reply_text
from sandbox.service.rules import Conditions, Window
from tests.clock import moment
from tests.sandbox.service.conftest import client_of, founded_at

OFFICE = Window(opens=9, closes=17, weekdays=0b0011111)
MONDAY = 20_003 * DAY  # day 20,000 was a Friday, as 1970-01-01 was a Thursday


def outcomes(count: int, **changed: Any) -> Counter[str]:
    given_ = {"seed": 1, "step": 1, "day": 0, "health": 90.0, "appeal": 1.0} | changed
    reactions = (rules.outcome(lead=lead, **given_) for lead in range(count))
    return Counter(one.kind if one else "silence" for one in reactions)


@given(st.integers(1, 60), st.integers(0, 14))
def test_an_inbox_never_passes_its_daily_limit_and_sends_in_its_hours_alone(limit: int, ahead: int) -> None:
    day = int(MONDAY // DAY) + ahead
    slots = rules.slots_of_day(OFFICE, limit=limit, day=day, key=("inbox", 1))
    assert len(slots) <= limit
    assert bool(slots) == OFFICE.on(day)
    assert all(earlier < later for earlier, later in pairwise(slots))
    assert all(9 * HOUR <= one - day * DAY < 17 * HOUR for one in slots)


def test_no_emails_are_sent_at_the_weekend() -> None:
    days = [OFFICE.on(int(MONDAY // DAY) + ahead) for ahead in range(7)]
    assert days == [True] * 5 + [False] * 2


def test_an_outcome_depends_on_its_key_alone() -> None:
    forwards = [outcomes(1, seed=seed) for seed in range(50)]
    backwards = [outcomes(1, seed=seed) for seed in reversed(range(50))]
    assert forwards == backwards[::-1]
    assert rolls("a", 1) == rolls("a", 1) != rolls("a", 2)
    assert 0.45 < sum(roll("even", number) for number in range(2_000)) / 2_000 < 0.55


def test_rates_are_realistic() -> None:
    sent, replied, interested, bounced = 0, 0, 0, 0
    for lead in range(20_000):
        for step in range(1, 5):
            sent += 1
            reaction = rules.outcome(seed=1, lead=lead, step=step, day=0, health=90.0, appeal=1.0)
            kind = reaction.kind if reaction else "silence"
            replied += kind in {"interested", "reply", "unsubscribe"}
            interested += kind == "interested"
            bounced += kind.startswith("bounce")
            if kind not in {"silence", "ooo", "bounce_soft"}:
                break
    assert 0.03 < replied / 20_000 < 0.05
    assert 0.2 < interested / replied < 0.3
    assert bounced / sent < 0.02


def reply_share(*, variant: str) -> float:
    return dict(rules.shares(1, variant, 90.0, 1.0, rules.NORMAL))["reply"]


def test_health_step_variant_and_weather_matter() -> None:
    usual = outcomes(20_000)
    assert outcomes(20_000, health=40.0)["reply"] < usual["reply"] / 1.5
    assert outcomes(20_000, health=40.0)["bounce_hard"] > usual["bounce_hard"] * 1.5
    assert outcomes(20_000, step=4)["reply"] < usual["reply"]
    assert reply_share(variant="B") > reply_share(variant="A")
    assert outcomes(20_000, conditions=Conditions(bounces=10.0))["bounce_hard"] > usual["bounce_hard"] * 5


@given(st.floats(5, 100), st.integers(0, 300), st.integers(0, 40), st.integers(0, 5), st.integers())
def test_health_stays_between_0_and_100(
    score: float, sends: int, bounces: int, complaints: int, key: int
) -> None:
    record = Counts(sends=sends, bounces=bounces, complaints=complaints)
    assert 0 <= health_tomorrow(score, record, key=(key,)) <= 100


def test_bounces_and_complaints_hurt_health_and_rest_heals_it() -> None:
    clean = health_tomorrow(80, Counts(sends=300, replies=15), key=(1,))
    assert health_tomorrow(80, Counts(sends=300, bounces=30), key=(1,)) < clean - 10
    assert health_tomorrow(80, Counts(sends=300, complaints=2), key=(1,)) < clean - 5
    assert health_tomorrow(50, Counts(), key=(1,)) > 50


def test_a_domain_is_paused_when_it_deserves_it() -> None:
    assert reason_to_pause(Counts(sends=500, bounces=6)) is None
    assert reason_to_pause(Counts(sends=20, bounces=10)) is None
    assert reason_to_pause(Counts(sends=500, bounces=40)) == "bounce_rate"
    assert reason_to_pause(Counts(sends=500, complaints=4)) == "complaint_rate"


@pytest.mark.parametrize("full", [25, 30, 35, 40])
def test_warm_up_raises_the_limit_for_two_to_four_weeks(full: int) -> None:
    limits = [limit_after_rest(full)]
    while limits[-1] < full:
        limits.append(limit_tomorrow(limits[-1], full, health=90))
    assert limits == sorted(set(limits))
    assert 14 <= len(limits) - 1 <= 28
    assert limit_tomorrow(8, full, health=30) == 8


def test_follow_ups_come_after_two_to_five_days() -> None:
    assert {rules.step_gap(step) for step in range(1, 20)} == {2 * DAY, 3 * DAY, 4 * DAY, 5 * DAY}


def test_some_leads_write_again_and_some_turn_out_to_be_interested() -> None:
    again = Counter(
        one.kind if (one := rules.writes_again(kind, seed=1, lead=lead, step=1)) else "nothing"
        for lead in range(4_000)
        for kind in ("interested", "reply", "ooo")
    )
    assert again["nothing"] > 8_000
    assert again["again"] > 1_000
    assert 100 < again["turned"] < 400


def lead_named(first: str) -> Person:
    email = f"{first}@firm.example"
    return Person(first_name=first, last_name="Li", company="Firm", email=email, custom={})


@pytest.mark.parametrize("kind", ["interested", "reply", "again", "ooo", "unsubscribe"])
def test_there_are_hundreds_of_texts_of_each_kind_in_several_languages(kind: str) -> None:
    texts = {
        reply_text(kind, key=n, me="Ada", lead=lead_named(f"Bo{n % 99}"), date=dt.date(2026, 3, 9)).replace(
            f"Bo{n % 99}", ""
        )
        for n in range(3_000)
    }
    assert len(texts) > 100
    assert not any("{" in text or "<!channel>" in text or "\x1b" in text for text in texts)
    if kind == "ooo":
        spellings = ("March 9", "09.03.2026", "9. März", "09/03/2026", "03/09/2026", "9 mars", "2026-03-09")
        assert all(any(spelling in text for text in texts) for spelling in spellings)


def test_no_two_people_have_the_same_address() -> None:
    assert len({person(7, number).email for number in range(3_000)}) == 3_000


@given(st.integers(1, 1 << 37), st.sampled_from(["ld", "sq", "ib", "wh", "dl", "cu"]))
def test_an_id_is_read_back_by_its_own_prefix_alone(number: int, prefix: str) -> None:
    text = ids.encode(prefix, number)
    assert ids.decode(prefix, text) == number
    assert ids.decode("xx", text) is None


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_can_be_read(name: str) -> None:
    assert scenarios.load(name).plans


@pytest.mark.e2e
async def test_a_calm_week_has_an_interested_reply_and_a_paused_domain_soon(
    service: Service, api: httpx.AsyncClient, control: httpx.AsyncClient
) -> None:
    subscription = {"url": "http://127.0.0.1:9/", "events": ["reply.interested", "domain.paused"]}
    await api.post("/webhooks", json=subscription)
    await control.post("/time", json={"advance": 20 * 60})
    kinds = (await control.get("/summary")).json()["deliveries"]["by_kind"]
    assert kinds["reply.interested"] >= 1
    await control.post("/time", json={"advance": 130 * 60})
    assert (await control.get("/summary")).json()["deliveries"]["by_kind"]["domain.paused"] == 1
    resting = [one for one in (await api.get("/inboxes")).json()["data"] if one["status"] == "resting"]
    assert {one["email"].partition("@")[2] for one in resting} == {"useacme.example"}
    await control.post("/time", json={"advance": 15 * 3_600})
    statuses = {
        one["status"] for one in (await api.get("/inboxes")).json()["data"] if "useacme" in one["email"]
    }
    assert statuses == {"warming"}


@pytest.mark.e2e
async def test_no_inbox_passes_its_daily_limit(
    service: Service, api: httpx.AsyncClient, control: httpx.AsyncClient
) -> None:
    before = {one["id"]: one["daily_limit"] for one in (await api.get("/inboxes")).json()["data"]}
    weekday = int(service.now() // DAY + 3) % 7
    days = 2 if weekday < 4 else 8 - weekday  # no later than Monday: there is nothing sent at a weekend
    await control.post("/time", json={"advance": days * DAY - service.now() % DAY - 60})
    inboxes = (await api.get("/inboxes")).json()["data"]
    day = dt.datetime.fromtimestamp(service.now(), dt.UTC).date().isoformat()
    sent = (await api.get("/stats", params={"group_by": "inbox", "from": day, "to": day})).json()["data"]
    limits = {
        one["id"]: max(one["daily_limit"], before[one["id"]]) for one in inboxes
    }  # a rest lowers it in the day
    assert sum(row["sends"] for row in sent) > 500
    assert [
        (row["group"], row["sends"], limits[row["id"]]) for row in sent if row["sends"] > limits[row["id"]]
    ] == []


async def test_the_same_seed_lives_the_same_life_however_often_it_is_asked() -> None:
    lives = []
    for jumps in (1, 24):
        async with (
            Service(speed=0, now=founded_at()) as service,
            client_of(service, "acme") as api,
        ):
            async with httpx.AsyncClient(verify=False, timeout=120) as control:
                await control.put(f"{service.control_url}/limiter", json={"form": "off"})
                founded = (await control.get(f"{service.control_url}/state")).json()["simulated_until"]
                for _ in range(jumps):
                    await control.post(f"{service.control_url}/time", json={"advance": 3_600 / jumps})
            everything = [
                (await api.get(path)).json() for path in ("/stats?group_by=inbox", "/inboxes", "/leads")
            ]
            lives.append((founded, everything))
    assert lives[0] == lives[1]


async def test_a_dead_account_is_empty_and_still_whole(api: httpx.AsyncClient) -> None:
    async with Service(scenario="empty", speed=1_000) as service, client_of(service, "acme") as empty:
        for path in ("/leads", "/sequences", "/inboxes", "/stats"):
            assert (await empty.get(path)).json()["data"] == []
        started = service.now()
        async with httpx.AsyncClient(verify=False) as control:
            await control.post(f"{service.control_url}/time", json={"advance": 10 * DAY})
        assert service.now() > started + 10 * DAY
        assert moment().timestamp() < service.now()
