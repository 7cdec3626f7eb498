"""The command table: every verb parses, every near miss is answered, no text breaks it."""

from __future__ import annotations

from contextlib import suppress
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.models import EVENT_KINDS, GROUPINGS, LEAD_STATUSES
from shared.commands import COMMANDS, Invocation, Role, UsageError, help_card, parse, render, times
from shared.guardrails.defaults import SHIPPED
from shared.guardrails.sentence import parse as parse_rule


def refusal(line: str) -> str:
    with pytest.raises(UsageError) as caught:
        parse(line)
    card = caught.value.card
    return "\n".join((card.title, *card.text, *(fact.value for fact in card.facts)))


def values(line: str) -> dict[str, Any]:
    return dict(parse(line).values)


def test_the_table_has_every_documented_command() -> None:
    verbs = (
        "help status sequences pause resume inboxes stats leads lead add remove open subscribe unsubscribe"
    )
    assert list(COMMANDS) == [
        *verbs.split(),
        "subscriptions",
        "digest",
        "guard",
        "report",
        "audit",
        "whoami",
        "doctor",
    ]


@pytest.mark.parametrize("command", COMMANDS.values(), ids=lambda command: str(command.name))
def test_every_example_of_the_table_parses_to_its_command(command: Any) -> None:
    assert command.examples
    assert all(parse(line).command == command for line in command.examples)


def test_changing_commands_need_an_operator() -> None:
    assert all(
        command.role is (Role.OPERATOR if command.changes else Role.READER)
        for command in COMMANDS.values()
        if command.name != "doctor"  # it tells an admin what is wrong with the installation
    )


def test_an_empty_line_is_help() -> None:
    assert parse("  ").command.name == "help"
    assert parse("/outreach STATUS").command.name == "status"


def test_pause_with_a_duration_and_a_reason() -> None:
    expected = {"target": ("Q3", "CTO"), "duration": timedelta(hours=2), "reason": "bounces are high"}
    assert values("pause Q3 CTO for 2h reason bounces are high") == expected
    assert values("pause Q3 CTO for 2 hours bounces are high") == expected
    assert values("PAUSE “Q3 CTO” for 2h reason: bounces are high") == expected | {"target": ("Q3 CTO",)}


def test_pause_leaves_the_split_of_name_and_reason_to_the_account() -> None:
    assert values("pause Q3 CTO bounces")["target"] == ("Q3", "CTO", "bounces")
    assert values("pause Q3 reason bounces for good") == {
        "target": ("Q3",),
        "duration": None,
        "reason": "bounces for good",
    }


def test_a_name_in_quotes_ends_where_the_quotes_do() -> None:
    assert values('pause "Q3 C" bounces') == {"target": ("Q3 C",), "duration": None, "reason": "bounces"}


def test_a_number_after_for_is_a_duration_or_refused() -> None:
    assert "“2x” isn't a duration" in refusal("pause sq_1 for 2x")
    assert "“2” isn't a duration" in refusal("pause sq_1 for 2")
    assert "1h30m" in refusal("pause sq_1 for 99999d")
    assert values("pause Plan for 2025 founders")["target"] == ("Plan", "for", "2025", "founders")
    assert values('pause "Plan for 2h"')["target"] == ("Plan for 2h",)


def test_a_workspace_is_picked_anywhere() -> None:
    assert parse("@acme pause sq_1").workspace == "acme"
    assert parse("pause sq_1 @acme for 2h").values == {
        "target": ("sq_1",),
        "duration": timedelta(hours=2),
        "reason": "",
    }
    assert parse("lead ann@acme.com").workspace is None
    assert "@a and @b" in refusal("status @a @b")


