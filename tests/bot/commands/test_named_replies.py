"""`claim NAME` from anywhere: which reply a line means."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bot.commands.alerts import named_replies
from bot.commands.alerts.named_replies import NamedReply, read_named
from shared.records.replies import OpenReply

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def reply(alert: str, lead: str, company: str, email: str) -> OpenReply:
    return OpenReply(
        alert_id=alert, received_at=NOON, lead=lead, email=email, company=company, sequence="Q3", reply="Yes"
    )


KNOWN = (
    reply("al_1", "Ada Lovelace", "Acme", "ada@acme.example"),
    reply("al_2", "Ada Byron", "Globex", "byron@globex.example"),
    reply("al_3", "", "Initech", "cto@initech.example"),
)


@pytest.mark.parametrize(
    ("name", "alerts"),
    [
        ("ada lovelace", ["al_1"]),
        ("Lovelace", ["al_1"]),
        ("ada", ["al_1", "al_2"]),
        ("globex", ["al_2"]),
        ("CTO@initech.example", ["al_3"]),
        ("Ada Byron at Globex", ["al_2"]),
        ("lace", []),
    ],
)
def test_a_name_fits_a_lead_a_company_or_an_address(name: str, alerts: list[str]) -> None:
    assert [one.alert_id for one in named_replies.fitting(KNOWN, name)] == alerts


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("claim Ada Lovelace", NamedReply(verb="claim", name="Ada Lovelace")),
        ('CLAIM "Ada Lovelace" @acme', NamedReply(verb="claim", name="Ada Lovelace", workspace="acme")),
        ("mark done ada", NamedReply(verb="done", name="ada")),
        ("claim ada@acme.example", NamedReply(verb="claim", name="ada@acme.example")),
        ("claim al_1", None),
        ("claim", None),
        ("pause ada", None),
    ],
)
def test_a_line_names_a_reply_unless_it_has_its_id(line: str, named: NamedReply | None) -> None:
    assert read_named(line) == named


def test_several_are_offered_each_with_its_button() -> None:
    card, items = named_replies.choice(NamedReply(verb="claim", name="ada"), KNOWN[:2])
    assert card.title == "2 replies match “ada”"
    assert [button.line for item in items for button in item.buttons] == ["claim al_1", "claim al_2"]


def test_where_none_fits_the_nearest_is_named() -> None:
    card = named_replies.not_found(NamedReply(verb="claim", name="Ada Lovelice"), KNOWN)
    assert card.title == "No unclaimed reply matches “Ada Lovelice”"
    assert card.text == ("Did you mean Ada Lovelace at Acme?",)
    card = named_replies.not_found(NamedReply(verb="done", name="zoe"), ())
    assert [button.line for button in card.buttons] == ["replies mine"]
