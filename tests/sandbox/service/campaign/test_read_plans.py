"""The reads of the simulation stay short in a huge account: each walks what it asks for, not the whole workspace."""

from __future__ import annotations

from sqlalchemy import Select, create_engine
from sqlalchemy.dialects import sqlite

from sandbox.service.base import schema
from sandbox.service.campaign import health_review, sending


def plan_of(statement: Select[tuple[object, ...]], **values: object) -> str:
    """How SQLite, without statistics, carries a statement out."""
    compiled = statement.compile(dialect=sqlite.dialect(paramstyle="named"))
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        schema.metadata.create_all(connection)
        explained = f"EXPLAIN QUERY PLAN {compiled}".replace("%%", "%")
        driver = connection.connection.driver_connection
        assert driver is not None
        rows = driver.execute(explained, compiled.params | values).fetchall()
    engine.dispose()
    return "\n".join(row[3] for row in rows)


def test_judging_a_domain_reads_the_counts_of_its_own_inboxes_only() -> None:
    plan = plan_of(health_review._OF_DOMAIN, workspace=1, domain=1, first=1, last=6)
    assert "workspace_pk=? AND grouping=? AND group_key=? AND day>? AND day<?" in plan


def test_the_inboxes_of_a_round_find_their_first_follow_up_through_an_index() -> None:
    plan = plan_of(sending._DUE_INBOXES, until=0.0)
    assert "next_slot_at<?" in plan
    assert plan.count("leads_due (sequence_pk=? AND inbox_pk=? AND due_at<?)") == 2
    assert "TEMP B-TREE" not in plan
