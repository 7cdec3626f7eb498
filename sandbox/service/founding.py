"""Found the account: set it up, let it live for nine weeks, and begin its first day."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from sandbox.service import rules, scenarios
from sandbox.service.account import Account, Domain, Inbox, Sequence, Tally, copied
from sandbox.service.campaign import ACT, PAUSE, REFILL, REVIEW, Campaign
from sandbox.service.dice import between, pick, roll
from sandbox.service.moments import DAY, HOUR, day_of
from sandbox.service.people import FIRST, plain
from sandbox.service.plans import AccountPlan

HISTORY_DAYS = 65
"""Enough for the last 30 days and the 30 before them, which reports compare."""
_LEAST_DAYS = 3
"""Even a weekend's past has a day on which mail was sent."""
_INBOX_DAYS = 32_500
"""The past of more inboxes is shorter: 65 days of 500 take as long to play as 3 of 10,000."""
KEPT_DAYS = 30
"""A lead that has ended is kept for so long."""
_PAUSED_DAYS = 9
"""A sequence that is paused on the first day was paused so long ago."""


def found(source: str, *, seed: int, now: float, inboxes: int | None = None) -> Account:
    """The account of a scenario on its first day, which begins at `now`.

    `inboxes` is another number of them for the first workspace.
    Raises `ValueError`: it can't have so many.
    """
    # Tests start many services within an hour: the past until then is played once in a process.
    account = copied(_past(source, seed=seed, hour=int(now // HOUR), inboxes=inboxes))
    scenario = scenarios.load(source)
    campaign = Campaign(account, scenario)
    campaign.run(now)
    for plan in scenario.plans:
        _fill_queues(account, plan)
    account.founded_at = now
    campaign.schedule((day_of(now) + 1) * DAY, REVIEW)
    for place, event in enumerate(scenario.events):
        for turn in range(event.times):
            # Two events at one moment happen in the order of the file.
            campaign.schedule(now + event.at + turn * event.every, ACT, place, (turn, event))
    return account


def plans_of(source: str, *, inboxes: int | None) -> tuple[AccountPlan, ...]:
    """The workspaces of a scenario. Raises `ValueError`: the first can't have so many inboxes."""
    first, *others = scenarios.load(source).plans
    return (first if inboxes is None else first.sized(inboxes), *others)


def api_key(seed: int, name: str) -> str:
    return f"live_{name}_{hashlib.blake2b(f'{seed} {name}'.encode(), digest_size=12).hexdigest()}"


@lru_cache(maxsize=4)
def _past(source: str, *, seed: int, hour: int, inboxes: int | None) -> Account:
    """The account as it has become by this hour, counted from 1970."""
    now = hour * HOUR
    plans = plans_of(source, inboxes=inboxes)
    most = max(plan.inboxes for plan in plans)
    days = min(HISTORY_DAYS, max(_LEAST_DAYS, _INBOX_DAYS // max(1, most)))
    first_day = day_of(now) - days
    account = Account(seed=seed, now=first_day * DAY)
    campaign = Campaign(account, scenarios.load(source))
    for plan in plans:
        _set_up(campaign, plan, first_day=first_day, today=day_of(now))
    campaign.schedule(first_day * DAY, REFILL)
    with _no_garbage():
        campaign.run(now)
    _forget_leads(account, now)
    return account


@contextmanager
def _no_garbage() -> Iterator[None]:
    """Hold the collector off: next to nothing of the past is garbage, and looking for it takes a tenth of the time."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _set_up(campaign: Campaign, plan: AccountPlan, *, first_day: int, today: int) -> None:
    account = campaign.account
    workspace = account.add_workspace(
        plan.workspace, blocklist={entry.lower() for entry in plan.blocklist}, first_day=first_day
    )
    sequences, domains = list[Sequence](), list[Domain]()
    for planned in plan.sequences:
        number = len(account.sequences) + 1
        sequence = Sequence(number=number, workspace=workspace.number, plan=planned)
        account.sequences[number] = sequence
        sequences.append(sequence)
        if planned.status == "paused":
            campaign.schedule((today - _PAUSED_DAYS) * DAY, PAUSE, number)
    for home in plan.domains:
        number = len(account.domains) + 1
        domain = Domain(
            number=number,
            workspace=workspace.number,
            name=home.name,
            state=home.state,
        )
        account.domains[number] = domain
        domains.append(domain)
    for place in range(plan.inboxes):
        sequence = sequences[place % len(sequences)]
        # Neighbours in the list are on other domains, and each sequence sends from many.
        number = (place * 7 + place // len(domains)) % len(domains)
        inbox = _inbox(account, plan, place, home=number, sequence=sequence, domain=domains[number])
        account.inboxes[inbox.number] = inbox
        sequence.inboxes.append(inbox.number)
        domains[number].inboxes.append(inbox.number)
        campaign.schedule_inbox(inbox)


def _inbox(
    account: Account, plan: AccountPlan, place: int, *, home: int, sequence: Sequence, domain: Domain
) -> Inbox:
    key = (account.seed, plan.workspace, place)
    planned = plan.domains[home]
    limit = full = 25 + 5 * int(roll("limit", *key) * 4)
    if planned.state == "warming":
        limit = rules.limit_after_rest(full) + 6
    name = plain(pick(FIRST, roll("inbox", *key)))
    return Inbox(
        number=len(account.inboxes) + 1,
        workspace=domain.workspace,
        sequence=sequence.number,
        domain=domain.number,
        email=f"{name}{place + 1 if domain.inboxes else ''}@{domain.name}",
        health=round(min(99.0, planned.health + between(-7.0, 5.0, roll("start", *key))), 1),
        daily_limit=limit,
        full_limit=full,
        status="warming" if planned.state == "warming" else "active",
        tally=Tally(account.workspaces[domain.workspace].first_day),
    )


def _forget_leads(account: Account, now: float) -> None:
    """Keep who is still under way, and everybody whom the stats of the last 30 days count.

    Older leads have been removed since; their replies and counts are kept.
    """
    since = (day_of(now) - KEPT_DAYS + 1) * DAY
    account.leads = [
        lead if lead is not None and (lead.status == "active" or lead.changed_at >= since) else None
        for lead in account.leads
    ]


def _fill_queues(account: Account, plan: AccountPlan) -> None:
    """Add the plan's newest leads, since the hour began: they were sent nothing yet."""
    workspace = account.workspace_named(plan.workspace).number
    sequences = [one for one in account.sequences.values() if one.workspace == workspace]
    # Customers' own imports come on the hour: later leads have later numbers.
    since = account.now // HOUR * HOUR
    for place in range(plan.queue if sequences else 0):
        at = since + (account.now - since) * (place + 1) / plan.queue
        account.add_lead(sequences[place % len(sequences)], None, at=at)
