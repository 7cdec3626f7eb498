"""Statements are compiled once, and mean the same in every database."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

COUNTED = sa.Table("counted", sa.MetaData(), sa.Column("number", sa.Integer, primary_key=True))


def test_a_statement_is_compiled_for_the_first_database_alone(tmp_path: Path) -> None:
    engines = [sa.create_engine(address) for address in ("sqlite://", f"sqlite:///{tmp_path / 'file.db'}")]
    hits = []
    for place, engine in enumerate(engines):
        with engine.begin() as connection:
            COUNTED.create(connection)
            connection.execute(COUNTED.insert().values(number=place))
            found = connection.execute(sa.select(COUNTED.c.number + 7))
            assert found.scalars().all() == [place + 7]
            hits.append(found.context.cache_hit.name)
        engine.dispose()
    assert hits == ["CACHE_MISS", "CACHE_HIT"]
