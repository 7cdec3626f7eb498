"""The actions of the bot's buttons as data, beside commands, and how a message carries them. Pure.

A button's value is JSON: `["pause",{"target":["sq_1"]},"acme"]`.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, TypeAdapter

from shared.commands import COMMANDS, Invocation, invocation, parse
from shared.commands.base import Act, Arguments
from shared.commands.undo import UndoChange
from shared.domain.card import Action, Typed
from shared.frozen import frozen

ALERT, QUESTION = "al_", "q_"
"""Begin the ids of alerts and of questions."""
CLAIMING = frozenset(
    {
        *("mail", "claim", "assign", "takeover", "release", "snooze", "wake", "remind"),
        *("done", "dismiss", "reopen"),
    }
)
"""The acts on replies; `mail` is `Claim & reply`."""
ACK = "ack"
ASSIGN = "assign"
LEAD, DETAILS = "lead", "details"
LOOKS = frozenset({LEAD, DETAILS})
"""Read-only: the alert's lead, and everything about its reply."""


def _nested(given: Any) -> Any:
    return given if given is None or isinstance(given, Invocation) else read_value(json.dumps(given))


Nested = Annotated[
    Invocation,
    PlainSerializer(lambda one: json.loads(write_value(one.arguments, workspace=one.workspace or ""))),
    PlainValidator(_nested),
]


@frozen
class OnAlert:
    """Claims, snoozes or closes an alert, acknowledges it, or shows its lead or reply."""

    verb: str
    alert: str
    detail: str = ""
    """The end of a snooze, or the reason for which a reply is closed."""
    person: str = ""
    """To whom it is assigned: the id of a user, or `@name` as it was typed; empty: it is asked for."""
    instead_of: str = ""
    """The owner when the person was asked: it isn't taken from anybody else."""
    then: Nested | None = None
    """The command that runs afterwards."""

    @property
    def line(self) -> str:
        person = self.person if self.person.startswith("@") else self.person and f"<@{self.person}>"
        return " ".join(filter(None, (self.verb, self.alert, self.detail, person)))


@frozen
class Confirm:
    """Answers a question by one of its choices; the question counts once."""

    nonce: str
    choice: int = 0

    @property
    def line(self) -> str:
        return f"yes {self.nonce} {self.choice}" if self.choice else f"yes {self.nonce}"


@frozen
class Perform:
    """Carries out an act in a workspace, where there are several."""

    act: Act
    workspace: str | None = None

    @property
    def line(self) -> str:
        return self.act.line


@frozen
class Cancel:
    """Leaves a question unanswered."""

    line: str = "no"


@frozen
class OpenForm:
    """Opens the form of a command."""

    verb: str
    workspace: str = ""

    @property
    def line(self) -> str:
        return f"form {self.verb}" + (f" @{self.workspace}" if self.workspace else "")


@frozen
class ShowSample:
    """Shows a sample of an interested reply's card to one person; `pressed`: a button of that card was pressed."""

    pressed: bool = False

    @property
    def line(self) -> str:
        return "sample pressed" if self.pressed else "sample"


def read_line(line: str) -> Action:
    """The action of a typed line. Raises `UsageError`."""
    line = line.strip()
    verb, _, rest = line.partition(" ")
    if verb in {*CLAIMING, *LOOKS, ACK} and rest.startswith(ALERT):
        return _on_alert(verb, rest)
    if verb == "yes" and rest.startswith(QUESTION):
        nonce, _, choice = rest.partition(" ")
        return Confirm(nonce=nonce, choice=int(choice) if choice.isdigit() else 0)
    if verb == "form":
        form, _, workspace = rest.partition(" @")
        return OpenForm(verb=form, workspace=workspace)
    return Cancel() if line == "no" else parse(line)


def _on_alert(verb: str, rest: str) -> OnAlert:
    alert, _, detail = rest.partition(" ")
    if verb == ASSIGN:
        return OnAlert(verb=verb, alert=alert, person=read_person(detail.strip().removeprefix("to ")))
    return OnAlert(verb=verb, alert=alert, detail=detail.strip())


def read_person(text: str) -> str:
    """The id of a mention, `<@U1>`; else the name that was typed, as `@ann`; empty where there is none."""
    mention = re.fullmatch(r"<@([UW][A-Z0-9]+)>", text.strip())
    name = text.strip().lstrip("@").strip()
    return mention[1] if mention else name and f"@{name}"


_KINDS: dict[str, type[Any]] = {
    "alert": OnAlert,
    "answer": Confirm,
    "cancel": Cancel,
    "form": OpenForm,
    "sample": ShowSample,
    "undo-change": UndoChange,
}
"""The actions by their names in values, which stay: messages keep them for years. Commands have their own names."""
_NAMES = {kind: name for name, kind in _KINDS.items()}


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def write_value(action: Action, *, workspace: str = "") -> str:
    """The value of a button."""
    if isinstance(action, Perform):
        return write_value(action.act, workspace=action.workspace or workspace)
    kind = type(action)
    name = action.verb if isinstance(action, Arguments) else _NAMES.get(kind)
    if name is None:
        return action.line
    data = _adapter(kind).dump_python(action, mode="json", exclude_defaults=True)
    named = [workspace] if workspace else []
    return json.dumps([name, data, *named], ensure_ascii=False, separators=(",", ":"))


def read_value(value: str) -> Action:
    """The action of a button; a command comes as an `Invocation`. Raises `UsageError` for a line that means nothing."""
    if not value.startswith("["):
        return read_line(value)
    try:
        name, data, *workspace = json.loads(value)
        kind: Any = _KINDS[name] if name in _KINDS else COMMANDS[name].arguments
        if not data.keys() <= kind.__dataclass_fields__.keys():
            return Typed(value)
        action: Action = _adapter(kind).validate_python(data)
    except (ValueError, KeyError, TypeError, AttributeError):  # of a newer version
        return Typed(value)
    named = workspace[0] if workspace else None
    if isinstance(action, Act):
        return Perform(act=action, workspace=named)
    return invocation(action, workspace=named) if isinstance(action, Arguments) else action


def line_of(value: str) -> str:
    """The line that a person may type instead of a button with this value."""
    return read_value(value).line if value.startswith("[") else value


def change_of(action: Action | None) -> int:
    """The entry of the audit that an Undo takes back; 0 if it is another action."""
    act = action.act if isinstance(action, Perform) else action
    return act.change if isinstance(act, UndoChange) else 0
