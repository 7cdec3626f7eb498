"""Exit codes of `outreach`: 0 done, 1 refused or failed, 2 wrong usage or configuration, 130 interrupted.

Reasons go to stderr as a sentence, never as a traceback. The errors of the client and the settings are imported
only when something failed, so that `outreach --help` starts fast.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shared.domain.card import Card

DONE, FAILED, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130


class Failed(Exception):
    """The command was refused or failed; the text says why and what to do."""

    code = FAILED


class Refused(Exception):
    """The command was refused; the card says why and what would be right."""

    def __init__(self, card: Card) -> None:
        self.card = card
        super().__init__(card.summary)


class WrongUsage(Failed):
    """The command line or the configuration is wrong; the text says what would be right."""

    code = WRONG_USAGE


class Interrupted(Failed):
    """The command was asked to stop and has put its things in order."""

    code = INTERRUPTED


def guard(act: Callable[[], int]) -> int:
    """Run `act` and turn whatever happens into an exit code."""
    try:
        code = act()
        # Here, where a reader that has left is noticed: at the exit Python would print a traceback.
        sys.stdout.flush()
    except SystemExit as ending:  # argparse has printed its message
        return ending.code if isinstance(ending.code, int) else WRONG_USAGE
    except BrokenPipeError:
        return _reader_left()
    except KeyboardInterrupt:
        # 128 and the signal's number, as shells report it.
        return INTERRUPTED
    except Exception as fault:  # noqa: BLE001 # the one place where every failure becomes a sentence
        return _explain(fault)
    return code


def print_error(text: str) -> None:
    from shared.text.sanitize import visible_lines  # late: `outreach --help` does without

    # The text may quote a lead, a file or the service, and a terminal obeys control characters.
    print(f"outreach: {visible_lines(text)}", file=sys.stderr)


def _reader_left() -> int:
    """Close stdout quietly: in `outreach leads | head` nothing failed."""
    # What is still in the buffer is written at the exit, and would fail there once more.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return DONE


def _explain(fault: Exception) -> int:
    """Print what went wrong and return the exit code."""
    if isinstance(fault, ExceptionGroup):  # of tasks that failed together, the first is enough
        return _explain(fault.exceptions[0])
    if isinstance(fault, Failed):
        print_error(str(fault))
        return fault.code

    from cli.console import card_output
    from shared.api.errors import OutreachError
    from shared.commands import UsageError
    from shared.records import RecordsUnavailable
    from shared.settings import SettingsError, UnknownWorkspace

    is_misuse = isinstance(fault, UsageError | SettingsError | UnknownWorkspace)
    if isinstance(fault, UsageError | Refused):
        card_output.show(fault.card, stream=sys.stderr)
    elif isinstance(fault, OutreachError | RecordsUnavailable):
        from shared.commands.errors import error_card

        card_output.show(error_card(fault), stream=sys.stderr)
    elif is_misuse:
        print_error(str(fault))
    else:
        _explain_internal(fault)
    return WRONG_USAGE if is_misuse else FAILED


def _explain_internal(fault: Exception) -> None:
    """Print a sentence about a fault of this program or of the machine, with the traceback on request."""
    if os.environ.get("OUTREACH_LOG_LEVEL", "").upper() == "DEBUG":
        import traceback

        traceback.print_exception(fault)
    # Its type alone: the text of an error that nobody foresaw may quote a key or a lead.
    text = f"internal error ({type(fault).__name__}). Set OUTREACH_LOG_LEVEL=DEBUG for details."
    if isinstance(fault, OSError):
        text = f"{fault.filename}: {fault.strerror}" if fault.filename and fault.strerror else str(fault)
    print_error(text)
