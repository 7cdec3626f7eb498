"""The installed program: the `outreach` command, and the client for scripts.

A wheel keeps the program's packages in this folder, a checkout keeps them beside it.
"""

from __future__ import annotations

import gc
import importlib
import os.path
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shared.api import *  # noqa: F403 -- the public names of the client, for type checkers

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_IS_INSTALLED = os.path.isdir(os.path.join(_FOLDER, "cli"))
_HOME = _FOLDER if _IS_INSTALLED else os.path.dirname(_FOLDER)

# In a checkout too, `outreach_ops.shared` is the program's, whatever else is named `shared`.
__path__ = [_FOLDER] if _IS_INSTALLED else [_FOLDER, _HOME]


def __getattr__(name: str) -> Any:
    """Give a public name of the client, which is loaded only when someone asks for one (PEP 562)."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.shared.api"), name)


def main() -> int:
    """Run the `outreach` command and return its exit code."""
    if problem := _unsupported():
        sys.stderr.write(f"outreach: {problem}\n")
        return 2
    gc.disable()  # nothing loaded for help is garbage, and looking for it takes a twentieth of the help's time
    # First on the path, so that the program runs its own `cli` and `shared` wherever it is started.
    sys.path.insert(0, _HOME)
    from cli.main import main as run

    return run()


def _unsupported() -> str:
    if sys.platform == "win32":
        return "Windows is supported through WSL: install it with `wsl --install`, then install and run outreach there."
    if sys.version_info < (3, 11):  # noqa: UP036 # an installer that ignores requires-python gets this far
        return "This program needs Python 3.11 or newer."
    return ""
