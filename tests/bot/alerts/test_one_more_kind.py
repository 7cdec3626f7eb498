"""A kind of event and a kind of message are one entry each: everything else follows from the table."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from shared.api.event_kinds import DELIVERED
from shared.api.words import EventKind

ROOT = Path(__file__).parents[3]
EVENT = """KindOfEvent(
    name="lead.called", meaning="a lead called", noun="call", label="Call from a lead", title="Called", at_once=True,
    claimable=True, urgency=2,
)"""
POST = """KindOfPost(name="kudos", meaning="praise", broadcast=True, repainted=True, settled_by="claim")"""
PROGRAM = """
import importlib.util, sys
from pathlib import Path
module, entry, what = sys.argv[1:]
path = Path(module.replace(".", "/") + ".py")
source = path.read_text()
assert source.count("_TABLE = (") == 1
made = importlib.util.module_from_spec(importlib.util.spec_from_file_location(module, path))
sys.modules[module] = made
exec(source.replace("_TABLE = (", f"_TABLE = ({entry},"), made.__dict__)
from tests.bot.alerts.one_more_kind import run
run(what)
"""


@pytest.mark.parametrize(
    ("module", "entry", "what"),
    [("shared.api.event_kinds", EVENT, "event"), ("shared.store.post_kinds", POST, "post")],
    ids=["event", "post"],
)
def test_a_kind_is_one_entry(module: str, entry: str, what: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, module, entry, what],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_names_for_type_checkers_are_those_of_the_table() -> None:
    assert set(get_args(EventKind)) == set(DELIVERED)
