"""`help` in Slack: tasks first, then the other commands that this person can run here, with buttons."""

from __future__ import annotations

from dataclasses import replace

from bot.blockkit.actions import OpenForm
from bot.commands.answer import Answer
from bot.slack.permissions import Person
from shared.commands import COMMANDS, Command
from shared.commands.base import ALIASES
from shared.commands.help import EVERYTHING, Help
from shared.commands.replies import Replies
from shared.commands.run import CommandContext
from shared.commands.status import Status
from shared.commands.tasks import TASKS, command_of
from shared.domain.card import Button, Card, Tone

FORMS = ("pause", "subscribe", "add")
"""The commands with a form."""
_BUTTONS = (
    Button(label="Status", action=Status(), tone=Tone.GOOD),
    Button(label="Replies", action=Replies()),
    Button(label="Pause …", action=OpenForm(verb="pause")),
    Button(label="Subscribe …", action=OpenForm(verb="subscribe")),
    Button(label="All commands", action=Help(command=EVERYTHING)),
)


async def overview(_: Help, context: CommandContext, person: Person) -> Answer:
    """The card for `help` without a command."""
    lines = filter(None, (_task(task, context) for task in TASKS))
    buttons = tuple(button for button in _BUTTONS if context.allows(_command_of(button)))
    return Answer(
        card=Card(title=f"What you can do here, @{person.name}", text=tuple(lines), buttons=buttons)
    )


def _command_of(button: Button) -> Command:
    action = button.action
    return COMMANDS[action.verb] if isinstance(action, OpenForm | Status | Replies) else COMMANDS["help"]


def _task(task: str, context: CommandContext) -> str:
    allowed = [syntax for syntax in TASKS[task] if context.allows(COMMANDS[command_of(syntax)])]
    return f"{task}: {' · '.join(f'`{syntax}`' for syntax in allowed)}" if allowed else ""


def with_form(card: Card, line: str) -> Card:
    """The card with a form button, for a command without arguments."""
    verb, _, named = line.strip().lower().partition(" @")
    verb = ALIASES.get(verb, verb)
    if verb not in FORMS or " " in named:
        return card
    form = Button(label="Open form", action=OpenForm(verb=verb, workspace=named), tone=Tone.GOOD)
    return replace(card, buttons=(form, *card.buttons))
