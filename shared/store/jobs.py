"""The one table of what is due: each row says when to look again, and what is true stays in its own row.

A job is unique by kind, workspace and key, which makes it also the lock of what it is about. Its `due_at` is
the end of the lease while someone has it, and NULL while it sleeps. A claim gives it a random token: whoever
lost it writes with an old token and changes nothing, also where SQLite has given the id to another row.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

import sqlalchemy as sa

from shared.frozen import frozen
from shared.store import facts
from shared.store.db.engine import Repository, Transaction, probes, writes
from shared.store.db.schema import NOW, jobs

Kind = Literal[
    "act", "digest", "domain", "evaluate", "late", "lookup", "paint", "post", "release", "remind", "resume"
]
KINDS = frozenset(get_args(Kind))
"""The kinds that this version does; a job of another kind was put by a newer one, and waits for it."""
TRIED_AT_START = ("lookup", "paint", "post")
"""The kinds whose jobs are put off only because they failed, or Slack asked to wait."""
ASKED_FOR, ORDINARY = 0, 1
"""The ranks: a person waits for it, or nobody does."""
ORPHANED_SECONDS = 30 * 86_400.0
"""The time for which a due job of a workspace that left the settings is kept, should the workspace come back."""
TOKEN_BITS = 62
How = Literal["keep", "sooner", "replace"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Job:
    """A job that was claimed: ours as long as its row has `token`."""

    id: int
    kind: str
    key: str
    token: int
    workspace: str = ""
    rank: int = ORDINARY
    attempts: int = 1
    """The number of its claims since it was put, or since it last came to an end: crashes count."""
    revision: int = 0
    due_at: float | None = None
    """The time when it is due, or when the lease of whoever has it ends; None while it sleeps."""
    payload: Mapping[str, Any]
    deadline: float = math.inf
    """The time, by `boot_time`, from which on whoever claimed it must not act for it."""


@frozen
class Done:
    """The end of a job; where it was put again meanwhile, it is due at once."""


@frozen
class Again:
    """A job to look at again after so many seconds; None: it sleeps until it is put."""

    after: float | None
    attempts: int | None = None
    """The number of attempts to set; None leaves it as it is."""


End = Done | Again

_c = jobs.c
_WORKSPACES: sa.BindParameter[Any] = sa.bindparam("workspaces", expanding=True)
# As a CASE, of which PostgreSQL expects that it holds for many rows: with an OR it expects that for hardly any,
# and would sort all that is due instead of reading the index in its order.
_KNOWN = sa.case((_c.workspace == "", sa.true()), else_=sa.func.lower(_c.workspace).in_(_WORKSPACES))
_SECONDS = sa.bindparam("seconds", type_=sa.Double)
_OF_ANY_RANK = _c.rank.in_((ASKED_FOR, ORDINARY))
"""A condition in the words of the index, which has the rank before the time."""
_OURS = (_c.id == sa.bindparam("job")) & (_c.token == sa.bindparam("held"))
_DUE = (
    sa.select(_c.id)
    .where(_c.kind == sa.bindparam("of_kind"), _c.rank == sa.bindparam("of_rank"), _c.due_at <= NOW, _KNOWN)
    .order_by(_c.due_at, _c.id)
    .limit(sa.bindparam("limit"))
    .with_for_update(skip_locked=True)
)
_LEASED = {"token": sa.bindparam("new_token"), "due_at": NOW + _SECONDS, "attempts": _c.attempts + 1}
_SEEN = _c.revision == sa.bindparam("seen")
_DONE = sa.delete(jobs).where(_OURS, _SEEN)
_AT = sa.case((_SEEN, sa.bindparam("at", type_=sa.Double)), else_=sa.bindparam("changed_at", type_=sa.Double))
_AGAIN = (
    sa.update(jobs)
    .where(_OURS)
    .values(
        token=0,
        rank=sa.bindparam("kept_rank"),
        attempts=sa.bindparam("tried"),
        # As it stands, where nothing else is given: it may have been changed under the lease.
        payload=sa.func.coalesce(sa.bindparam("kept", type_=sa.Text), _c.payload),
        due_at=_AT,
    )
)
_RENEW = sa.update(jobs).where(_OURS).values(due_at=NOW + _SECONDS)


@cache
def _claim(*, is_postgresql: bool) -> sa.Update:
    """The claim of what is due of one kind and rank.

    PostgreSQL may run a subquery of IN more than once, and would lock more rows than it gives: an array is
    made once.
    """
    mine = _c.id == sa.func.any(sa.func.array(_DUE.scalar_subquery())) if is_postgresql else _c.id.in_(_DUE)
    return sa.update(jobs).where(mine).values(_LEASED).returning(jobs)


@cache
def _next_of(kinds: tuple[Kind, ...]) -> sa.Select[Any]:
    """The query for when the first job of each kind and rank is due: one look into the index each."""
    firsts = [
        sa.select(_c.due_at)
        .where(_c.kind == kind, _c.rank == rank, _c.due_at.is_not(None), _KNOWN)
        .order_by(_c.due_at)
        .limit(1)
        .scalar_subquery()
        for kind in kinds
        for rank in (ASKED_FOR, ORDINARY)
    ]
    return sa.select(*firsts)


class Jobs(Repository):
    """The jobs that are due, and who does them."""

    @probes
    def unknown_kinds(self, tx: Transaction) -> Sequence[str]:
        """The kinds of jobs that this version doesn't know."""
        return [*tx.scalars(sa.select(_c.kind).where(_c.kind.not_in(KINDS)).distinct())]

    @writes
    def claim(
        self,
        tx: Transaction,
        kind: Kind,
        *,
        lease: float,
        limit: int,
        workspaces: Collection[str],
    ) -> Sequence[Job]:
        """Lease what is due of a kind in these workspaces, first what a person waits for.

        The case of the workspaces' names is ignored; jobs of none belong to all.
        """
        same = {"of_kind": kind, "now": tx.now, "seconds": lease}
        claimed: list[Job] = []
        # Slack bounds how often messages are updated, over all bots.
        is_paced = kind == "paint"
        free = facts.free_updates(tx) if is_paced else (limit, limit)
        for rank, may_begin in zip((ASKED_FOR, ORDINARY), free, strict=True):
            most = min(limit, may_begin) - len(claimed)
            if most > 0:
                token = 1 + secrets.randbits(TOKEN_BITS)
                values = {**same, **_lower(workspaces), "of_rank": rank, "limit": most, "new_token": token}
                rows = tx.execute(_claim(is_postgresql=tx.is_postgresql), values).all()
                claimed += [_read(row) for row in sorted(rows, key=lambda row: int(row.id))]
        if is_paced and claimed:
            facts.take_updates(tx, len(claimed))
        return claimed

    @probes
    def waits(
        self, tx: Transaction, kinds: Collection[Kind], workspaces: Collection[str]
    ) -> Mapping[Kind, float]:
        """The seconds after which something of each kind is due, 0 or less if it is; without those that rest."""
        names = tuple(sorted(kinds))
        row = tx.execute(_next_of(names), _lower(workspaces)).one()
        # Two of each kind, one of each rank.
        times = {
            name: [at for at in row[2 * n : 2 * n + 2] if at is not None] for n, name in enumerate(names)
        }
        return {name: min(due) - tx.now for name, due in times.items() if due}

    @writes
    def keep_going(self, tx: Transaction, kind: Kind, workspaces: Collection[str]) -> None:
        """Have something looked at again and again in each of these workspaces."""
        for name in sorted(workspaces):
            put(tx, kind, "", workspace=name)

    @writes
    def renew(self, tx: Transaction, claimed: Sequence[Job], *, lease: float) -> None:
        """Keep the leases of those that are still ours."""
        values = [{"job": job.id, "held": job.token, "now": tx.now, "seconds": lease} for job in claimed]
        tx.execute(_RENEW, values)

    @writes
    def end(self, tx: Transaction, ends: Mapping[Job, End]) -> None:
        """Write down how jobs ended, where they are still ours."""
        for job, how in ends.items():
            if isinstance(how, Done):
                finish(tx, job)
            else:
                rank = job.rank if how.attempts is None else ORDINARY  # who waits, waits for the next try too
                attempts = job.attempts if how.attempts is None else how.attempts
                again(tx, job, after=how.after, attempts=attempts, rank=rank)

    @writes
    def sweep(self, tx: Transaction, leases: Mapping[str, tuple[float, float]]) -> None:
        """Free what is leased, or put off, for longer than its kind allows: the clock was set back."""
        for kind, (lease, farthest) in leases.items():
            for which, seconds in ((_c.token != 0, lease), (_c.token == 0, farthest)):
                too_far = (_c.kind == kind) & _OF_ANY_RANK & which & (_c.due_at > tx.now + seconds)
                tx.update(jobs, too_far, due_at=tx.now, token=0)

    @writes
    def take_over(self, tx: Transaction) -> None:
        """Free what a dead process had leased, and try what was put off; only for the one process that is alive.

        By whose clock it was put off is not known: it may have been set back since.
        """
        tx.update(jobs, _c.token != 0, due_at=tx.now, token=0)
        put_off = _c.kind.in_(TRIED_AT_START) & _OF_ANY_RANK & (_c.due_at > tx.now)
        tx.update(jobs, put_off, due_at=tx.now)

    @writes
    def forget_orphans(self, tx: Transaction, workspaces: Collection[str]) -> int:
        """Delete what has been due for `ORPHANED_SECONDS` in no workspace of the settings; returns how many."""
        old = _c.kind.in_(KINDS) & _OF_ANY_RANK & (_c.due_at < tx.now - ORPHANED_SECONDS)
        return tx.execute(sa.delete(jobs).where(old, sa.not_(_KNOWN)), _lower(workspaces)).rowcount


