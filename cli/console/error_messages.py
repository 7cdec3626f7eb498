"""Every error that is known, as what a person reads on stderr and the exit code it means."""

from __future__ import annotations

import os
import sys
import traceback

from cli.console import card_output, exit_codes
from shared.api.errors import OutreachError
from shared.commands import UsageError
from shared.domain.records import RecordsUnavailable
from shared.settings import SettingsError, UnknownWorkspace
from shared.storage.database import DatabaseUnusable


def tell(fault: Exception) -> int:
    """Say what went wrong and return the exit code."""
    if isinstance(fault, ExceptionGroup):  # of tasks that failed together, the first says enough
        return tell(fault.exceptions[0])
    if isinstance(fault, UsageError):
        card_output.show(fault.card, stream=sys.stderr)
        return exit_codes.MISUSED
    if isinstance(fault, exit_codes.Refused):
        card_output.show(fault.card, stream=sys.stderr)
        return exit_codes.FAILED
    if isinstance(fault, SettingsError | UnknownWorkspace):
        exit_codes.complain(str(fault))
        return exit_codes.MISUSED
    if isinstance(fault, OutreachError | RecordsUnavailable | DatabaseUnusable):
        return _show_failure(fault)
    return _admit(fault)


def _show_failure(fault: Exception) -> int:
    from shared.operations import error_card

    card_output.show(error_card(fault, ""), stream=sys.stderr)
    return exit_codes.FAILED


def _admit(fault: Exception) -> int:
    """A fault of this program or of the machine: one sentence, and the whole story for who asks for it."""
    if os.environ.get("OUTREACH_LOG_LEVEL", "").upper() == "DEBUG":
        traceback.print_exception(fault)
    if isinstance(fault, OSError):
        exit_codes.complain(exit_codes.said(fault))
        return exit_codes.FAILED
    exit_codes.complain(
        f"this should not have happened ({type(fault).__name__}); OUTREACH_LOG_LEVEL=DEBUG shows where"
    )
    return exit_codes.FAILED
