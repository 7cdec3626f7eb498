"""Every error that is known, as what a person reads on stderr and the exit code it means."""

from __future__ import annotations

import os
import sys
import traceback

from cli import endings, terminal
from shared.api.errors import OutreachError
from shared.commands import UsageError
from shared.database import DatabaseUnusable
from shared.records import RecordsUnavailable
from shared.settings import SettingsError, UnknownWorkspace


def tell(fault: Exception) -> int:
    """Say what went wrong and return the exit code."""
    if isinstance(fault, ExceptionGroup):  # of tasks that failed together, the first says enough
        return tell(fault.exceptions[0])
    if isinstance(fault, UsageError):
        terminal.show(fault.card, stream=sys.stderr)
        return endings.MISUSED
    if isinstance(fault, endings.Refused):
        terminal.show(fault.card, stream=sys.stderr)
        return endings.FAILED
    if isinstance(fault, SettingsError | UnknownWorkspace):
        endings.complain(str(fault))
        return endings.MISUSED
    if isinstance(fault, OutreachError | RecordsUnavailable | DatabaseUnusable):
        return _show_failure(fault)
    return _admit(fault)


def _show_failure(fault: Exception) -> int:
    from shared.operations import error_card

    terminal.show(error_card(fault, ""), stream=sys.stderr)
    return endings.FAILED


def _admit(fault: Exception) -> int:
    """A fault of this program or of the machine: one sentence, and the whole story for who asks for it."""
    if os.environ.get("OUTREACH_LOG_LEVEL", "").upper() == "DEBUG":
        traceback.print_exception(fault)
    if isinstance(fault, OSError):
        endings.complain(endings.said(fault))
        return endings.FAILED
    endings.complain(
        f"this should not have happened ({type(fault).__name__}); OUTREACH_LOG_LEVEL=DEBUG shows where"
    )
    return endings.FAILED