def _lower(workspaces: Collection[str]) -> dict[str, list[str]]:
    return {"workspaces": [name.lower() for name in workspaces]}


def put(
    tx: Transaction,
    kind: Kind,
    *keys: str,
    at: float | None = None,
    how: How = "keep",
    workspace: str = "",
    rank: int = ORDINARY,
    payload: Mapping[str, Any] = facts.NOTHING,
) -> None:
    """Have something looked at, or several, in one order for all processes; now, unless `at` is given.

    Where the job is there already, `keep` only wakes it if it sleeps, so that its pace and its trouble stay;
    `sooner` brings it forward; both have whoever does it just now do it again. `replace` makes it another job:
    whoever does the former one has lost it.
    """
    same = {
        "kind": kind,
        "workspace": workspace,
        "rank": rank,
        "due_at": tx.now if at is None else at,
        "payload": json.dumps({**payload}),
    }
    if rows := [{**same, "key": key} for key in sorted({*keys})]:
        tx.execute(_put(tx.dialect, how), rows)


@cache
def _put(dialect: Any, how: How) -> Any:
    new = dialect.insert(jobs)
    wanted = new.excluded
    due: Any = sa.func.coalesce(_c.due_at, wanted.due_at)
    if how == "sooner":
        due = sa.case((_c.due_at <= wanted.due_at, _c.due_at), else_=wanted.due_at)
    changed: dict[str, Any] = {
        "revision": _c.revision + 1,
        "rank": sa.case((wanted.rank < _c.rank, wanted.rank), else_=_c.rank),
        "due_at": sa.case((_c.token != 0, _c.due_at), else_=due),
    }
    if how == "replace":
        changed |= {name: wanted[name] for name in ("rank", "due_at", "payload")}
        changed |= {"token": 0, "attempts": 0}
    return new.on_conflict_do_update(index_elements=["kind", "workspace", "key"], set_=changed)