@pytest.mark.parametrize(
    ("line", "by", "days", "start", "end"),
    [
        ("stats", "sequence", None, None, None),
        ("stats 7d", "sequence", 7, None, None),
        ("stats by Steps 2w", "step", 14, None, None),
        ("stats inboxes today", "inbox", 1, None, None),
        ("stats by variant 2026-01-01..2026-01-31", "variant", None, date(2026, 1, 1), date(2026, 1, 31)),
    ],
)
def test_stats(line: str, by: str, days: int | None, start: date | None, end: date | None) -> None:
    assert values(line) == {"by": by, "days": days, "start": start, "end": end}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("stats by stepp", "Did you mean step?"),
        ("stats by", "sequence, step, variant, inbox"),
        ("stats 2026-02-30..2026-03-01", "“2026-02-30” isn't a date"),
        ("stats 2026-02-01..", "a start and an end"),
        ("stats 2026-02-02..2026-02-01", "Use 2026-02-01..2026-02-02"),
        ("stats 0d", "1d to 1000d"),
        ("stats 7x", "7d, today, yesterday, last week, this month, or FROM..TO"),
        ("stats 7d please", "“please” isn't expected"),
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
        ("digest tomorrow", "now, today (the day so far), at 09:00"),
        ("subscriptions sales", "#channel"),
        ("help paus", "Did you mean pause?"),
        ("paus sq_1", "Did you mean pause or"),
        ("xyzzy", "`help` lists"),
    ],
)
def test_a_near_miss_is_quoted_back_with_what_would_have_been_right(line: str, says: str) -> None:
    assert says in refusal(line)


def test_the_refusal_of_arguments_shows_usage_and_examples() -> None:
    assert "pause SEQUENCE [for 2h] [reason …]" in refusal("pause")
    assert "pause sq_1" in refusal("pause")


def test_leads_by_sequence_and_status() -> None:
    assert values("leads") == {"target": (), "status": None}
    assert values("leads Interested") == {"target": (), "status": "interested"}
    assert values("leads Q3 CTO replied") == {"target": ("Q3", "CTO"), "status": "replied"}
    assert values('leads "replied"') == {"target": ("replied",), "status": None}


def test_add_takes_fields_along() -> None:
    assert values('add ann@acme.com to Q3 CTO first_name="Ann Marie" plan=pro') == {
        "email": "ann@acme.com",
        "target": ("Q3", "CTO"),
        "fields": {"first_name": "Ann Marie", "plan": "pro"},
    }


def test_remove_is_confirmed_by_a_flag() -> None:
    assert parse("remove ld_1").confirmed is False
    assert parse("remove ld_1 --yes").confirmed is True


def test_subscribe_takes_exactly_what_is_listed() -> None:
    line = 'subscribe interested lead.bounced sequence="Q3 CTO" inbox=a@b.c <#C012|sales> condensed'
    assert values(line) == {
        "events": ("reply.interested", "lead.bounced"),
        "sequence": "Q3 CTO",
        "inbox": "a@b.c",
        "channel": "C012",
        "condensed": True,
    }
    assert values("unsubscribe all here")["events"] == EVENT_KINDS


@pytest.mark.parametrize(
    ("text", "at"),
    [("9", "09:00"), ("9:05", "09:05"), ("12 am", "00:00"), ("5pm", "17:00"), ("23.59", "23:59")],
)
def test_the_time_of_a_digest(text: str, at: str) -> None:
    assert values(f"digest at {text} #sales") == {"action": "at", "at": at, "channel": "#sales"}


def test_a_line_of_ten_thousand_characters_is_refused_kindly() -> None:
    assert "too long" in refusal("pause " + "x" * 10_000)


