"""`help` in Slack: tasks first, then the other commands that this person can run here, with buttons."""

from __future__ import annotations

from dataclasses import replace

from bot.blockkit.actions import OpenForm
from bot.commands.answer import Answer
from bot.slack.permissions import Person
from shared.commands import COMMANDS, Command, Face
from shared.commands.inboxes import Inboxes
from shared.commands.replies import Replies
from shared.commands.running.context import CommandContext
from shared.commands.status import Status
from shared.commands.table import ALIASES
from shared.commands.tasks import IN_TASKS, ON_A_REPLY, TASKS, command_of
from shared.domain.card import Button, Card, Tone

FORMS = ("pause", "subscribe", "add")
"""The commands with a form."""
_BUTTONS = (
    Button(label="Status", action=Status(), tone=Tone.GOOD),
    Button(label="Replies", action=Replies()),
    Button(label="Pause …", action=OpenForm(verb="pause")),
    Button(label="Inboxes", action=Inboxes()),
    Button(label="Subscribe …", action=OpenForm(verb="subscribe")),
)
_ANYWHERE = (
    f"▸ Work on a reply, from anywhere\n{' · '.join(f'`{syntax}`' for syntax in ON_A_REPLY)}\n"
    "In a card's thread, @outreach help lists what can be done with it."
)


async def overview(context: CommandContext, person: Person) -> Answer:
    """The card for `help` without a command."""
    here = [one for one in COMMANDS.values() if Face.SLACK in one.faces]
    refused = [one.name for one in here if not context.allows(one)]
    others = [one.name for one in here if one.name not in IN_TASKS and one.name not in refused]
    return Answer(
        card=Card(
            title=f"What you can do here, @{person.name}",
            text=(
                *filter(None, (_task(task, context) for task in TASKS)),
                _ANYWHERE,
                f"▸ More\n{', '.join(f'`{name}`' for name in others)}. `help COMMAND` shows details.",
            ),
            buttons=tuple(button for button in _BUTTONS if context.allows(_command_of(button))),
            footer=_footer(refused),
        )
    )


def _command_of(button: Button) -> Command:
    action = button.action
    return (
        COMMANDS[action.verb]
        if isinstance(action, OpenForm | Status | Replies | Inboxes)
        else COMMANDS["help"]
    )


def _task(task: str, context: CommandContext) -> str:
    allowed = [syntax for syntax in TASKS[task] if context.allows(COMMANDS[command_of(syntax)])]
    return f"▸ {task}\n{' · '.join(f'`{syntax}`' for syntax in allowed)}" if allowed else ""


def _footer(refused: list[str]) -> str:
    return f"You don't have permission here for: {', '.join(refused)}." if refused else ""


def with_form(card: Card, line: str) -> Card:
    """The card with a form button, for a command without arguments."""
    verb, _, named = line.strip().lower().partition(" @")
    verb = ALIASES.get(verb, verb)
    if verb not in FORMS or " " in named:
        return card
    form = Button(label="Open form", action=OpenForm(verb=verb, workspace=named), tone=Tone.GOOD)
    return replace(card, buttons=(form, *card.buttons))
