"""What the talk with people needs of the database: questions and their answers, whose message it is, who has what."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from bot.store.alerts import claims, confirmations
from bot.store.alerts.claims import ClaimState
from bot.store.alerts.confirmations import Answered, Question
from bot.store.db.engine import Store
from bot.store.db.schema import alerts, posts

MOST = 50


class Interaction:
    """Beside the ledger, on the same store. Every method raises `RecordsUnavailable`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def ask(self, question: Question, *, seconds: float) -> str:
        """Keep a question for so long; returns its nonce."""
        return await self._store.write(
            lambda c: confirmations.ask(c, question, now=self._store.now(c), seconds=seconds)
        )

    async def ask_undo(
        self, line: str, names: Sequence[str], *, workspace: str, person: str, seconds: float
    ) -> str:
        """Keep an Undo of what this person has just done to these sequences; returns its nonce."""

        def kept(connection: sa.Connection) -> str:
            since = confirmations.last_entry(connection, workspace, person)
            undo = Question(line=line, person="", workspace=workspace, names=names, since=since)
            return confirmations.ask(connection, undo, now=self._store.now(connection), seconds=seconds)

        return await self._store.write(kept)

    async def look(self, nonce: str, person: str) -> Answered:
        """What an answer would come to; it uses nothing up."""
        return await self._store.read(lambda c: confirmations.look(c, nonce, person, now=self._store.now(c)))

    async def give_back(self, nonce: str) -> None:
        """Open a question again whose answer could not be carried out."""
        await self._store.write(lambda c: confirmations.give_back(c, nonce))

    async def answer(self, nonce: str, person: str) -> Answered:
        """Use a question up; what comes back says whether it counted."""
        return await self._store.write(
            lambda c: confirmations.answer(c, nonce, person, now=self._store.now(c))
        )

    async def alert_at(self, channel: str, ts: str) -> ClaimState | None:
        """The alert that a message shows; None where it shows none, or several."""
        return await self._store.read(lambda c: _alert_at(c, channel, ts))

    async def places(self, names: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Channel and `ts` of each alert's message, as far as it was posted."""
        return await self._store.read(lambda c: _places(c, names))

    async def keeps(self, channel: str, ts: str) -> bool:
        """Whether a message is the ledger's, and painted anew when what it shows has changed."""
        query = sa.select(posts.c.id).where(_at(channel, ts)).limit(1)
        return await self._store.read(lambda c: c.execute(query).first() is not None)

    async def paint_again(self, channel: str, ts: str) -> bool:
        """Have a message painted; whether it is the ledger's."""
        return await self._store.write(lambda c: _paint_again(c, channel, ts, now=self._store.now(c)))

    async def held_by(self, person: str) -> Sequence[ClaimState]:
        """The alerts that a person has claimed and not handled, the newest first."""
        return await self._store.read(lambda c: _held_by(c, person))


def _at(channel: str, ts: str) -> sa.ColumnElement[bool]:
    return (posts.c.channel == channel) & (posts.c.ts == ts)


def _paint_again(connection: sa.Connection, channel: str, ts: str, *, now: float) -> bool:
    again = {"version": posts.c.version + 1, "repaint_at": now}
    return connection.execute(sa.update(posts).where(_at(channel, ts)).values(**again)).rowcount > 0


def _alert_at(connection: sa.Connection, channel: str, ts: str) -> ClaimState | None:
    where = _at(channel, ts) & (posts.c.alert_id != "")
    found = connection.scalars(sa.select(posts.c.alert_id).where(where).distinct().limit(2)).all()
    return claims.read(connection, found[0]) if len(found) == 1 else None


def _places(connection: sa.Connection, names: Sequence[str]) -> dict[str, tuple[str, str]]:
    where = posts.c.alert_id.in_(names) & (posts.c.ts != "") & (posts.c.kind == "alert")
    query = sa.select(posts.c.alert_id, posts.c.channel, posts.c.ts).where(where).order_by(posts.c.id.desc())
    return {row.alert_id: (row.channel, row.ts) for row in connection.execute(query)}


def _held_by(connection: sa.Connection, person: str) -> Sequence[ClaimState]:
    where = (alerts.c.claimed_by == person) & alerts.c.handled_at.is_(None)
    query = sa.select(alerts.c.id).where(where).order_by(alerts.c.claimed_at.desc()).limit(MOST)
    found = [claims.read(connection, name) for name in connection.scalars(query).all()]
    return [held for held in found if held]
