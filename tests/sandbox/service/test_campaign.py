"""A campaign that lives, by rules that are values; the crisis, and scenario files of one's own."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.service import Service, founding, rules
from sandbox.service.moments import DAY, HOUR
from sandbox.service.plans import SequencePlan
from sandbox.service.rules import (
    REST,
    limit_after_rest,
    limit_tomorrow,
)
from tests.sandbox.service.conftest import MONDAY, client_of

OFFICE = SequencePlan(name="Office", steps=1, opens=9, closes=17)
MONDAYS_DAY = 20_003
"""Since 1970-01-01, a Thursday."""


@given(st.integers(1, 60), st.integers(0, 14))
def test_an_inbox_never_passes_its_daily_limit_and_sends_in_its_hours_alone(limit: int, ahead: int) -> None:
    day = MONDAYS_DAY + ahead
    slots = OFFICE.slots_of_day(day, limit=limit, key=("inbox", 1))
    assert len(slots) <= limit
    assert bool(slots) == (ahead % 7 < 5)
    assert all(earlier < later for earlier, later in pairwise(slots))
    assert all(9 * HOUR <= one - day * DAY < 17 * HOUR for one in slots)


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


@pytest.mark.parametrize("full", [25, 30, 35, 40])
def test_warm_up_raises_the_limit_for_two_to_four_weeks(full: int) -> None:
    limits = [limit_after_rest(full)]
    while limits[-1] < full:
        limits.append(limit_tomorrow(limits[-1], full, health=90))
    assert limits == sorted(set(limits))
    assert 14 <= len(limits) - 1 <= 28
    assert limit_tomorrow(8, full, health=30) == 8


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


TUESDAY = dt.datetime(2026, 3, 3, 10, 17, 23, tzinfo=dt.UTC).timestamp()
STEP = 2 * HOUR
BOUGHT = {
    "useacme.example": ["second_spf"],
    "getacme.example": ["no_dkim"],
    "helloacme.example": ["no_dmarc"],
    "acme-mail.example": [],
}
"""The domains from which the bought list goes out, in the order in which they are harmed, and what breaks in their zones."""


@pytest.mark.e2e
async def test_the_domains_of_the_bought_list_are_paused_one_after_another_rest_and_warm_up() -> None:
    states, inboxes, changes = [], [], dict[str, list[str]]()
    async with (
        Service(scenario="deliverability-crisis", speed=0, now=TUESDAY) as service,
        client_of(service, "acme") as api,
        httpx.AsyncClient(verify=False, base_url=service.control_url, timeout=60) as control,
    ):
        await control.put("/limiter", json={"form": "off"})
        for _ in range(13):
            await control.post("/time", json={"advance": STEP})
            domains = (await control.get("/state")).json()["domains"]
            states.append({one["name"]: one["state"] for one in domains})
            inboxes.append((await api.get("/inboxes")).json()["data"])
            for one in (await control.get("/dns")).json()["domains"]:
                if states[-1][one["name"]] == "paused":
                    changes.setdefault(one["name"], one["changes"])
    assert changes == BOUGHT
    assert list(changes) == list(BOUGHT)
    for name in BOUGHT:
        paused = [place for place, state in enumerate(states) if state[name] == "paused"]
        assert len(paused) * STEP == REST
        assert statuses(inboxes[paused[0]], name) == {"resting"}
        assert statuses(inboxes[paused[-1] + 1], name) == {"warming"}
    assert (paused[0] + 1) * STEP <= 10 * HOUR


def statuses(inboxes: list[dict[str, Any]], domain: str) -> set[str]:
    return {one["status"] for one in inboxes if one["email"].endswith(f"@{domain}")}


EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "launch.toml"


async def test_the_example_makes_its_accounts_and_its_events_happen() -> None:
    async with (
        Service(scenario=EXAMPLE, speed=0, now=MONDAY) as service,
        client_of(service, "initech") as api,
        client_of(service, "umbrella") as other,
        httpx.AsyncClient(verify=False, base_url=service.control_url, timeout=60) as control,
    ):
        assert list(service.api_keys) == ["initech", "umbrella"]
        sequences = (await api.get("/sequences")).json()["data"]
        assert [one["name"] for one in sequences] == ["Launch: founders", "Launch: partners", "Old list"]
        assert len((await api.get("/inboxes")).json()["data"]) == 8
        assert (await other.get("/inboxes")).json()["data"] == []
        state = (await control.get("/state")).json()
        assert (state["scenario"], state["founded_at"]) == ("Product launch", "2026-03-02T09:00:00Z")
        subscription = {"url": "http://127.0.0.1:9/", "events": ["reply.interested", "domain.paused"]}
        await api.post("/webhooks", json=subscription)
        await control.post("/time", json={"advance": 660})
        kinds = (await control.get("/summary")).json()["deliveries"]["by_kind"]
        assert kinds["reply.interested"] >= 2
        await control.post("/time", json={"advance": 3 * 3_600})
        states = {one["name"]: one["state"] for one in (await control.get("/state")).json()["domains"]}
        assert states == {"initech.example": "paused", "tryinitech.example": "warming"}


WRONG = [
    ("title = ", "is not TOML"),
    ('account = "empty"', "title: Field required"),
    ('title = "x"', "name either an account"),
    (
        'title = "x"\naccount = "empty"\n[[event]]\nat = "soon"\nkind = "lead.replied"',
        r"event\[0\]\.at: must be a number",
    ),
    ('title = "x"\naccount = "empty"\n[rates]\nreplys = 2.0', r"rates\.replys: "),
    (
        'title = "x"\n[[accounts]]\nworkspace = "a"\nsequences = [{ name = "S", steps = 2, opens = 9, closes = 8 }]',
        r"accounts\[0\]\.sequences\[0\]: opens must be before closes",
    ),
    ('title = "x"\n[[accounts]]\nworkspace = "a"\ninboxes = 3', "inboxes need at least one sequence"),
    (
        'title = "x"\naccount = "believable"\n[[event]]\nat = "1m"\nkind = "lead.bounced"\ndomain = "no.example"',
        "there is no domain 'no.example'; there are getacme.example, ",
    ),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_a_mistake_in_a_file_is_named_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        Service(scenario=path)


def test_all_mistakes_are_listed_and_a_missing_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('account = "big"\nrates = "rude"\ncolor = 1')
    with pytest.raises(ValueError, match=r"(?s)title: .*account: .*rates: .*color: "):
        Service(scenario=str(path))
    with pytest.raises(ValueError, match="can't be read: No such file"):
        Service(scenario=tmp_path / "none.toml")


def test_options_that_cannot_be_say_what_would_be_right() -> None:
    with pytest.raises(ValueError, match="calm-week, deliverability-crisis, reply-storm, empty, or"):
        Service(scenario="calm")
    with pytest.raises(ValueError, match="speed must be"):
        Service(speed=-1)
    for inboxes in (5, 20_001):
        with pytest.raises(ValueError, match=f"inboxes must be from 9 to 20000, not {inboxes}"):
            Service(inboxes=inboxes)
    with pytest.raises(ValueError, match="no sequence"):
        Service(inboxes=9, scenario="empty")


@pytest.mark.e2e  # its account is founded anew
async def test_another_number_of_inboxes_gets_domains_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        founding, "HISTORY_DAYS", 3
    )  # what so many sent in nine weeks takes ten seconds to play
    async with Service(inboxes=280, speed=0, now=MONDAY) as service, client_of(service, "acme") as api:
        inboxes = (await api.get("/inboxes")).json()["data"]
    assert len(inboxes) == 280
    assert len({one["email"] for one in inboxes}) == 280
    assert len({one["email"].partition("@")[2] for one in inboxes}) == 14
