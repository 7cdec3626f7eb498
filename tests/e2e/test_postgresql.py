"""`doctor` and `webhooks` where the bot's database is a PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy.engine import make_url

from tests.kit import Account, Shell

pytestmark = [pytest.mark.postgresql, pytest.mark.timeout(300)]
URL = "https://ops.example.com/webhooks/outreach"


@pytest.fixture(autouse=True)
def _settings(account: Account, shell: Shell, fresh_postgresql: str, no_idle_waiting: None) -> None:
    shell.use(account.environ)
    shell.set("OUTREACH_DATABASE_URL", fresh_postgresql)


def stored(address: str) -> Iterator[tuple[str, str]]:
    """Every row of every table, as text."""
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    with psycopg.connect(address) as connection:
        for (table,) in connection.execute(tables).fetchall():
            yield table, str(connection.execute(f'SELECT * FROM "{table}"').fetchall())


async def test_doctor_tries_a_postgresql_and_leaves_nothing_in_it(
    shell: Shell, fresh_postgresql: str
) -> None:
    run = await shell.type("doctor", "--json")
    (found,) = [finding for finding in run.data if finding["check"] == "Database"]
    assert (found["status"], "is writable" in found["found"]) == ("passed", True)
    assert "outreach_doctor" not in dict(stored(fresh_postgresql))


async def test_doctor_names_a_postgresql_that_cannot_be_reached_without_its_password(
    shell: Shell, fresh_postgresql: str
) -> None:
    shell.set("OUTREACH_DATABASE_URL", "postgresql://ann:sesame@127.0.0.1:9/bot")
    run = await shell.type("doctor", "--json")
    (found,) = [finding for finding in run.data if finding["check"] == "Database"]
    assert found["status"] == "failed"
    assert found["fix"]
    assert "ann:***@127.0.0.1:9" in found["found"]
    assert "sesame" not in run.out + run.err
    missing = make_url(fresh_postgresql).set(database="missing").render_as_string(hide_password=False)
    shell.set("OUTREACH_DATABASE_URL", missing)
    run = await shell.type("doctor", "--json")
    (found,) = [finding for finding in run.data if finding["check"] == "Database"]
    assert (found["status"], '"missing" does not exist' in found["found"]) == ("failed", True)


async def test_webhooks_are_kept_rotated_and_forgotten_in_a_postgresql(
    shell: Shell, fresh_postgresql: str
) -> None:
    shell.set("OUTREACH_SECRET_KEY", "a-key-of-32-random-bytes-or-more")
    made = (
        await shell.type("webhooks", "create", "--url", URL, "interested", "--json", "--show-secret")
    ).data
    (listed,) = (await shell.type("webhooks", "list", "--json", "--show-secret")).data
    assert [listed] == made
    assert not [table for table, rows in stored(fresh_postgresql) if listed["secret"] in rows]
    (fresh,) = (await shell.type("webhooks", "rotate", "--yes", "--json", "--show-secret")).data
    assert fresh["secret"] != listed["secret"]
    both = (await shell.type("webhooks", "list", "--json")).data
    assert {one["id"]: bool(one["accepted_until"]) for one in both} == {
        listed["id"]: True,
        fresh["id"]: False,
    }
    for one in both:
        assert (await shell.type("webhooks", "forget", one["id"], "--yes")).code == 0
    assert (await shell.type("webhooks", "list", "--json")).data == []
    found = {one["check"]: one for one in (await shell.type("doctor", "--json")).data}
    assert found["Webhook secrets of default"]["status"] == "failed"
