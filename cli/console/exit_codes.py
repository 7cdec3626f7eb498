"""How a run of `outreach` ends: 0 done, 1 refused or failed, 2 wrong usage or configuration, 130 interrupted.

Reasons go to stderr as a sentence, never as a traceback (contract, section 1). What may be raised is told apart
late, because knowing all the errors means importing the client.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shared.domain.card import Card

DONE, FAILED, MISUSED, INTERRUPTED = 0, 1, 2, 130


class Failed(Exception):
    """The command was refused or failed; the text says why and what to do."""


class Refused(Exception):
    """The command was refused; the card says why and what would be right."""

    def __init__(self, card: Card) -> None:
        self.card = card
        super().__init__(card.summary)


class Misused(Exception):
    """The command line or the configuration is wrong; the text says what would be right."""


class Interrupted(Exception):
    """The command was asked to stop and has put its things in order."""


def guard(act: Callable[[], int]) -> int:
    """Run `act` and turn whatever happens into an exit code."""
    try:
        code = act()
        sys.stdout.flush()
    except SystemExit as ending:  # argparse has said its part already
        return ending.code if isinstance(ending.code, int) else MISUSED
    except BrokenPipeError:
        return _reader_left()
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as fault:  # noqa: BLE001 # the one place where every failure becomes a sentence
        return _tell(fault)
    return code


def complain(text: str) -> None:
    print(f"outreach: {text}", file=sys.stderr)


def said(fault: OSError) -> str:
    return f"{fault.filename}: {fault.strerror}" if fault.filename and fault.strerror else str(fault)


def _reader_left() -> int:
    """`outreach leads | head` had enough: nothing failed, and the interpreter must not complain at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return DONE


def _tell(fault: Exception) -> int:
    if isinstance(fault, Interrupted):
        complain(str(fault))
        return INTERRUPTED
    if isinstance(fault, Failed | Misused):
        complain(str(fault))
        return FAILED if isinstance(fault, Failed) else MISUSED
    from cli.console.error_messages import tell

    return tell(fault)
