"""What buttons do, as data in their values: written and read, also as versions before wrote it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.blockkit.actions import (
    Cancel,
    Confirm,
    OnAlert,
    OpenForm,
    Perform,
    ShowHome,
    line_of,
    read_line,
    read_value,
    write_value,
)
from bot.blockkit.elements import OPTION_VALUE
from shared.commands import COMMANDS, Invocation, UsageError, invocation
from shared.commands.base import Arguments
from shared.commands.digest import Digest
from shared.commands.guardrails import Guard
from shared.commands.help import Help
from shared.commands.inboxes import Inboxes
from shared.commands.leads import Lead, Leads, Remove
from shared.commands.pause import Pause, Resume
from shared.commands.replies import Replies
from shared.commands.sequences import Sequences
from shared.commands.stats import Stats
from shared.commands.status import Status
from shared.commands.subscribe import Unsubscribe
from shared.commands.times import Moment, Period
from shared.commands.undo import UndoChange
from shared.domain.card import Action, Typed
from tests.shared.commands.test_commands import arguments as any_arguments

OURS: tuple[Action, ...] = (
    OnAlert(verb="claim", alert="al_1"),
    OnAlert(verb="snooze", alert="al_1", detail="tomorrow"),
    OnAlert(verb="claim", alert="al_1", then=invocation(Replies(page=2), workspace="acme")),
    OnAlert(verb="ack", alert="al_1"),
    OnAlert(verb="lead", alert="al_1"),
    Confirm(nonce="q_1"),
    Confirm(nonce="q_1", choice=1),
    Cancel(),
    OpenForm(verb="pause"),
    OpenForm(verb="add", workspace="acme"),
    ShowHome(),
    ShowHome(workspace="acme"),
    ShowHome(workspace=""),
)

RULE = (
    "pause sequence for 4h when bounces > 5% of at least 50 sends in 24h, at most 3 a day, "
    "at most 2 sequences at once"
)
BEFORE: tuple[tuple[str, Action | Arguments, str | None], ...] = (
    (
        "claim al_01jd > open 1",
        OnAlert(verb="claim", alert="al_01jd", then=replace(invocation(Replies(page=1)), line="open 1")),
        None,
    ),
    ("claim al_01jd", OnAlert(verb="claim", alert="al_01jd"), None),
    ("dismiss al_01jd", OnAlert(verb="dismiss", alert="al_01jd"), None),
    ("dismiss al_01jd no budget", OnAlert(verb="dismiss", alert="al_01jd", detail="no budget"), None),
    ("done al_01jd", OnAlert(verb="done", alert="al_01jd"), None),
    ("handled al_01jd", OnAlert(verb="handled", alert="al_01jd"), None),
    ("lead al_01jd", OnAlert(verb="lead", alert="al_01jd"), None),
    ("reply al_01jd", OnAlert(verb="reply", alert="al_01jd"), None),
    ("release al_01jd", OnAlert(verb="release", alert="al_01jd"), None),
    ("reopen al_01jd", OnAlert(verb="reopen", alert="al_01jd"), None),
    ("takeover al_01jd", OnAlert(verb="takeover", alert="al_01jd"), None),
    ("snooze al_01jd tomorrow", OnAlert(verb="snooze", alert="al_01jd", detail="tomorrow"), None),
    ("ack al_01jd", OnAlert(verb="ack", alert="al_01jd"), None),
    ("yes q_86c21f0e8f0d9a4b", Confirm(nonce="q_86c21f0e8f0d9a4b"), None),
    ("no", Cancel(), None),
    ("form add", OpenForm(verb="add"), None),
    ("form pause @acme", OpenForm(verb="pause", workspace="acme"), None),
    ("home", ShowHome(), None),
    ("home @globex", ShowHome(workspace="globex"), None),
    ("home all", ShowHome(workspace=""), None),
    ("digest off <#C0ALERTS01>", Digest(action="off", channel="C0ALERTS01"), None),
    (f'guard add "{RULE}" as b5', Guard(act="add", rule=RULE, name="b5"), None),
    ("guard on", Guard(act="on"), None),
    ("guard test b5", Guard(act="test", name="b5"), None),
    ("help add", Help(command="add"), None),
    ("inboxes @default", Inboxes(), "default"),
    ("inboxes acmehq.example", Inboxes(filter="acmehq.example"), None),
    ("lead ada1@acme.example @acme", Lead(who="ada1@acme.example"), "acme"),
    ("open", Replies(), None),
    ('["open",{"page":2}]', Replies(page=2), None),
    ('["guard",{"act":"off","name":"b5"}]', Guard(act="off", name="b5"), None),
    ('["form",{"verb":"guard"}]', OpenForm(verb="guard"), None),
    ('pause "Q3 founders"', Pause(target=("Q3 founders",)), None),
    ("pause domain:mail.example @acme", Pause(target=("domain:mail.example",)), "acme"),
    ("remove ada1@acme.example", Remove(who="ada1@acme.example"), None),
    ("resume sq_2thxrhqy", Resume(target=("sq_2thxrhqy",)), None),
    ("sequences active", Sequences(status="active"), None),
    ("stats by sequence 7d", Stats(period=Period(days=7)), None),
    ("status", Status(), None),
    (
        'unsubscribe lead.replied sequence="SaaS founders" <#C0ALERTS01>',
        Unsubscribe(events=("lead.replied",), sequence="SaaS founders", channel="C0ALERTS01"),
        None,
    ),
)
"""The values that buttons had in messages of the version before, of every kind, and what they mean."""


@pytest.mark.parametrize(("value", "action", "workspace"), BEFORE, ids=[value for value, _, _ in BEFORE])
def test_a_button_of_the_version_before_does_the_same(
    value: str, action: Action | Arguments, workspace: str | None
) -> None:
    found = read_value(value)
    if isinstance(action, Arguments):
        assert isinstance(found, Invocation)
        assert (found.arguments, found.workspace) == (action, workspace)
    else:
        assert found == action


@pytest.mark.parametrize("workspace", [None, "acme"])
def test_an_undo_is_kept_as_the_number_of_its_change(workspace: str | None) -> None:
    undo = Perform(act=UndoChange(change=7), workspace=workspace)
    assert read_value(write_value(undo)) == undo
    assert read_value(write_value(undo.act, workspace=workspace or "")) == undo
    assert line_of(write_value(undo)) == "undo"


@pytest.mark.parametrize("action", OURS, ids=lambda action: action.line)
def test_what_the_bot_does_is_written_and_read_and_may_be_typed(action: Action) -> None:
    assert read_value(write_value(action)) == action
    assert line_of(write_value(action)) == action.line
    assert read_line(action.line) == action


@given(any_arguments, st.sampled_from(["", "acme"]))
def test_the_arguments_of_every_command_are_written_and_read(arguments: Arguments, workspace: str) -> None:
    found = read_value(write_value(arguments, workspace=workspace))
    assert found == invocation(arguments, workspace=workspace or None)


def test_a_moment_is_written_and_read() -> None:
    pause = Pause(target=("sq_1",), until=Moment(month_day=(2, 29)))
    assert read_value(write_value(pause)) == invocation(pause)


def test_every_command_has_a_name_in_values() -> None:
    for name, command in COMMANDS.items():
        if not command.usage or command.usage.startswith("["):
            assert write_value(command.arguments()).startswith(f'["{name}",')


def test_a_value_that_is_too_long_for_a_menu_is_its_line() -> None:
    leads = Leads(target=("x" * 130,), status="interested")
    value = write_value(leads, most=OPTION_VALUE)
    assert value == leads.line
    assert read_value(value) == invocation(leads)


@pytest.mark.parametrize(
    "value", ['["warp",{}]', '["pause",{"speed":9}]', "[", "[]", '["pause",{"target":7}]']
)
def test_a_value_of_another_version_means_nothing_and_breaks_nothing(value: str) -> None:
    assert read_value(value) == Typed(value)


def test_a_line_that_means_nothing_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        read_value("warp 9")


def test_a_button_of_a_kind_that_was_let_go_means_nothing() -> None:
    value = '["share",{"invocation":["status",{},null]}]'
    assert read_value(value) == Typed(value)
