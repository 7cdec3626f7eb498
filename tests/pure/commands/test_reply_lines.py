"""Lines about replies, with the lead's name or in the thread of a card."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.blockkit import OnAlert
from bot.commands import dispatch
from bot.commands.dispatch import action_about, needs_alert, read_act
from shared.api.events import Event, EventLead
from shared.domain.alert import PRUNED, Alert
from shared.domain.card import Card

NOW = datetime(2026, 11, 20, 9, tzinfo=UTC)


def reply(name: str = "Ada Lovelace", company: str = "Acme") -> Alert:
    first, _, last = name.partition(" ")
    lead = EventLead(email=f"{first.lower()}@acme.example", first_name=first, last_name=last, company=company)
    event = Event(kind="reply.interested", lead=lead, sequence="Q3 founders")
    email = str(lead.email)
    return Alert(id=f"al_{first.lower()}", workspace="acme", event=event, email=email)


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("claim ada @acme", OnAlert(verb="claim", name="ada", workspace="acme")),
        ("take over “ada”", OnAlert(verb="takeover", name="ada")),
        ("Mark done ada", OnAlert(verb="done", name="ada")),
        ("snooze ada until monday 9am", OnAlert(verb="snooze", name="ada", detail="monday 9am")),
        ("snooze for 2h", OnAlert(verb="snooze", name="", detail="2h")),
        ("remind me in 2h about ada", OnAlert(verb="remind", name="ada", detail="2h")),
        ("remind me of ada", OnAlert(verb="remind", name="ada")),
        ("not interested ada: no budget", OnAlert(verb="dismiss", name="ada", detail="no budget")),
        ("not interested ada because", OnAlert(verb="dismiss", name="ada")),
        ("assign ada to <@U0BEN00002>", OnAlert(verb="assign", name="ada", person="U0BEN00002")),
        ("assign @ben ada", OnAlert(verb="assign", name="ada", person="@ben")),
        ("assign ada to ben", OnAlert(verb="assign", name="ada", person="@ben")),
        ("mail ada", None),
        ("pause ada", None),
    ],
)
def test_a_line_names_a_reply_an_act_and_what_belongs_to_it(line: str, read: OnAlert | None) -> None:
    assert read_act(line) == read


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("claim", "claim al_ada"),
        ("claim ada", "claim al_ada"),
        ("claim bob", "claim bob"),
        ("snooze ada 2h", "snooze al_ada 2h"),
        ("assign to ben", "assign al_ada @ben"),
        ("assign ada ben", "assign al_ada @ben"),
        ("assign ben wu", "assign al_ada @ben wu"),
        ("assign bob to ben", "assign bob @ben"),
        ("not interested no budget", "dismiss al_ada no budget"),
        ("not interested ada: no budget", "dismiss al_ada no budget"),
        ("not interested bob: no budget", "dismiss bob no budget"),
        ("view lead", "lead al_ada"),
        ("remove", "remove ada@acme.example @acme"),
        ("remove bob@x.example", "remove bob@x.example"),
        ("pause for 2h", 'pause "Q3 founders" for 2h @acme'),
        ("stop", 'pause "Q3 founders" @acme'),
        ("resume", 'resume "Q3 founders" @acme'),
        ("pause Q4", "pause Q4"),
        ("status", "status"),
    ],
)
def test_in_the_thread_of_a_card_a_line_means_its_reply(line: str, becomes: str) -> None:
    assert action_about(line, reply(), several=True).line == becomes
    assert action_about(line, replace(reply(), event=PRUNED), several=True).line == line


def test_in_the_thread_of_a_domain_a_pause_means_the_sequences_that_send_from_it() -> None:
    alert = Alert(id="al_1", event=Event(kind="domain.paused", domain="x.example"))
    assert action_about("pause for 2h", alert, several=False).line == "pause domain:x.example for 2h"


def test_only_a_look_or_a_removal_without_a_name_needs_a_thread() -> None:
    assert [needs_alert(line) for line in ("view lead", "remove", "view lead ada", "claim")] == [True] * 2 + [
        False
    ] * 2


def fits(line: str, *among: Alert, person: str = "U1") -> list[str]:
    asked = read_act(line)
    assert asked
    return [one.id for one in dispatch.fitting(asked, among, person)]


ADA, ALAN, BOB = reply(), reply("Alan Ada"), reply("Bob Ross", "Initech")


def test_a_reply_is_meant_by_its_lead_and_by_a_state_that_allows_the_act() -> None:
    assert fits("claim ada lovelace", ADA, ALAN) == ["al_ada"]
    assert fits("claim ada", ADA, ALAN, BOB) == ["al_ada", "al_alan"]
    assert fits("claim init", ADA, BOB) == ["al_bob"]
    assert fits("claim ob", ADA, BOB) == []
    done = replace(ALAN, handled_at=1.0)
    assert fits("claim ada", ADA, done) == ["al_ada"]
    assert fits("claim ada", done) == ["al_alan"], "the answer says how it stands"
    assert fits("done", replace(ADA, claimed_by="U1"), replace(BOB, claimed_by="U2")) == ["al_ada"], (
        "without a name one's own"
    )
    assert fits("done ada", replace(ADA, claimed_by="U1"), replace(ALAN, claimed_by="U2")) == ["al_ada"]
    assert fits("take over ada", replace(ADA, claimed_by="U1"), replace(ALAN, claimed_by="U2")) == ["al_alan"]


def test_several_replies_are_offered_and_a_name_that_nobody_has_is_answered_with_the_nearest() -> None:
    asked = OnAlert(verb="claim", name="ada")
    card, items = dispatch.choice(asked, [ADA] * 6)
    assert (card.title, card.text) == ("6 replies match “ada”", ("Which one? The first 5 are shown.",))
    assert len(items) == 5
    assert [button.action for button in items[0].buttons] == [OnAlert(verb="claim", alert="al_ada")]
    assert dispatch.choice(OnAlert(verb="done", name=""), [ADA, BOB])[0].title == "You have 2 replies"
    missing = dispatch.not_found(OnAlert(verb="claim", name="ada lovelase"), [ADA, BOB])
    assert missing.text == ("Did you mean Ada Lovelace at Acme?",)
    assert dispatch.not_found(OnAlert(verb="claim", name="zoe"), [ADA]).text == (
        "Use the lead's name, company or address.",
    )
    unknown = Card("Unknown command")
    near = dispatch.near_miss(unknown, "cliam ada")
    assert (near.text, near.buttons[0].label) == (("Did you mean “claim ada”?",), "Claim ada")
    assert dispatch.near_miss(unknown, "cliam") == unknown


def test_a_line_with_the_id_of_an_alert_is_its_act() -> None:
    assert read_act("assign al_1 to ben") == OnAlert(verb="assign", alert="al_1", person="@ben")
    assert read_act("snooze al_1 2h") == OnAlert(verb="snooze", alert="al_1", detail="2h")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2h", 7200),
        ("in 2h", 7200),
        ("90d", 90 * 86_400),
        (f"{int(NOW.timestamp()) + 60}", 60),
        ("tomorrow 10:00", 25 * 3600),
        *((text, None) for text in ("yesterday", "0", "99999999999", "91d", "-5", "")),
    ],
)
def test_a_snooze_ends_within_90_days(text: str, seconds: int | None) -> None:
    until = dispatch.snoozed_until(text, now=NOW, zone=UTC)
    assert until == (None if seconds is None else NOW + timedelta(seconds=seconds))
