"""What buttons do, as data in their values: written and read, also as versions before wrote it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.blockkit import (
    Cancel,
    Confirm,
    OnAlert,
    OpenForm,
    line_of,
    read_value,
    write_value,
)
from bot.commands.dispatch import read_line
from shared.commands import COMMANDS, invocation
from shared.commands.base import Arguments
from shared.commands.pause import Pause
from shared.commands.times import End, Moment
from shared.commands.undo import UndoChange
from shared.domain.card import Action, Typed
from tests.pure.commands.test_commands import arguments as any_arguments

OURS: tuple[Action, ...] = (
    OnAlert(verb="claim", alert="al_1"),
    OnAlert(verb="snooze", alert="al_1", detail="tomorrow"),
    OnAlert(verb="claim", alert="al_1", then="replies 2 @acme"),
    OnAlert(verb="ack", alert="al_1"),
    OnAlert(verb="lead", alert="al_1"),
    Confirm(nonce="q_1"),
    Confirm(nonce="q_1", choice=1),
    Cancel(),
    OpenForm(verb="pause"),
    OpenForm(verb="add", workspace="acme"),
)


@pytest.mark.parametrize("workspace", [None, "acme"])
def test_an_undo_is_kept_as_the_number_of_its_change(workspace: str | None) -> None:
    undo = UndoChange(change=7)
    value = write_value(undo, workspace=workspace or "")
    assert read_value(value) == invocation(undo, workspace=workspace)
    assert line_of(value) == "undo"


@pytest.mark.parametrize("action", OURS, ids=lambda action: action.line)
def test_what_the_bot_does_is_written_and_read_and_may_be_typed(action: Action) -> None:
    assert read_value(write_value(action)) == action
    assert line_of(write_value(action)) == action.line
    typed = replace(action, then="") if isinstance(action, OnAlert) else action
    assert isinstance(action, OpenForm) or read_line(action.line) == typed


@given(any_arguments, st.sampled_from(["", "acme"]))
def test_the_arguments_of_every_command_are_written_and_read(arguments: Arguments, workspace: str) -> None:
    found = read_value(write_value(arguments, workspace=workspace))
    assert found == invocation(arguments, workspace=workspace or None)


def test_a_moment_is_written_and_read() -> None:
    pause = Pause(target=("sq_1",), end=End(until=Moment(day="29 feb")))
    assert read_value(write_value(pause)) == invocation(pause)


def test_every_command_has_a_name_in_values() -> None:
    for name, command in COMMANDS.items():
        if not command.usage or command.usage.startswith("["):
            assert write_value(command()).startswith(f'["{name}",')


@pytest.mark.parametrize(
    "value", ['["warp",{}]', '["pause",{"speed":9}]', "[", "[]", '["pause",{"target":7}]', "warp 9", "5"]
)
def test_a_value_of_another_version_means_nothing_and_breaks_nothing(value: str) -> None:
    assert read_value(value) == Typed(value)