word = st.text(min_size=1, max_size=10).filter(lambda t: t.strip() != "")
plain = st.from_regex(r"[A-Za-z][A-Za-z0-9_.]{0,8}[A-Za-z0-9]", fullmatch=True).filter(
    lambda t: not t.islower()
)
target = word.map(lambda one: (one,)) | st.lists(plain, min_size=1, max_size=3).map(tuple)
key = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True).filter(lambda k: k != "email")
day = st.dates(min_value=date(2000, 1, 1), max_value=date(2100, 1, 1))
NO_PERIOD = {"days": None, "start": None, "end": None}
period = st.one_of(
    st.just(NO_PERIOD),
    st.integers(1, 1000).map(lambda days: NO_PERIOD | {"days": days}),
    st.tuples(day, day).map(lambda two: NO_PERIOD | {"start": min(two), "end": max(two)}),
)
channel = st.sampled_from(["", "#sales", "C0123456789", "C1"])
routes = st.fixed_dictionaries(
    {
        "events": st.lists(st.sampled_from(EVENT_KINDS), min_size=1, max_size=3, unique=True).map(tuple),
        "sequence": st.just("") | word,
        "inbox": st.just("") | word,
        "channel": channel,
        "condensed": st.booleans(),
    }
)
durations = st.none() | st.integers(1, 366 * 86_400).map(lambda s: timedelta(seconds=s))
sentences = st.sampled_from(
    [*SHIPPED.values(), 'pause domain "a b" for 90m when health < 40, except "x@y"']
).map(lambda text: str(parse_rule(text)))
SHAPES: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "help": st.fixed_dictionaries({"command": st.none() | st.sampled_from(list(COMMANDS))}),
    "sequences": st.fixed_dictionaries({"status": st.sampled_from([None, "active", "paused"])}),
    "pause": st.fixed_dictionaries({"target": target, "duration": durations, "reason": st.just("") | word}),
    "resume": st.fixed_dictionaries({"target": target}),
    "inboxes": st.fixed_dictionaries({"filter": st.sampled_from([None, "unhealthy", "acme.com"])}),
    "stats": st.tuples(st.sampled_from(GROUPINGS), period).map(lambda two: {"by": two[0], **two[1]}),
    "report": st.one_of(
        st.integers(1, 366).map(lambda days: NO_PERIOD | {"days": days}),
        st.sampled_from(times.RANGES[1:]).map(lambda name: NO_PERIOD | {"named": name}),
    ),
    "leads": st.fixed_dictionaries(
        {"target": st.just(()) | target, "status": st.sampled_from([None, *LEAD_STATUSES])}
    ),
    "lead": st.fixed_dictionaries({"who": word}),
    "remove": st.fixed_dictionaries({"who": word, "yes": st.booleans()}),
    "add": st.fixed_dictionaries(
        {
            "email": st.emails(),
            "target": target,
            "fields": st.dictionaries(key, st.just("") | word, max_size=3),
        }
    ),
    "subscribe": routes,
    "unsubscribe": routes,
    "subscriptions": st.fixed_dictionaries({"channel": channel}),
    "digest": st.fixed_dictionaries(
        {"action": st.sampled_from(["show", "now", "off"]), "at": st.none(), "channel": channel}
    ),
    "guard": st.one_of(
        st.fixed_dictionaries({"act": st.just("list"), "rule": st.just(""), "name": st.just("")}),
        st.fixed_dictionaries(
            {
                "act": st.sampled_from(["off", "on"]),
                "rule": st.just(""),
                "name": st.sampled_from(["", *SHIPPED]),
            }
        ),
        st.fixed_dictionaries(
            {"act": st.just("add"), "rule": sentences, "name": st.sampled_from(["", "low-1"])}
        ),
        st.fixed_dictionaries({"act": st.just("test"), "rule": sentences, "name": st.just("")}),
        st.fixed_dictionaries(
            {
                "act": st.sampled_from(["test", "remove"]),
                "rule": st.just(""),
                "name": st.sampled_from([*SHIPPED]),
            }
        ),
    ).flatmap(lambda values: st.booleans().map(lambda yes: {**values, "yes": yes})),
}
invocations = st.sampled_from(list(COMMANDS)).flatmap(
    lambda name: st.builds(
        Invocation,
        command=st.just(COMMANDS[name]),
        values=SHAPES.get(name, st.just({})),
        workspace=st.sampled_from([None, "acme", "Globex-2"]),
    )
)


@given(invocations)
def test_a_rendered_line_parses_back(invocation: Invocation) -> None:
    again = parse(render(invocation))
    assert (again.command, again.values, again.workspace) == (
        invocation.command,
        invocation.values,
        invocation.workspace,
    )


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
        assert parse(f"{verb} {text}").command.name in COMMANDS


def test_help_lists_every_command_and_says_what_is_not_for_this_person() -> None:
    card = help_card(allowed=lambda command: not command.changes)
    assert card.table is not None
    assert [str(row.cells[0]).split()[0] for row in card.table.rows] == list(COMMANDS)
    assert "pause" in card.footer
    assert card.buttons
    assert all(not parse(button.command).command.changes for button in card.buttons)


def test_the_help_of_a_command_shows_examples() -> None:
    card = help_card("pause")
    assert [fact.value for fact in card.facts if fact.label == "Example"] == list(COMMANDS["pause"].examples)
