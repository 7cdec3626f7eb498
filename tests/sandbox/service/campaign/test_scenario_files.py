"""Scenario files of one's own, validated, and an example that works."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from sandbox.service import Service
from tests.sandbox.service.conftest import MONDAY, client_of

EXAMPLE = Path(__file__).parents[4] / "docs" / "examples" / "launch.toml"


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


@pytest.mark.e2e  # its account is founded anew, which takes seconds
async def test_another_number_of_inboxes_gets_domains_of_its_own() -> None:
    async with Service(inboxes=280, speed=0, now=MONDAY) as service, client_of(service, "acme") as api:
        inboxes = (await api.get("/inboxes")).json()["data"]
    assert len(inboxes) == 280
    assert len({one["email"] for one in inboxes}) == 280
    assert len({one["email"].partition("@")[2] for one in inboxes}) == 14
