"""`away` and `back`: until when a person gets no turns, and who is away in `status`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from shared.commands import UsageError, parse
from shared.commands.away import Away
from shared.records.audit import Actor
from tests.shared.doubles import CommandHarness, MemoryRecords, open_harness


@pytest.fixture
async def harness() -> AsyncIterator[CommandHarness]:
    opened = open_harness()
    opened.actor = Actor(name="ann", id="U1", face="slack")
    yield opened
    await opened.client.aclose()


def records(harness: CommandHarness) -> MemoryRecords:
    assert isinstance(harness.records, MemoryRecords)
    return harness.records


@pytest.mark.parametrize(
    ("line", "until"),
    [
        ("away until monday", datetime(2026, 3, 16, 9, tzinfo=UTC)),
        ("away until tomorrow 14:00", datetime(2026, 3, 11, 14, tzinfo=UTC)),
        ("away for 2h", datetime(2026, 3, 10, 16, 30, tzinfo=UTC)),
        ("away for 2 h", datetime(2026, 3, 10, 16, 30, tzinfo=UTC)),
        ("away", None),
    ],
)
async def test_a_person_is_away_until_then(
    harness: CommandHarness, line: str, until: datetime | None
) -> None:
    result = await harness.read(parse(line))
    (absence,) = records(harness).turns.away.values()
    assert (absence.person, absence.name, absence.until) == ("U1", "ann", until)
    assert result.until == until
    assert result.changed
    (entry,) = records(harness).entries
    assert entry.command == line
    assert "@ann" in (await harness.read(parse("status"))).card.facts[-2].value


async def test_back_ends_it_once(harness: CommandHarness) -> None:
    await harness.read(parse("away"))
    assert (await harness.read(parse("back"))).changed
    assert records(harness).turns.away == {}
    again = await harness.read(parse("back"))
    assert (again.card.title, again.changed) == ("You aren't away", False)


@pytest.mark.parametrize(
    ("line", "problem", "hint"),
    [
        ("away until mondy", "“mondy” isn't a day or time", "Did you mean until monday?"),
        ("away for a while", "“for a while” isn't an end", "Use for 2h, until monday"),
        ("away monday", "“monday” isn't an end", "Use for 2h, until monday"),
        ("back tomorrow", "“tomorrow” isn't expected here", ""),
    ],
)
def test_words_that_are_no_end_are_refused_with_what_would_be(line: str, problem: str, hint: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(line)
    assert refused.value.card.title == problem
    assert hint in " ".join(refused.value.card.text)


@pytest.mark.parametrize("line", ["away", "away for 2h", "away until monday", "away until tomorrow 14:00"])
def test_the_arguments_are_written_as_they_are_read(line: str) -> None:
    arguments = parse(line).arguments
    assert isinstance(arguments, Away)
    assert arguments.line == line


async def test_a_day_that_has_passed_changes_nothing(harness: CommandHarness) -> None:
    result = await harness.read(parse("away until 2020-01-01"))
    assert result.problem
    assert records(harness).turns.away == {}
