"""What an import says: how it reads the file, what a trial found, what became of the rows."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict

from cli.bulk.columns import Assignment
from cli.bulk.csv_format import Survey
from cli.bulk.row_counts import Tally
from cli.bulk.row_reader import Outcome
from cli.console import card_output
from shared.domain.card import Card, Fact, Row, Table, Tone, columns, number

MOST_SHOWN = 10
DELIMITERS = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar"}


def show_columns(survey: Survey, assignments: Sequence[Assignment]) -> None:
    """How the file is read, to stderr, with an example of each column."""
    rows = tuple(
        Row(cells=(a.title or "(no title)", _filled(a), _example(survey, place)))
        for place, a in enumerate(assignments)
    )
    delimiter = DELIMITERS.get(survey.delimiter, survey.delimiter)
    card = Card(
        title=str(survey.path),
        text=(f"{survey.size:,} bytes, {survey.encoding}, {delimiter}-separated",),
        table=Table(columns=columns("Column", "Fills", "Example"), rows=rows),
    )
    card_output.show(card, stream=sys.stderr)


def show_trial(sendable: int, refused: int, shown: Sequence[Outcome], *, as_json: bool) -> None:
    """What `--dry-run` found, to stdout."""
    if as_json:
        card_output.print_data([{"sendable": sendable, "refused": refused}])
        return
    card = Card(
        title=f"{sendable:,} leads can be sent, {refused:,} rows cannot",
        tone=Tone.WARN if refused else Tone.GOOD,
        text=("Nothing was sent.",),
        table=_refusals(shown, total=refused),
    )
    card_output.show(card)


def show_result(tally: Tally, *, sequence: str, report: str, as_json: bool) -> None:
    """What became of the rows, to stdout."""
    if as_json:
        card_output.print_data([{**asdict(tally), "sequence": sequence, "report": report}])
        return
    facts = [
        Fact(label="Added", value=f"{tally.added:,}", tone=Tone.GOOD),
        Fact(label="Skipped", value=f"{tally.skipped:,}"),
        Fact(label="Refused", value=f"{tally.refused:,}", tone=Tone.WARN if tally.refused else Tone.INFO),
    ]
    if tally.unknown:
        told = f"{tally.unknown:,}, as the service did not say which rows it skipped"
        facts.append(Fact(label="Added or skipped", value=told, tone=Tone.UNKNOWN))
    card = Card(
        title=f"{_title(tally)} {sequence}",
        tone=Tone.WARN if tally.refused else Tone.GOOD,
        facts=(*facts, Fact(label="Report", value=report)),
    )
    card_output.show(card)


def _title(tally: Tally) -> str:
    """What an import came to in all, before the sequence's name."""
    if tally.unknown:
        return f"{tally.rows:,} rows read for"
    return (
        f"{tally.added:,} of {tally.rows:,} rows added to"
        if tally.added
        else f"None of {tally.rows:,} rows added to"
    )


def _filled(assignment: Assignment) -> str:
    told = assignment.field or "–"
    return f"{told} ({assignment.why})" if assignment.why else told


def _example(survey: Survey, place: int) -> str | None:
    return next((row[place] for row in survey.sample if place < len(row) and row[place].strip()), None)


def _refusals(shown: Sequence[Outcome], *, total: int) -> Table | None:
    if not shown:
        return None
    rows = tuple(Row(cells=(o.row, o.email, o.reason)) for o in shown)
    return Table(columns=columns(number("Row"), "Address", "Reason"), rows=rows, total=total)
