"""Which events `webhooks create` takes."""

from __future__ import annotations

import pytest

from cli.commands.webhooks import _kinds
from cli.console import exit_codes
from shared.api.words import EVENT_KINDS


def test_webhooks_are_created_for_what_the_service_delivers() -> None:
    assert _kinds([]) == EVENT_KINDS
    assert _kinds(["bounces", "lead.bounced"]) == ("lead.bounced",)
    assert "domain.dns" not in EVENT_KINDS
    with pytest.raises(exit_codes.WrongUsage):
        _kinds(["dns"])
