from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bot.alerts import kinds
from bot.alerts.routing import Routes
from shared import commands
from shared.api.events import Event, EventLead
from shared.domain.alert import Alert
from shared.domain.card import Card
from shared.records.records import Subscription

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
LEAD = EventLead(email="ada@acme.example", first_name="Ada", company="Acme")


def alert(kind: str = "reply.interested", *, workspace: str = "") -> Alert:
    event = Event(kind=kind, lead=LEAD, sequence="Q3 founders", step=2, reply="Yes", inbox="sam@mail.example")
    return Alert(id="al_1", event=event, received_at=NOON.timestamp(), workspace=workspace)


def channels_of(event: Event, *subscriptions: Subscription) -> list[str]:
    routes = Routes(alert_channels={"w": "C1"})
    return [target.channel for target in routes.targets(event, workspace="w", subscriptions=subscriptions)]


def labels(card: Card) -> list[str]:
    return [button.label for button in card.buttons]


@pytest.mark.parametrize(
    "name", ["Q3 founders", "it's 2h", '"quoted"', "@other", "for 2h", "x\ny", "--yes", "“curly”"]
)
def test_the_pause_buttons_line_is_read_back_as_that_sequence(name: str) -> None:
    event = Event(kind="reply.interested", lead=LEAD, sequence=name)
    card = kinds.card(Alert(id="al_1", event=event, received_at=NOON.timestamp()))
    line = next(button.line for button in card.buttons if button.label == "Pause sequence")
    invocation = commands.parse(line)
    assert invocation.command.name == "pause"
    assert invocation.workspace is None


def test_with_several_workspaces_every_button_names_its_own() -> None:
    card = kinds.card(alert(workspace="emea"))
    lines = [button.line for button in card.buttons if " al_1" not in button.line]
    assert {commands.parse(line).workspace for line in lines} == {"emea"}


def test_a_subscription_matches_exactly_and_posts_once_per_channel() -> None:
    event = Event(kind="lead.bounced", lead=LEAD, sequence="Q3 founders", inbox="sam@mail.example")

    def found(**wanted: str) -> bool:
        one = replace(Subscription(channel="C2", event="lead.bounced"), **wanted)  # type: ignore[arg-type] # texts alone
        return channels_of(event, one, one) == ["C2"]

    assert found()
    assert found(event="*")
    assert found(sequence="q3 FOUNDERS")
    assert found(inbox="mail.example")
    assert found(inbox="sam@mail.example")
    assert not found(event="lead.replied")
    assert not found(sequence="Q3")
    assert not found(inbox="mail")
