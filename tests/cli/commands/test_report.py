"""`outreach report` against a running sandbox: the page, the data, the summary, and what is wrong with a logo."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Shell


def configured(shell: Shell, **report: str) -> str:
    file = shell.home / "outreach.toml"
    file.write_text("[report]\n" + "".join(f'{name} = "{value}"\n' for name, value in report.items()))
    return str(file)


def test_the_page_and_the_data_are_written(shell: Shell) -> None:
    logo = shell.home / "logo.svg"
    logo.write_text('<svg xmlns="http://www.w3.org/2000/svg"><circle r="9"/></svg>')
    config = configured(shell, name="Northline", color="#0f766e", logo=str(logo))
    file = shell.home / "report.html"
    ran = shell.run("--config", config, "report", "last-week", "--html", str(file), "--json")
    assert ran.code == 0
    text = file.read_text(encoding="utf-8")
    assert "Northline" in text
    assert "data:image/svg+xml;base64," in text
    assert "http" not in text.replace("http-equiv", "")
    (data,) = json.loads(ran.out)
    assert data["totals"]["sends"] > 0
    assert len(data["days"]) == 7
    assert sum(day["sends"] for day in data["days"]) == data["totals"]["sends"]
    assert data["totals"]["reply_rate_low"] < data["totals"]["reply_rate"] < data["totals"]["reply_rate_high"]


def test_without_options_the_summary_is_shown(shell: Shell) -> None:
    ran = shell.run("report", "last-month")
    assert ran.code == 0
    assert "Report, " in ran.out
    assert "Time to claim" in ran.out


def test_the_page_goes_to_stdout(shell: Shell) -> None:
    ran = shell.run("report", "--html", "-")
    assert ran.out.startswith("<!doctype html>")
    assert shell.run("report", "--html", "-", "--json").code == 2


def test_a_logo_that_is_none_and_a_folder_that_is_not_there_are_refused(shell: Shell) -> None:
    (shell.home / "logo.png").write_text("no picture")
    config = configured(shell, logo=str(shell.home / "logo.png"))
    ran = shell.run("--config", config, "report")
    assert (ran.code, "neither a PNG nor an SVG" in ran.err) == (2, True)
    ran = shell.run("--config", configured(shell, logo=str(shell.home / "none.png")), "report")
    assert (ran.code, "none.png" in ran.err) == (2, True)
    ran = shell.run("report", "--html", str(Path(shell.home) / "none" / "report.html"))
    assert (ran.code, "there is no folder" in ran.err) == (1, True)


def test_a_color_that_is_none_is_refused(shell: Shell) -> None:
    ran = shell.run("--config", configured(shell, color="teal"), "report")
    assert (ran.code, "#2563eb" in ran.err) == (2, True)
