"""In the context of an assistant nothing is written, whatever the command."""

from __future__ import annotations

import pytest

from shared.assistants.reading import CLIENT_READS, PARTS, RECORDS_READS, WouldChangeError, reading_only
from shared.commands import COMMANDS, parse
from shared.commands.base import Question, Result
from shared.commands.run import carry_out, run
from tests.shared.harness import CommandHarness

LINES = {
    "pause": "pause sq_1 for 2h reason a test",
    "resume": "resume sq_2",
    "add": "add new@acme.com to sq_1",
    "remove": "remove ld_1",
    "subscribe": "subscribe bounces <#C1>",
    "unsubscribe": "unsubscribe all <#C1>",
    "digest": "digest at 09:00 <#C1>",
    "guardrails": "guardrails off",
    "undo": "undo",
}
READING = [
    line
    for command in COMMANDS.values()
    for line in command.examples
    if command.assistants and not parse(line).changes
]


def test_every_changing_command_has_a_case() -> None:
    assert {*LINES} == {name for name, one in COMMANDS.items() if one.changes and one.assistants}


@pytest.mark.parametrize("line", LINES.values())
async def test_no_changing_command_writes_anything(harness: CommandHarness, line: str) -> None:
    context = reading_only(harness.context)
    try:
        result = await run(parse(line), context)
        # The yes is carried out as well: behind a question stands the act, which a person alone may tap.
        if isinstance(result, Question):
            result = await carry_out(result.choices[0].act, context)
    # Stopped at the write or refused before: both are right, as long as nothing was written.
    except WouldChangeError:
        pass
    else:
        assert result.refused
    assert {method for method, _, _ in harness.service.requests} <= {"GET"}
    assert await harness.entries() == []
    assert await harness.timers() == []


@pytest.mark.parametrize("line", READING)
async def test_every_reading_command_reads_as_ever(harness: CommandHarness, line: str) -> None:
    usual = await run(parse(line), harness.context)
    result = await run(parse(line), reading_only(harness.context))
    assert isinstance(result, Result)
    assert isinstance(usual, Result)
    assert (result.card, result.rows) == (usual.card, usual.rows)


def test_a_method_that_is_not_named_counts_as_a_change(harness: CommandHarness) -> None:
    looking = reading_only(harness.context)
    assert looking.records is not None
    for name in ("pause_sequence", "resume_sequence", "add_leads", "remove_lead", "create_webhook", "aclose"):
        assert name not in CLIENT_READS
        with pytest.raises(WouldChangeError):
            getattr(looking.client, name)
    for name in ("subscribe", "set_timer", "give_up_channel", "_look"):
        assert name not in RECORDS_READS
        with pytest.raises(WouldChangeError):
            getattr(looking.records, name)
    with pytest.raises(WouldChangeError):
        looking.records.guardrails.add_rule  # noqa: B018
    # A part that the records get fails here, so that its methods are looked at before an assistant reaches them.
    assert {*PARTS} == {"changes", "domains", "guardrails", "turns"}
