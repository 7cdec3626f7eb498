"""Quoted mail and signatures are folded without losing anything; links quote what they carry."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.text.links import lead_link, mailto
from shared.text.quotations import without_quotation

QUOTED = "> Hi Ada,\n> do you have time?\n"


@pytest.mark.parametrize(
    "below",
    [
        f"On Tue, 3 Nov 2026 at 10:12, Sam <sam@mail.example> wrote:\n{QUOTED}",
        # Mail programs break this line where it gets too long.
        f"On Tue, 3 Nov 2026 at 10:12, Sam Long-Name\n<sam@mail.example> wrote:\n\n{QUOTED}",
        f"Am 03.11.2026 um 10:12 schrieb Sam <sam@mail.example>:\n{QUOTED}",
        f"Le mar. 3 nov. 2026 à 10:12, Sam <sam@mail.example> a écrit :\n{QUOTED}",
        "-----Original Message-----\nFrom: Sam <sam@mail.example>\nHi Ada",
        "From: Sam Long <sam@mail.example>\nSent: Tuesday, 3 November 2026 10:12\nTo: Ada\nSubject: Hi\n\nHi Ada",
        # RFC 3676: two hyphens and a space alone on a line begin a signature.
        "-- \nAda Lovelace\nCTO, Acme",
        "Sent from my iPhone",
        QUOTED,
    ],
)
def test_quoted_mail_and_signatures_are_folded(below: str) -> None:
    assert without_quotation(f"Yes, Thursday works.\n\n{below}") == "Yes, Thursday works."


@pytest.mark.parametrize(
    "reply",
    [
        "Yes. On Tuesday, as I wrote, we meet.",
        "See below.\n\nOn Tue, Sam wrote:\n> When?\nThursday.\n> Where?\nOur office.",
        "> Is that right?\nYes, it is.",
        "From: the team\nwe say yes",
        "A -- or B?",
    ],
)
def test_the_leads_own_text_is_never_hidden(reply: str) -> None:
    assert without_quotation(reply) == reply


LINES = st.sampled_from(
    [
        "Yes",
        "",
        "> quoted",
        "On Mon, 1 Jan 2026, Sam <s@x.example> wrote:",
        "-- ",
        "From: a@b.example",
        "Sent: now",
    ]
)


@given(st.one_of(st.text(max_size=400), st.lists(LINES, max_size=12).map("\n".join)))
def test_the_visible_part_begins_the_reply_and_is_never_empty(reply: str) -> None:
    shown, whole = without_quotation(reply), reply.strip()
    assert "\n".join(whole.splitlines()).startswith("\n".join(shown.splitlines()))
    assert bool(shown) == bool(whole)
    assert without_quotation(shown) == shown or len(without_quotation(shown)) < len(shown)


@given(st.text(min_size=1, max_size=80))
def test_an_address_stays_inside_its_place_in_a_link(email: str) -> None:
    link = lead_link("https://crm.example/c?q={email}&tab=mail", email)
    start, _, end = link.partition("?q=")
    assert (start, end.rpartition("&")[2]) == ("https://crm.example/c", "tab=mail")
    assert unquote(end.removesuffix("&tab=mail"), errors="strict") == email


@pytest.mark.parametrize("letter", ["a", "ж"])
def test_an_endless_address_makes_no_link_that_slack_refuses(letter: str) -> None:
    email = letter * 4_000 + "@acme.example"
    assert lead_link("https://crm.example/{email}", email) == mailto(email, subject="Re: yes") == ""


def test_half_a_character_makes_a_link_all_the_same() -> None:
    assert mailto("a@b.example", reply="\ud83d").endswith("%3E%20%3F%0D%0A")


def test_without_a_setting_or_an_address_there_is_no_link() -> None:
    assert lead_link("", "ada@acme.example") == lead_link("https://crm.example/{email}", None) == ""
