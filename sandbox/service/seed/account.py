"""Create the account: keys, sequences, inboxes, and the leads and counts of nine weeks of campaign."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from sandbox.service.base import schema
from sandbox.service.base.clock import DAY, HOUR, day_of
from sandbox.service.base.seeded_random import between, pick, roll
from sandbox.service.campaign import deliverability, scenarios
from sandbox.service.campaign.account_plans import AccountPlan
from sandbox.service.campaign.people_names import FIRST, person, plain
from sandbox.service.campaign.rows import (
    continue_numbering,
    fresh_lead,
    insert_all,
    insert_one,
)
from sandbox.service.campaign.rules import Window, next_slot
from sandbox.service.seed.huge_account import HugeAccount
from sandbox.service.seed.past_events import insert_past_events
from sandbox.service.seed.prehistory import BACKED_DAYS, LeadHistory, Prehistory, Sender


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedOptions:
    """What an account is created from."""

    seed: int
    scenario: str
    speed: float
    now: float


def seed_account(connection: Connection, options: SeedOptions) -> bool:
    """Fill an empty store; False for a store that has an account already, which is left as it is."""
    if connection.execute(select(schema.world.c.pk)).first() is not None:
        return False
    scenario = scenarios.load(options.scenario)
    moments = ("founded_at", "simulated_until", "clock_real", "clock_virtual")
    world = {"pk": 1, "seed": options.seed, "scenario": options.scenario, "acts_done": 0}
    world |= {"clock_speed": options.speed, **dict.fromkeys(moments, options.now)}
    connection.execute(insert(schema.world), world)
    if scenario.account == "huge":
        acme = insert_one(connection, schema.workspaces, name="acme")
        HugeAccount(connection, workspace=acme, seed=options.seed, now=options.now).create()
    for plan in scenario.plans:
        _seed_workspace(connection, plan, options)
    _issue_keys(connection, options.seed)
    return True


def seed_again(connection: Connection, *, speed: float) -> None:
    """Empty the store, and create the same account again, at its original time."""
    world = connection.execute(select(schema.world)).one()
    tables = schema.metadata.sorted_tables
    if connection.dialect.name == "postgresql":
        names = ", ".join(table.name for table in tables)
        connection.exec_driver_sql(f"TRUNCATE {names} RESTART IDENTITY")
    else:
        for table in reversed(tables):
            connection.execute(delete(table))
        connection.exec_driver_sql("DELETE FROM sqlite_sequence")
    seed_account(
        connection,
        SeedOptions(seed=world.seed, scenario=world.scenario, speed=speed, now=world.founded_at),
    )


def _issue_keys(connection: Connection, seed: int) -> None:
    rows = [
        {"key": api_key(seed, workspace.name), "workspace_pk": workspace.pk, "revoked": False}
        for workspace in connection.execute(select(schema.workspaces).order_by(schema.workspaces.c.pk))
    ]
    rows.append({"key": api_key(seed, "revoked"), "workspace_pk": rows[0]["workspace_pk"], "revoked": True})
    connection.execute(insert(schema.api_keys), rows)


def api_key(seed: int, name: str) -> str:
    return f"live_{name}_{hashlib.blake2b(f'{seed} {name}'.encode(), digest_size=12).hexdigest()}"


def _seed_workspace(connection: Connection, plan: AccountPlan, options: SeedOptions) -> None:
    workspace = insert_one(connection, schema.workspaces, name=plan.workspace)
    if plan.blocklist:
        rows = [{"workspace_pk": workspace, "entry": entry} for entry in plan.blocklist]
        connection.execute(insert(schema.blocklist), rows)
    if not plan.sequences:
        return
    common = {"workspace_pk": workspace}
    sequences = [
        insert_one(connection, schema.sequences, **common, **one.model_dump()) for one in plan.sequences
    ]
    domains = [
        insert_one(connection, schema.domains, **common, name=one.name, state=one.state)
        for one in plan.domains
    ]
    prehistory = Prehistory(seed=options.seed, now=options.now)
    for number in range(plan.inboxes):
        order, domain = number % len(sequences), (number * 7 + number // len(domains)) % len(domains)
        row = _inbox_row(plan, number, domain=domain, options=options)
        row |= {"workspace_pk": workspace, "sequence_pk": sequences[order], "domain_pk": domains[domain]}
        inbox = insert_one(connection, schema.inboxes, **row)
        sequence = plan.sequences[order]
        window, key = Window.of(sequence), (options.seed, inbox)
        slot = next_slot(window, limit=row["daily_limit"], after=options.now, key=key)
        connection.execute(
            update(schema.inboxes).where(schema.inboxes.c.pk == inbox).values(next_slot_at=slot)
        )
        prehistory.simulate(
            Sender(
                workspace=workspace,
                inbox=inbox,
                sequence=sequences[order],
                window=window,
                steps=sequence.steps,
                appeal=sequence.appeal,
                health=row["health"],
                daily_limit=row["daily_limit"],
                sends_until=options.now if sequence.status == "active" else options.now - 9 * DAY,
            )
        )
    _keep_leads(connection, prehistory, plan=plan, workspace=workspace, sequences=sequences)
    names = {pk: one.name for pk, one in zip(sequences, plan.sequences, strict=True)}
    insert_past_events(
        connection,
        prehistory,
        workspace=workspace,
        sequences=names,
        person=lambda serial: person(options.seed, workspace, serial),
    )


def _inbox_row(plan: AccountPlan, number: int, *, domain: int, options: SeedOptions) -> dict[str, Any]:
    key = (options.seed, plan.workspace, number)
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
        "next_slot_at": options.now,
    }


def _keep_leads(
    connection: Connection, prehistory: Prehistory, *, plan: AccountPlan, workspace: int, sequences: list[int]
) -> None:
    """Keep who is still under way, and everybody whom the stats of the last 30 days count.

    Older leads have been removed since; their replies and counts are kept.
    """
    since = (day_of(prehistory.now) - BACKED_DAYS + 1) * DAY
    kept = sorted(
        (one for one in prehistory.histories if one.status == "active" or one.last_active_at >= since),
        key=lambda history: history.created_at,
    )
    first = (connection.execute(select(func.max(schema.leads.c.pk))).scalar() or 0) + 1
    for place, history in enumerate(kept):
        history.pk = first + place
    rows = [_lead_row(history, workspace=workspace, seed=prehistory.seed) for history in kept]
    rows += _queued(prehistory, plan=plan, workspace=workspace, sequences=sequences)
    insert_all(connection, schema.leads, [row | {"pk": first + place} for place, row in enumerate(rows)])
    continue_numbering(connection, schema.leads)
    prehistory.insert_pending(connection)
    insert_all(connection, schema.daily_counts, prehistory.buffer.rows())


def _queued(
    prehistory: Prehistory, *, plan: AccountPlan, workspace: int, sequences: list[int]
) -> list[dict[str, Any]]:
    """The newest leads, added within the last hour, to whom nothing was sent yet."""
    return [
        fresh_lead(
            workspace=workspace,
            sequence=sequences[place % len(sequences)],
            key=(prehistory.seed, workspace, "queue", place),
            now=prehistory.now - HOUR * (plan.queue - place) / plan.queue,
        )
        for place in range(plan.queue)
    ]


def _lead_row(history: LeadHistory, *, workspace: int, seed: int) -> dict[str, Any]:
    key = (seed, workspace, history.serial)
    row = fresh_lead(workspace=workspace, sequence=history.sequence, key=key, now=history.created_at)
    return row | {
        "status": history.status,
        "step": history.step,
        "due_at": history.due_at if history.status == "active" else None,
        "inbox_pk": history.inbox,
    }
