"""The commands themselves, one entry per verb. Pure.

Adding a command is adding an entry here, and its act to `operations`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from shared.commands import arguments, guard_arguments, pauses, periods
from shared.commands.arguments import Grammar, Values


class Role(StrEnum):
    """What a person may do; each includes the one before."""

    READER = "reader"
    OPERATOR = "operator"
    ADMIN = "admin"

    def includes(self, other: Role) -> bool:
        order = list(Role)
        return order.index(self) >= order.index(other)


class Face(StrEnum):
    """Where a command is given."""

    SLACK = "slack"
    SHELL = "shell"
    DASHBOARD = "dashboard"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One verb."""

    name: str
    summary: str
    usage: str = ""
    changes: bool = False
    role: Role = Role.READER
    confirm: bool = False
    """Asks before it acts, unless the line says --yes."""
    confirms_many: bool = False
    """Asks before it acts on several at once, unless the line says --yes."""
    asks_for: Callable[[Values], bool] = field(default=lambda _: True, repr=False, compare=False)
    """Of a command that asks first: for which arguments."""
    examples: tuple[str, ...] = ()
    faces: frozenset[Face] = frozenset(Face)
    grammar: Grammar = field(default=arguments.NOTHING, repr=False, compare=False)

    @property
    def bare(self) -> bool:
        return not self.usage or self.usage.startswith("[")

    @property
    def synopsis(self) -> str:
        return f"{self.name} {self.usage}".rstrip()


