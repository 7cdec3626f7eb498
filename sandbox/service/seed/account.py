"""Found the account: keys, sequences, inboxes, and what nine weeks of campaign have left of leads and counts."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select, update

from sandbox.service.base import schema
from sandbox.service.base.clock import DAY, HOUR
from sandbox.service.base.seeded_random import between, pick, roll
from sandbox.service.campaign import account_plans, deliverability, scenarios
from sandbox.service.campaign.account_plans import AccountPlan, SequencePlan
from sandbox.service.campaign.people_names import FIRST, plain
from sandbox.service.campaign.rows import (
    count_on,
    fresh_lead,
    insert_all,
    insert_domain,
    insert_one,
    insert_sequence,
)
from sandbox.service.campaign.rules import Window, next_slot
from sandbox.service.seed.huge_account import found_huge
from sandbox.service.seed.prehistory import Journey, Pending, Rehearsal, Sender


@dataclass(frozen=True, slots=True, kw_only=True)
class Founding:
    """What an account is founded with."""

    seed: int
    scenario: str
    speed: float
    now: float


def found(connection: Connection, founding: Founding) -> None:
    """Fill an empty book; a book that has a world already is left as it is."""
    if connection.execute(select(schema.world.c.pk)).first() is not None:
        return
    scenario = scenarios.load(founding.scenario)
    connection.execute(insert(schema.world), _world(founding))
    if scenario.account == "huge":
        acme = insert_one(connection, schema.workspaces, name="acme")
        found_huge(connection, workspace=acme, seed=founding.seed, now=founding.now)
    plans = {
        "believable": account_plans.BELIEVABLE,
        "empty": account_plans.EMPTY,
        "huge": (account_plans.GLOBEX,),
    }[scenario.account]
    for plan in plans:
        _found_workspace(connection, plan, founding)
    _issue_keys(connection, founding.seed)


def _world(founding: Founding) -> dict[str, Any]:
    return {
        "pk": 1,
        "seed": founding.seed,
        "scenario": founding.scenario,
        "founded_at": founding.now,
        "simulated_until": founding.now,
        "acts_done": 0,
        "clock_real": founding.now,
        "clock_virtual": founding.now,
        "clock_speed": founding.speed,
    }


def _issue_keys(connection: Connection, seed: int) -> None:
    """One live key for each workspace, and a revoked one."""
    rows = [
        {"key": api_key(seed, workspace.name), "workspace_pk": workspace.pk, "revoked": False}
        for workspace in connection.execute(select(schema.workspaces).order_by(schema.workspaces.c.pk))
    ]
    rows.append({"key": api_key(seed, "revoked"), "workspace_pk": rows[0]["workspace_pk"], "revoked": True})
    connection.execute(insert(schema.api_keys), rows)


def api_key(seed: int, name: str) -> str:
    return f"live_{name}_{hashlib.blake2b(f'{seed} {name}'.encode(), digest_size=12).hexdigest()}"


def _found_workspace(connection: Connection, plan: AccountPlan, founding: Founding) -> None:
    workspace = insert_one(connection, schema.workspaces, name=plan.workspace)
    if plan.blocklist:
        rows = [{"workspace_pk": workspace, "entry": entry} for entry in plan.blocklist]
        connection.execute(insert(schema.blocklist), rows)
    if not plan.sequences:
        return
    sequences = [insert_sequence(connection, one, workspace=workspace) for one in plan.sequences]
    domains = [insert_domain(connection, one, workspace=workspace) for one in plan.domains]
    rehearsal = Rehearsal(seed=founding.seed, now=founding.now)
    for number in range(plan.inboxes):
        order, domain = number % len(sequences), (number * 7 + number // len(domains)) % len(domains)
        row = _inbox_row(plan, number, domain=domain, founding=founding)
        row |= {"workspace_pk": workspace, "sequence_pk": sequences[order], "domain_pk": domains[domain]}
        inbox = insert_one(connection, schema.inboxes, **row)
        _set_first_slot(connection, row, window_of(plan.sequences[order]), inbox=inbox, founding=founding)
        rehearsal.play(_sender(row, plan.sequences[order], inbox=inbox, now=founding.now))
    _move_in(connection, rehearsal, plan=plan, workspace=workspace, sequences=sequences)


def _set_first_slot(
    connection: Connection, row: dict[str, Any], window: Window, *, inbox: int, founding: Founding
) -> None:
    slot = next_slot(window, limit=row["daily_limit"], after=founding.now, key=(founding.seed, inbox))
    connection.execute(update(schema.inboxes).where(schema.inboxes.c.pk == inbox).values(next_slot_at=slot))


def _inbox_row(plan: AccountPlan, number: int, *, domain: int, founding: Founding) -> dict[str, Any]:
    key = (founding.seed, plan.workspace, number)
    home = plan.domains[domain]
    full = 25 + 5 * int(roll("limit", *key) * 4)
    score = round(min(99.0, home.health + between(-7.0, 5.0, roll("start", *key))), 1)
    warming = home.state == "warming"
    limit = deliverability.rested(full, health=score).daily_limit + 6 if warming else full
    name = plain(pick(FIRST, roll("inbox", *key)))
    return {
        "email": f"{name}{number + 1 if number >= len(plan.domains) else ''}@{home.name}",
        "health": score,
        "daily_limit": limit,
        "full_limit": full,
        "status": "warming" if warming else "active",
        "next_slot_at": founding.now,
    }


def window_of(sequence: Any) -> Window:
    return Window(opens=sequence.opens, closes=sequence.closes, weekdays=sequence.weekdays)


def _sender(row: dict[str, Any], plan: SequencePlan, *, inbox: int, now: float) -> Sender:
    return Sender(
        workspace=row["workspace_pk"],
        inbox=inbox,
        sequence=row["sequence_pk"],
        window=window_of(plan),
        steps=plan.steps,
        appeal=plan.appeal,
        health=row["health"],
        daily_limit=row["daily_limit"],
        sends_until=now if plan.status == "active" else now - 9 * DAY,
    )


def _move_in(
    connection: Connection, rehearsal: Rehearsal, *, plan: AccountPlan, workspace: int, sequences: list[int]
) -> None:
    """Keep who is still under way and the last of those who are through; the counts know all that ever were."""
    kept = sorted(
        _kept(rehearsal.journeys, room=plan.leads - plan.queue), key=lambda journey: journey.created_at
    )
    first = _first_free(connection)
    numbers = {journey.serial: first + place for place, journey in enumerate(kept)}
    rows = [_lead_row(journey, workspace=workspace, seed=rehearsal.seed) for journey in kept]
    rows += _queued(rehearsal, plan=plan, workspace=workspace, sequences=sequences)
    insert_all(connection, schema.leads, [row | {"pk": first + place} for place, row in enumerate(rows)])
    count_on(connection, schema.leads)
    pending = [_pending_row(entry, numbers) for entry in rehearsal.pending if entry.journey.serial in numbers]
    insert_all(connection, schema.responses, pending)
    rehearsal.sheet.write(connection)


def _queued(
    rehearsal: Rehearsal, *, plan: AccountPlan, workspace: int, sequences: list[int]
) -> list[dict[str, Any]]:
    """The newest leads, added within the last hour, to whom nothing was sent yet."""
    return [
        fresh_lead(
            workspace=workspace,
            sequence=sequences[place % len(sequences)],
            key=(rehearsal.seed, workspace, "queue", place),
            now=rehearsal.now - HOUR * (plan.queue - place) / plan.queue,
        )
        for place in range(plan.queue)
    ]


def _pending_row(entry: Pending, numbers: dict[int, int]) -> dict[str, Any]:
    return {
        "lead_pk": numbers[entry.journey.serial],
        "inbox_pk": entry.journey.inbox,
        "step": entry.journey.step,
        "kind": entry.kind,
        "due_at": entry.due_at,
    }


def _kept(journeys: list[Journey], *, room: int) -> list[Journey]:
    under_way = [journey for journey in journeys if journey.status == "active"]
    through = sorted((one for one in journeys if one.status != "active"), key=lambda one: -one.settled_at)
    return [*under_way, *through[: max(0, room - len(under_way))]]


def _first_free(connection: Connection) -> int:
    last = connection.execute(select(schema.leads.c.pk).order_by(schema.leads.c.pk.desc()).limit(1)).scalar()
    return (last or 0) + 1


def _lead_row(journey: Journey, *, workspace: int, seed: int) -> dict[str, Any]:
    key = (seed, workspace, journey.serial)
    row = fresh_lead(workspace=workspace, sequence=journey.sequence, key=key, now=journey.created_at)
    return row | {
        "status": journey.status,
        "step": journey.step,
        "due_at": journey.due_at if journey.status == "active" else None,
        "inbox_pk": journey.inbox,
    }
