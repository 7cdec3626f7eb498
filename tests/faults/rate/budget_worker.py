"""One process that uses the key: `python budget_worker.py DATABASE_URL BASE_URL PRIORITY COUNT`; logs what it is granted.

INTERACTIVE is a person who pauses again and again; `status` a person whose command reads COUNT things at once.
"""

from __future__ import annotations

import asyncio
import os
import sys

from sqlalchemy.engine import make_url

from shared.api import OutreachClient, Priority
from shared.storage.budget import SharedBudget
from tests.faults.rate.grant_log import VARIABLE, write_grants


async def main(database: str, base_url: str, priority: str, count: int) -> None:
    async with (
        SharedBudget(make_url(database), key="k", rate=9.5) as budget,
        OutreachClient(base_url=base_url, api_key="k", pacer=budget, total_timeout=60) as client,
    ):

        async def ask() -> None:
            if priority == "interactive":
                await client.pause_sequence("sq_1")
            else:
                wanted = Priority.INTERACTIVE if priority == "status" else Priority(priority)
                await client.list_sequences(priority=wanted)

        if priority == "interactive":
            for _ in range(count):
                await ask()
                await asyncio.sleep(0.31)
        else:
            await asyncio.gather(*(ask() for _ in range(count)))


write_grants(os.environ[VARIABLE])
asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
