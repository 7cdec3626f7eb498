"""The whole bot on a clock of its own: `python -m tests.bench.month_bot SECONDS`, which is when it begins, since 1970.

Each line of stdin sets the clock ahead by so many seconds.
"""

from __future__ import annotations

import sys
import threading

import time_machine

from bot.server import run
from shared.settings import load


def keep_time(clock: time_machine.Traveller) -> None:
    for line in sys.stdin:
        clock.shift(float(line))


if __name__ == "__main__":
    traveller = time_machine.travel(float(sys.argv[1]), tick=True).start()
    threading.Thread(target=keep_time, args=(traveller,), daemon=True).start()
    sys.exit(run(load(), load=load))