def hurry(tx: Transaction, kind: Kind, keys: Collection[str]) -> None:
    """Have those of these looked at now that there are, before all that is merely due."""
    if keys:
        there = sa.select(_c.key).where(_c.kind == kind, _c.key.in_(keys))
        put(tx, kind, *tx.scalars(there), how="sooner", rank=ASKED_FOR)


def wake_all(tx: Transaction, kind: Kind) -> None:
    """Have all jobs of a kind looked at now that nobody has."""
    tx.update(jobs, (_c.kind == kind) & (_c.token == 0), due_at=tx.now)


def drop(tx: Transaction, kind: Kind, workspace: str, key: str) -> bool:
    """Forget a job, whoever has it; returns whether there was one."""
    return tx.drop(jobs, kind=kind, workspace=workspace, key=key)


def find(tx: Transaction, kind: Kind, workspace: str, key: str, *, locked: bool = False) -> Job | None:
    """A job as it stands; `locked` until the end of the transaction, whoever has it."""
    row = tx.find(jobs, kind=kind, workspace=workspace, key=key, locked=locked)
    return _read(row) if row else None


def listed(tx: Transaction, kind: Kind, workspace: str) -> list[Job]:
    """The jobs of a kind in a workspace."""
    return [
        _read(row) for row in tx.execute(sa.select(jobs).where(_c.kind == kind, _c.workspace == workspace))
    ]


def held(tx: Transaction, job: Job) -> Job | None:
    """A job that is still ours, as it stands, locked until the end of the transaction."""
    row = tx.find(jobs, id=job.id, token=job.token, locked=True)
    return _read(row) if row else None


def note(tx: Transaction, job: Job, payload: Mapping[str, Any], *, due_at: float | None) -> None:
    """Change what a job carries and when it is due, whoever has it; a lease goes on."""
    due = sa.case((_c.token != 0, _c.due_at), else_=sa.literal(due_at, sa.Double))
    tx.update(jobs, _c.id == job.id, payload=json.dumps(dict(payload)), due_at=due)


def done(tx: Transaction, job: Job) -> bool:
    """Delete a job that is done; False: it isn't ours any more, or was put again since it was claimed."""
    return tx.execute(_DONE, {"job": job.id, "held": job.token, "seen": job.revision}).rowcount > 0


def finish(tx: Transaction, job: Job) -> None:
    """End a job that is done, to be done again where it was put again meanwhile."""
    if not done(tx, job):
        again(tx, job, after=0.0, rank=job.rank)


def again(
    tx: Transaction,
    job: Job,
    *,
    after: float | None,
    changed_after: float = 0.0,
    attempts: int = 0,
    payload: Mapping[str, Any] | None = None,
    rank: int = ORDINARY,
) -> bool:
    """Have a job looked at again; False: it isn't ours any more.

    `after`: seconds; None lets it sleep. `changed_after`: the same where it was put again since it was claimed.
    """
    values = {
        "job": job.id,
        "held": job.token,
        "seen": job.revision,
        "tried": attempts,
        "kept_rank": rank,
        "kept": None if payload is None else json.dumps(dict(payload)),
        "at": None if after is None else tx.now + after,
        "changed_at": tx.now + changed_after,
    }
    return tx.execute(_AGAIN, values).rowcount > 0


def _read(row: sa.Row[Any]) -> Job:
    return Job(**{**row._asdict(), "payload": facts.read(row.payload)})
