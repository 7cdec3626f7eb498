"""Run seeds: `python -m tests.faults.simulation 1 300`, or one with its whole log: `python -m tests.faults.simulation 17 --trace`."""

from __future__ import annotations

import argparse
import gc
import logging
import os
import random
import sys
import time
import traceback

from tests.faults.simulation.virtual_time import CLOCK

CLOCK.install()
# A collection at another moment would close what a dead process left at another moment. What is loaded isn't garbage.
gc.disable()
sys.modules["rich"] = None  # type: ignore[assignment] # structlog would load it, and a bot leaves it out, too

import structlog  # noqa: E402 # after the clock: the program binds it to defaults when it is imported

from tests.faults.simulation.ablations import ABLATIONS  # noqa: E402
from tests.faults.simulation.world import PLANS, Plan, World, plan_of  # noqa: E402
from tests.kit.databases import compile_once  # noqa: E402


def main() -> None:
    """Print a line for each seed; exit 1 when one fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.simulation", description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int, nargs="?")
    parser.add_argument("--trace", action="store_true", help="print what happened, and what the bots log")
    parser.add_argument("--without", choices=[*ABLATIONS], help="take a safeguard away")
    parser.add_argument("--until-failure", action="store_true", help="stop after the first seed that fails")
    parser.add_argument("--plan", choices=[*PLANS], help="what happens, where the seed shall not choose it")
    given = parser.parse_args()
    level = logging.DEBUG if given.trace else logging.CRITICAL
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(level))
    logging.disable(logging.CRITICAL)
    compile_once()
    if given.without:
        ABLATIONS[given.without]()
    failed = False
    for seed in range(given.first, (given.last or given.first) + 1):
        failed = (
            not run(seed, PLANS[given.plan] if given.plan else plan_of(seed), trace=given.trace) or failed
        )
        if failed and given.until_failure:
            break
    sys.stdout.flush()
    os._exit(failed)  # without the `finally` of processes that died long ago


def run(seed: int, plan: Plan, *, trace: bool) -> bool:
    """Run one seed and print its line; whether everything held."""
    entropy = random.Random(f"{seed} of the system")
    random._urandom = os.urandom = entropy.randbytes  # type: ignore[attr-defined] # of the module `random`
    began, world, problem = time.process_time(), World(seed, plan), ""
    try:
        world.run()
    except Exception as error:  # noqa: BLE001 # the line says which
        problem = f"{type(error).__name__}: {error}"
        if trace:
            traceback.print_exc()
    if trace:
        print(*world.log.lines, sep="\n")
    spent = time.process_time() - began
    figures = (
        f"{world.now:.0f} s in {spent:.1f} s, {world.loop.steps} steps, {len(world.deliveries)} deliveries, "
        f"{world.kills} kills, {world.people.confirmed} confirmed pauses, "
        f"{world.guarded} by guardrails"
    )
    print(f"seed {seed} {world.digest} {'FAILED ' + problem if problem else 'ok'} ({figures})", flush=True)
    return not problem


if __name__ == "__main__":
    main()
