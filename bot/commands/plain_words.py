"""Cards for a request in plain words: what was run, what would be run, the nearest commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shared.commands import Invocation, render
from shared.commands.arguments import OnSequence, OnSequences
from shared.domain.card import Button, Card, Tone


def is_another(meant: Invocation, asked: Invocation) -> bool:
    """Whether it is more than the same command with other words of a name, which the refusal knows better."""
    if type(meant.arguments) is not type(asked.arguments):
        return True
    arguments = meant.arguments
    return isinstance(arguments, OnSequence) and (not arguments.target or has_scope(arguments))


def has_scope(arguments: OnSequence) -> bool:
    return isinstance(arguments, OnSequences) and bool(arguments.scope)


def name_command(card: Card, ran: Invocation, *, dropped: str) -> Card:
    """The answer, with the command that gave it; `dropped`: a period that the command doesn't take."""
    limit = (f"Not only “{dropped}”: `{ran.arguments.verb}` takes no period.",) if dropped else ()
    footer = " ".join(filter(None, (f"Ran: {_line(ran)}.", card.footer)))
    return replace(card, text=(*limit, *card.text), footer=footer)


def ask(meant: Invocation) -> Card:
    """The question before a change."""
    line = _line(meant)
    button = Button(
        label=f"{line[0].upper()}{line[1:]}"[:60], action=meant.arguments, workspace=meant.workspace or ""
    )
    return Card(
        title=f"Run “{line}”?",
        tone=Tone.WARN,
        text=("Nothing was changed yet.",),
        buttons=(button,),
    )


def offer_nearest(card: Card, nearest: Sequence[Invocation]) -> Card:
    """The refusal, with the commands that may have been meant."""
    lines = " or ".join(f"`{_line(one)}`" for one in nearest)
    buttons = tuple(
        Button(label=_line(one)[:60], action=one.arguments, workspace=one.workspace or "") for one in nearest
    )
    return replace(card, text=(f"Did you mean {lines}?",), facts=(), buttons=buttons)


def _line(invocation: Invocation) -> str:
    return render(invocation.arguments, workspace=invocation.workspace)