COMMANDS: dict[str, Command] = {}
_TABLE = (
    Command(
        name="help",
        usage="[COMMAND]",
        summary="What there is, and how each command is used",
        examples=("help", "help pause"),
        grammar=arguments.one_of("command", COMMANDS),
    ),
    Command(name="status", summary="How everything stands, on one page", examples=("status",)),
    Command(
        name="sequences",
        usage="[active|paused]",
        summary="The sequences with their status and steps",
        examples=("sequences", "sequences paused"),
        grammar=arguments.STATUS,
    ),
    Command(
        name="pause",
        usage="SEQUENCE [for 2h] [reason …]",
        summary="Stop a sequence, or all; with a time it resumes by itself",
        changes=True,
        role=Role.OPERATOR,
        confirms_many=True,
        examples=(
            "pause sq_1",
            'pause "Q3 founders" for 2h reason bounces are high',
            "pause sq_1 until monday 09:00",
            "pause all",
            "pause domain:acme.com",
        ),
        grammar=pauses.PAUSE,
    ),
    Command(
        name="resume",
        usage="SEQUENCE",
        summary="Let a paused sequence run again",
        changes=True,
        role=Role.OPERATOR,
        confirms_many=True,
        examples=("resume sq_1", 'resume "Q3 founders"', "resume all"),
        grammar=arguments.TARGET,
    ),
    Command(
        name="inboxes",
        usage="[DOMAIN|unhealthy]",
        summary="The inboxes with health, daily limit and status, by domain",
        examples=("inboxes", "inboxes unhealthy", "inboxes acme.com"),
        grammar=arguments.INBOXES,
    ),
    Command(
        name="stats",
        usage="[by sequence|step|variant|inbox|person] [7d|last week|FROM..TO]",
        summary="Sends, replies, positive replies and meetings, with rates; or who claims how fast",
        examples=(
            "stats",
            "stats by step 7d",
            "stats yesterday",
            "stats by person last week",
            "stats by inbox 2026-01-01..2026-01-31",
        ),
        grammar=periods.STATS,
    ),
    Command(
        name="leads",
        usage="[SEQUENCE] [STATUS]",
        summary="The newest leads, of a sequence or a status",
        examples=("leads interested", "leads sq_1 replied"),
        grammar=arguments.LEADS,
    ),
    Command(
        name="lead",
        usage="EMAIL|NAME|ld_…",
        summary="One lead with its last reply, by address, name or id",
        examples=("lead ann@acme.com", "lead Ada Lovelace", "lead ld_1"),
        grammar=arguments.LEAD,
    ),
    Command(
        name="add",
        usage="EMAIL to SEQUENCE [field=value …]",
        summary="Add a lead to a sequence",
        changes=True,
        role=Role.OPERATOR,
        examples=("add ann@acme.com to sq_1 first_name=Ann company=Acme",),
        grammar=arguments.ADD,
    ),
    Command(
        name="remove",
        usage="EMAIL|ld_…",
        summary="Remove a lead from all sequences; asks first",
        changes=True,
        role=Role.OPERATOR,
        confirm=True,
        examples=("remove ann@acme.com", "remove ld_1"),
        grammar=arguments.WHO,
    ),
    Command(
        name="open",
        usage="[PAGE]",
        summary="Interested replies that nobody has claimed",
        examples=("open", "open 2"),
        grammar=arguments.PAGE,
    ),
    Command(
        name="subscribe",
        usage="EVENT… [sequence=…] [inbox=…] [here|#channel] [condensed]",
        summary="Have a channel told of exactly these events",
        changes=True,
        role=Role.OPERATOR,
        examples=(
            "subscribe reply.interested here",
            'subscribe lead.bounced sequence="Q3 founders" #sales condensed',
        ),
        grammar=arguments.SUBSCRIBE,
    ),
    Command(
        name="unsubscribe",
        usage="EVENT… [sequence=…] [inbox=…] [here|#channel]",
        summary="Undo a subscription; `all` ends every one",
        changes=True,
        role=Role.OPERATOR,
        examples=("unsubscribe lead.bounced here", "unsubscribe all #sales"),
        grammar=arguments.SUBSCRIBE,
    ),
    Command(
        name="subscriptions",
        usage="[here|#channel]",
        summary="What a channel is told of",
        examples=("subscriptions", "subscriptions #sales"),
        grammar=arguments.CHANNEL,
    ),
    Command(
        name="digest",
        usage="now|today|[mondays] at 09:00 [ZONE]|off [here|#channel]",
        summary="The day or the week in one message: now, again and again, or no more",
        changes=True,
        role=Role.OPERATOR,
        examples=(
            "digest now",
            "digest today",
            "digest at 09:00 Europe/Berlin",
            "digest mondays at 08:30",
            "digest off",
        ),
        grammar=arguments.DIGEST,
    ),
    Command(
        name="guard",
        usage="[list|add RULE [as NAME]|test RULE|NAME|remove NAME|off [NAME]|on [NAME]]",
        summary="Rules that tell, suggest or pause when bounces, replies or health go wrong",
        changes=True,
        role=Role.OPERATOR,
        confirm=True,
        asks_for=guard_arguments.is_asked_first,
        examples=(
            "guard",
            'guard add "pause sequence for 4h when bounces > 5% of at least 50 sends in 24h"',
            "guard add tell about domain when health < 60 as low-health",
            "guard test bounces-5",
            "guard off",
        ),
        grammar=guard_arguments.GUARD,
    ),
    Command(
        name="report",
        usage="[last week|last month|7d|FROM..TO]",
        summary="What a client is told of a time: sends, replies, meetings, health, incidents",
        examples=("report", "report last month", "report 2026-03-01..2026-03-31"),
        # In a shell it is a program of its own, which writes the page.
        faces=frozenset({Face.SLACK, Face.DASHBOARD}),
        grammar=periods.REPORT,
    ),
    Command(name="audit", summary="Who changed what, when and where", examples=("audit",)),
    Command(name="whoami", summary="Your role, and what it may do", examples=("whoami",)),
    Command(
        name="doctor",
        summary="Whether the bot reaches the service, Slack, its channels and its database",
        role=Role.ADMIN,
        examples=("doctor",),
        faces=frozenset({Face.SLACK}),  # in a shell it is a program of its own, which checks more
    ),
)
COMMANDS.update((command.name, command) for command in _TABLE)
