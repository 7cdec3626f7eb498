"""The template that `outreach init` writes, and the names that the dashboard knows."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from shared.settings import load
from shared.settings.sections import VARIABLES
from shared.settings.template import commented_template
from tests.pure.settings.environments import ALL


def test_the_template_is_toml_names_every_setting_and_works_when_uncommented(tmp_path: Path) -> None:
    template = commented_template()
    assert tomllib.loads(template) == {"slack": {}}
    assert all(variable in template for variable in VARIABLES.values())
    lines = [line.removeprefix("# ") for line in template.splitlines() if " = " in line or "[" in line]
    lines = [line for line in lines if not line.startswith("client_id")]  # the ids are those of one bot token
    (tmp_path / "outreach.toml").write_text("\n".join(lines))
    assert load(environ={}, needs=ALL).workspace().name == "acme"


def samples() -> list[tuple[str, str]]:
    """The sample lines of the template, each with the table that it is in."""
    table, found = "", []
    for line in commented_template().splitlines():
        if re.match(r"(# )?\[", line):
            table = line.removeprefix("# ")
        elif re.match(r'# "?[\w.-]+"? = ', line):
            found.append((table, line.removeprefix("# ")))
    return found


REQUIRED = {
    "[[routes.rules]]": ('channel = "C0123456789"', 'events = ["*"]'),
    "[routes.rota]": ('people = ["U0123456789"]',),
    "[[guardrails]]": ('name = "low"', 'rule = "tell when health < 40"'),
}


@pytest.mark.parametrize(("table", "sample"), samples())
def test_each_sample_of_the_template_loads_when_its_line_alone_is_uncommented(
    tmp_path: Path, table: str, sample: str
) -> None:
    key = sample.partition(" = ")[0]
    others = [line for line in REQUIRED.get(table, ()) if line.partition(" = ")[0] != key]
    named = ["[workspaces.acme]"] if '"acme"' in sample else []
    file = tmp_path / "outreach.toml"
    file.write_text("\n".join([table, *others, sample, *named]))
    assert load(config=file, environ={}).files == (file,)
