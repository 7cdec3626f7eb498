"""The command table: every verb parses, every near miss is answered, no text breaks it."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.commands import COMMANDS, Role, UsageError, parse, render
from shared.commands.base import Arguments, OnSequence
from shared.commands.leads import Add, Leads, Remove
from shared.commands.pause import Pause
from shared.commands.subscribe import Subscribe
from shared.commands.times import End
from shared.domain.event_kinds import EVENTS


def refusal(line: str) -> str:
    with pytest.raises(UsageError) as caught:
        parse(line)
    card = caught.value.card
    return "\n".join((card.title, *card.text, *(fact.value for fact in card.facts)))


def read(line: str) -> Arguments:
    return parse(line).arguments


def target_of(line: str) -> tuple[str, ...]:
    arguments = read(line)
    assert isinstance(arguments, OnSequence)
    return arguments.target


def test_changing_commands_need_an_operator() -> None:
    assert all(
        command.role is (Role.OPERATOR if command.changes else Role.READER)
        for command in COMMANDS.values()
        if command.verb != "doctor"  # it tells an admin what is wrong with the installation
    )


def test_an_empty_line_is_help() -> None:
    assert parse("  ").arguments.verb == "help"
    assert parse("/outreach STATUS").arguments.verb == "status"


@pytest.mark.parametrize("line", ["Plan for 2025 founders", 'Plan "for 2h"', "Looking for CTOs"])
def test_a_name_may_contain_what_an_end_begins_with(line: str) -> None:
    target = target_of(f"pause {line}")
    assert " ".join(target) == line.replace('"', "")
    assert target_of('pause "Plan for 2h"') == ("Plan for 2h",)


@pytest.mark.parametrize(
    ("alias", "command"),
    [
        ("stop", "pause"), ("unpause", "resume"), ("log", "audit"), ("open", "replies"), ("bounces", "domains"),
        ("guard", "guardrails"), ("hi", "help"), ("?", "help"),
    ],
)  # fmt: skip
def test_an_alias_is_its_command(alias: str, command: str) -> None:
    words = " fintech" if command in {"pause", "resume"} else ""
    assert parse(f"{alias}{words}").arguments == parse(f"{command}{words}").arguments


def test_a_workspace_is_picked_anywhere() -> None:
    assert parse("@acme pause sq_1").workspace == "acme"
    assert read("pause sq_1 @acme for 2h") == Pause(target=("sq_1",), end=End(duration=timedelta(hours=2)))
    assert parse("lead ann@acme.com").workspace is None
    assert "@a and @b" in refusal("status @a @b")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("stats by stepp", "Did you mean step?"),
        ("stats 2026-02-30..2026-03-01", "“2026-02-30” isn't a date"),
        ("stats 2026-02-01..", "a start and an end"),
        ("stats 2026-02-02..2026-02-01", "Use 2026-02-01..2026-02-02"),
        ("stats 0d", "1d to 1000d"),
        ("stats 1001d", "1d to 1000d"),
        ("replies 10000", "Use 1 to 9999"),
        ("stats 7x", "7d, today, yesterday, last week, this month, or FROM..TO"),
        *(
            (f"stats {period} please", "“please” isn't expected")
            for period in ("7d", "last-week", "last 2 weeks")
        ),
        ("sequences pausd", "Did you mean paused?"),
        ("status now", "“now” isn't expected"),
        ("pause", "Which sequence?"),
        ("lead", "Which lead?"),
        ("remove a@b.c d@e.f", "“d@e.f” isn't expected"),
        ("add ann to sq_1", "“ann” isn't an email address"),
        ("add a@b.c to", "Which sequence?"),
        ("add a@b.c to sq_1 email=x@y.z", "already given"),
        ("subscribe", "Which events?"),
        ("subscribe reply.intrested", "Did you mean reply.interested?"),
        ("digest at 25:00", "“25:00” isn't a time of day"),
        ("digest at", "At what time?"),
        ("digest tomorrow", "now, today, at 09:00"),
        ("subscriptions sales", "#channel"),
        ("help paus", "Did you mean pause?"),
        ("paus sq_1", "Did you mean “pause sq_1”?"),
        ("start q3", "Did you mean “resume q3”?"),
        ("gaurd list", "Did you mean “guardrails list”?"),
        ("xyzzy", "`help` lists"),
        ("stats last wek", "Did you mean last week?"),
        ("open mne", "Did you mean mine?"),
        ("replies 0", "replies 2"),
        ("subscribe bonces here", "Did you mean bounces?"),
        ("subscribe bounces domain=acme.com inbox=globex.com", "Filter by a domain or by an inbox"),
    ],
)
def test_a_near_miss_is_quoted_back_with_what_would_have_been_right(line: str, says: str) -> None:
    assert says in refusal(line)


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("stats 1d", "stats today"),
        ("stats past 2 weeks by steps", "stats by step 14d"),
        ("stats 1000d", "stats 1000d"),
        ("report last-week", "report last week"),
        ("report 2026-01-01..2027-01-01", "report 2026-01-01..2027-01-01"),
        ('pause Plan "for 2h"', 'pause Plan "for 2h"'),
        ('pause "a b" c 90 minutes', 'pause "a b c" for 1h30m'),
        ("stop q3 til mon reason: too late", 'pause q3 until monday reason "too late"'),
        ("away until friday 9am", "away until friday 09:00"),
        ("digest at 9 am #sales", "digest at 09:00 #sales"),
        ("digest weekly monday 9", "digest at mondays 09:00"),
        ("open mine", "replies mine"),
        ("replies 9999", "replies 9999"),
        ("help stop", "help pause"),
        ("add a@b.c q3 x=1", 'add a@b.c to "q3" x="1"'),
    ],
)
def test_a_line_is_written_in_one_form(typed: str, written: str) -> None:
    assert render(read(typed)) == written


def test_a_line_of_ten_thousand_characters_is_refused_kindly() -> None:
    assert "too long" in refusal("pause " + "x" * 10_000)


word = st.text(min_size=1, max_size=10).filter(lambda t: t.strip() != "")
plain = st.from_regex(r"[A-Za-z][A-Za-z0-9_.]{0,8}[A-Za-z0-9]", fullmatch=True).filter(
    lambda t: not t.islower()
)
target = word.map(lambda one: (one,)) | st.lists(plain, min_size=1, max_size=3).map(tuple)
key = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True).filter(lambda k: k != "email")
fields = st.dictionaries(key, st.just("") | word, max_size=3)
ends = st.builds(End, duration=st.none() | st.integers(1, 366 * 86_400).map(lambda s: timedelta(seconds=s)))
events = st.lists(st.sampled_from([*EVENTS]), min_size=1, max_size=3, unique=True).map(tuple)
EXAMPLES = [parse(line).arguments for command in COMMANDS.values() for line in command.examples]
arguments: st.SearchStrategy[Arguments] = st.one_of(
    st.sampled_from(EXAMPLES),
    st.builds(Pause, target=target, end=ends, reason=st.just("") | word),
    st.builds(Leads, target=st.just(()) | target),
    st.builds(Add, email=st.emails(), target=target, fields=fields),
    st.builds(Remove, who=word),
    st.builds(Subscribe, events=events, sequence=word, inbox=word, channel=st.sampled_from(["#sales", "C1"])),
)


@given(arguments, st.sampled_from([None, "acme", "Globex-2"]))
def test_a_rendered_line_parses_back(arguments: Arguments, workspace: str | None) -> None:
    again = parse(render(arguments, workspace=workspace))
    assert (again.arguments, again.workspace) == (arguments, workspace)


@given(
    st.sampled_from(["", *COMMANDS]),
    st.text(max_size=200)
    | st.lists(
        st.sampled_from(
            [
                "for",
                "2h",
                "9" * 30,
                "to",
                "a@b.c",
                "by",
                "..",
                "at",
                "at 9",
                "#x",
                "--yes",
                "@x",
                "=",
                "a=",
                '"',
                "🙂\n",
                "reason",
            ]
        )
    ).map(" ".join),
)
def test_no_text_raises_anything_but_a_usage_error(verb: str, text: str) -> None:
    with suppress(UsageError):
        assert parse(f"{verb} {text}").arguments.verb in COMMANDS


@pytest.mark.parametrize("line", ["domain poor.com", "domain Poor.COM.", "domain c@poor.com"])
def test_a_domain_is_named_in_any_case_or_by_an_address(line: str) -> None:
    assert parse(line).arguments.line == "domain poor.com"
