"""The installed entry point, which runs this program's own packages even if others are named `cli` or `shared`.

A wheel keeps the packages in this folder, a checkout beside it.
"""

from __future__ import annotations

import os.path
import sys


def main() -> int:
    """Run the `outreach` command and return its exit code."""
    if problem := _unsupported():
        sys.stderr.write(f"outreach: {problem}\n")
        return 2
    folder = os.path.dirname(os.path.abspath(__file__))
    home = folder if os.path.isdir(os.path.join(folder, "cli")) else os.path.dirname(folder)
    sys.path.insert(0, home)
    from cli.main import main as run

    return run()


def _unsupported() -> str:
    if sys.platform == "win32":
        return "Windows is supported through WSL: install it with `wsl --install`, then install and run outreach there."
    if sys.version_info < (3, 11):  # noqa: UP036 # an installer that ignores requires-python gets this far
        return "This program needs Python 3.11 or newer."
    return ""
