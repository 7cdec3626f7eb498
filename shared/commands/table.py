"""The table of commands, one entry each. Pure.

To add a command, add an entry here and its function in `operations`.
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
    reads: Callable[[Values], bool] | None = field(default=None, repr=False, compare=False)
    """Of a command that changes something: for which arguments it only reads; None: for none."""
    newest_only: bool = False
    """Shows the newest entries of a long list; a shell takes --limit and --all."""
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
        summary="All commands, and how to use each",
        examples=("help", "help pause"),
        grammar=arguments.one_of("command", COMMANDS),
    ),
    Command(name="status", summary="Overview of the workspace on one page", examples=("status",)),
    Command(
        name="sequences",
        usage="[active|paused]",
        summary="Sequences with status and steps",
        examples=("sequences", "sequences paused"),
        grammar=arguments.STATUS,
    ),
    Command(
        name="pause",
        usage="SEQUENCE [for 2h] [reason …]",
        summary="Pause a sequence, or all of them, until you resume it or for a set time",
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
        summary="Resume a paused sequence",
        changes=True,
        role=Role.OPERATOR,
        confirms_many=True,
        examples=("resume sq_1", 'resume "Q3 founders"', "resume all"),
        grammar=arguments.TARGET,
    ),
    Command(
        name="inboxes",
        usage="[DOMAIN|unhealthy]",
        summary="Inboxes by domain, with health score, daily limit and status",
        examples=("inboxes", "inboxes unhealthy", "inboxes acme.com"),
        grammar=arguments.INBOXES,
    ),
    Command(
        name="stats",
        usage="[by sequence|step|variant|inbox|person] [7d|last week|FROM..TO]",
        summary="Sends, replies, positive replies, meetings and rates, or response times by person",
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
        summary="The newest leads, filtered by sequence or status",
        newest_only=True,
        examples=("leads interested", "leads sq_1 replied"),
        grammar=arguments.LEADS,
    ),
    Command(
        name="lead",
        usage="EMAIL|NAME|ld_…",
        summary="A lead and its last reply, by address, name or id",
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
        summary="Remove a lead from all sequences, after confirmation",
        changes=True,
        role=Role.OPERATOR,
        confirm=True,
        examples=("remove ann@acme.com", "remove ld_1"),
        grammar=arguments.WHO,
    ),
    Command(
        name="open",
        usage="[PAGE]",
        summary="Unclaimed interested replies",
        examples=("open", "open 2"),
        grammar=arguments.PAGE,
    ),
    Command(
        name="subscribe",
        usage="EVENT… [sequence=…] [inbox=…] [here|#channel] [condensed]",
        summary="Choose which events post to a channel",
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
        summary="Stop events from posting to a channel, or all of them",
        changes=True,
        role=Role.OPERATOR,
        examples=("unsubscribe lead.bounced here", "unsubscribe all #sales"),
        grammar=arguments.SUBSCRIBE,
    ),
    Command(
        name="subscriptions",
        usage="[here|#channel]",
        summary="Subscriptions of a channel",
        examples=("subscriptions", "subscriptions #sales"),
        grammar=arguments.CHANNEL,
    ),
    Command(
        name="digest",
        usage="now|today|[mondays] at 09:00 [ZONE]|off [here|#channel]",
        summary="A daily or weekly summary: post it now, schedule it, or turn it off",
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
        summary="Rules that notify you or pause sequences when bounces, replies or health get worse",
        changes=True,
        role=Role.OPERATOR,
        confirm=True,
        asks_for=guard_arguments.is_asked_first,
        reads=guard_arguments.only_reads,
        examples=(
            "guard",
            'guard add "pause sequence for 4h when bounces > 5% of at least 50 sends in 24h"',
            "guard add notify about domain when health < 60 as low-health",
            "guard test bounces-5",
            "guard off",
        ),
        grammar=guard_arguments.GUARD,
    ),
    Command(
        name="report",
        usage="[last week|last month|7d|FROM..TO]",
        summary="Client report for a period: sends, replies, meetings, health, incidents",
        examples=("report", "report last month", "report 2026-03-01..2026-03-31"),
        # In a shell it is its own program, which writes the page.
        faces=frozenset({Face.SLACK, Face.DASHBOARD}),
        grammar=periods.REPORT,
    ),
    Command(
        name="audit",
        summary="Recent changes: who, what, when and where",
        newest_only=True,
        examples=("audit",),
    ),
    Command(name="whoami", summary="Your role and permissions", examples=("whoami",)),
    Command(
        name="doctor",
        summary="Check the connection to the service, Slack, the channels and the database",
        role=Role.ADMIN,
        examples=("doctor",),
        faces=frozenset({Face.SLACK}),  # in a shell it is its own program, which checks more
    ),
)
COMMANDS.update((command.name, command) for command in _TABLE)
