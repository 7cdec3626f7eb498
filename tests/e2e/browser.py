"""Starts chromium for the tests."""

from __future__ import annotations

import os
from typing import Any


def chromium() -> dict[str, Any]:
    """Return the options of `launch`: Debian's browser, which asks nobody outside.

    Not with a faked clock: preloaded into chromium's many processes, libfaketime stops them.
    """
    environ = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("FAKETIME")}
    return {
        "executable_path": "/usr/bin/chromium",
        "args": [
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
        ],
        "env": environ,
    }
