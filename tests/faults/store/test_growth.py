"""No statement of a bot at work reads a whole table that grows: what it reads, it finds by an index.

SQLite is asked for its plan of each statement that a bot makes while deliveries, commands, clicks and jobs come; without
statistics it takes an index wherever one fits. How long the statements take among many rows is the benchmark's.
"""

from __future__ import annotations

import re
from typing import Any

import sqlalchemy as sa

from shared.commands import COMMANDS
from tests.kit import Team, bounced, interested, paused_domain
from tests.kit.fixtures import account, no_idle_waiting, team

__all__ = ["account", "no_idle_waiting", "team"]

GROWING = ("alerts", "audit", "deliveries", "guardrail_samples", "posts")

IN_PORTIONS = "DELETE FROM audit"
"""It looks at the oldest rows alone, in the order of their ids."""
PARTIAL = "SELECT name FROM sqlite_master WHERE type = 'index' AND sql LIKE '% WHERE %'"
"""What such an index holds comes to an end: deliveries that wait, replies that are unclaimed."""


async def test_no_statement_of_a_bot_at_work_reads_a_whole_table_that_grows(team: Team) -> None:
    statements: dict[str, Any] = {}
    assert team.running is not None
    engine = team.running.store.database.engine

    @sa.event.listens_for(engine, "before_cursor_execute")
    def heard(_c: Any, _cursor: Any, statement: str, values: Any, _context: Any, many: object) -> None:
        if not many and statement.lstrip().upper().startswith(("SELECT", "WITH", "UPDATE", "DELETE")):
            statements.setdefault(statement, values)

    for body in (interested("Ada"), interested("Bob"), bounced(), paused_domain()):
        assert await team.deliver(body) == 200
    await team.click(await team.card("Ada"), "Claim")
    for command in COMMANDS.values():
        for line in command.examples:
            await team.say(line)
    await team.pass_time(hours=25)
    with engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
        partial = {name for (name,) in driver.execute(PARTIAL)}
        whole = [
            (plan, statement)
            for statement, values in statements.items()
            if not statement.startswith(IN_PORTIONS)
            for *_, plan in driver.execute(f"EXPLAIN QUERY PLAN {statement}", values)
            if re.match(rf"SCAN (?:{'|'.join(GROWING)})\b", plan) and plan.split()[-1] not in partial
        ]
    # A listener that hears nothing would find nothing wrong.
    assert len(statements) > 100
    assert whole == []
