"""The registry of commands: each is a module of this package with a `COMMAND`, which every face reads.

To add a command, add a module: nothing else names it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

from shared.commands import arguments, channels
from shared.commands.arguments import Arguments, Words, one_of
from shared.commands.guard_arguments import Guard
from shared.commands.periods import Replies, Report, Stats
from shared.domain.roles import Role

if TYPE_CHECKING:
    from shared.commands.result import Question, Result

Run = Callable[[Any, Any], "Awaitable[Result | Question]"]
"""What a command does, from its arguments and its context."""


class Face(StrEnum):
    """Where a command is given."""

    SLACK = "slack"
    SHELL = "shell"
    DASHBOARD = "dashboard"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One verb."""

    arguments: type[Arguments]
    run: Run
    """Gives a result, or the question that it asks first. Raises `OutreachError`, `RecordsUnavailable`."""
    summary: str
    rank: int
    """Its place in lists of commands."""
    usage: str = ""
    changes: bool = False
    asks: bool = False
    """It asks before some of what it does; a shell takes --yes."""
    role: Role = Role.READER
    reads: bool = False
    """Of a command that changes something: with some arguments it only reads."""
    newest_only: bool = False
    """Shows the newest entries of a long list; a shell takes --limit and --all."""
    examples: tuple[str, ...] = ()
    faces: frozenset[Face] = frozenset(Face)
    aliases: tuple[str, ...] = ()
    """Other names, which mean exactly the same."""
    own_fields: frozenset[str] = frozenset()
    """Fields of its rows with ids, statuses and times; an assistant gets every other text as quoted from outside."""
    assistants: bool = True
    """Whether an assistant may give it in a person's name."""

    @property
    def name(self) -> str:
        return self.arguments.verb

    @property
    def bare(self) -> bool:
        return not self.usage or self.usage.startswith("[")

    @property
    def synopsis(self) -> str:
        return f"{self.name} {self.usage}".rstrip()


__all__ = ["ALIASES", "COMMANDS", "Command", "Face", "Help", "Role", "discover", "find_command"]

COMMANDS: dict[str, Command] = {}
"""By name, in the order of lists."""
ALIASES: dict[str, str] = {}
"""The name that each alias stands for."""


def find_command(word: str) -> Command | None:
    """The command of a name or an alias, in any case."""
    name = word.lower()
    return COMMANDS.get(ALIASES.get(name, name))


def discover(package: str, folders: Iterable[str]) -> None:
    """Find the commands of all modules of a package, which lie in these folders."""
    names = [one.name for one in pkgutil.iter_modules(folders) if not one.ispkg]
    modules = [importlib.import_module(f"{package}.{name}") for name in names]
    found = [one.COMMAND for one in modules if hasattr(one, "COMMAND")]
    found = sorted((*_TABLE, *found), key=lambda one: one.rank)
    COMMANDS.clear()
    COMMANDS.update((command.name, command) for command in found)
    ALIASES.clear()
    ALIASES.update((alias, command.name) for command in found for alias in command.aliases)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Help(Arguments):
    """`help [COMMAND]`."""

    verb = "help"
    command: str | None = None

    @classmethod
    def read(cls, words: Words) -> Self:
        word = one_of(words, (*COMMANDS, *ALIASES))
        return cls(command=ALIASES.get(word, word) if word else None)

    def write(self) -> Iterable[str]:
        return filter(None, (self.command,))


def _later(path: str) -> Run:
    """What a command does, imported when it is run first: every start of the program would wait for it."""

    async def run(arguments: Any, context: Any) -> Result | Question:
        module, _, function = path.partition(":")
        done: Result | Question = await getattr(importlib.import_module(module), function)(arguments, context)
        return done

    return run


_TABLE = (
    Command(
        arguments=Help,
        run=_later("shared.commands.running.help_cards:run_help"),
        rank=0,
        aliases=("hi", "?"),
        usage="[COMMAND]",
        summary="Show all commands, or how to use one",
        examples=("help", "help pause"),
    ),
    Command(
        arguments=arguments.Status,
        run=_later("shared.operations.reports.overview:status"),
        rank=10,
        summary="Show an overview on one page",
        own_fields=frozenset({"workspace", "last_delivery_at", "tone"}),
        examples=("status",),
    ),
    Command(
        arguments=arguments.Inboxes,
        run=_later("shared.operations.inboxes:list_inboxes"),
        rank=50,
        usage="[DOMAIN|unhealthy]",
        summary="List inboxes by domain, with health score, daily limit and status",
        own_fields=frozenset({"status"}),
        examples=("inboxes", "inboxes unhealthy", "inboxes acme.com"),
    ),
    Command(
        arguments=arguments.Domains,
        run=_later("shared.operations.inboxes:list_domains"),
        rank=60,
        aliases=("bounces",),
        summary="List the sending domains, worst first, with state, lowest health and bounces of 24 hours",
        own_fields=frozenset({"state"}),
        examples=("domains", "bounces"),
    ),
    Command(
        arguments=arguments.Domain,
        run=_later("shared.operations.domains:domain"),
        rank=70,
        usage="DOMAIN",
        summary="Show the state of a domain and its causes: health, sends, bounces, DNS, last changes, advice",
        own_fields=frozenset({"at", "kind"}),
        examples=("domain mail.acme.com",),
    ),
    Command(
        arguments=Stats,
        run=_later("shared.operations.reports.stats:stats"),
        rank=80,
        usage="[by sequence|step|variant|inbox|person] [7d|last week|FROM..TO]",
        summary="Show sends, replies, positive replies, meetings and rates, or times to claim by person",
        own_fields=frozenset({"id"}),
        examples=(
            "stats",
            "stats by step 7d",
            "stats yesterday",
            "stats by person last week",
            "stats by inbox 2026-01-01..2026-01-31",
        ),
    ),
    Command(
        arguments=arguments.Leads,
        run=_later("shared.operations.leads:list_leads"),
        rank=90,
        usage="[SEQUENCE] [STATUS]",
        summary="List the newest leads, filtered by sequence or status",
        own_fields=frozenset({"id", "status"}),
        newest_only=True,
        examples=("leads interested", "leads sq_1 replied"),
    ),
    Command(
        arguments=arguments.Lead,
        run=_later("shared.operations.leads:lead"),
        rank=100,
        usage="EMAIL|NAME|ld_… [STATUS]",
        summary="Show a lead and its last reply, by email, name or id",
        own_fields=frozenset({"id", "status"}),
        examples=("lead ann@acme.com", "lead Ada Lovelace", "lead ld_1"),
    ),
    Command(
        arguments=arguments.Add,
        run=_later("shared.operations.leads:add"),
        rank=110,
        usage="EMAIL to SEQUENCE [field=value …]",
        summary="Add a lead to a sequence",
        changes=True,
        role=Role.OPERATOR,
        examples=("add ann@acme.com to sq_1 first_name=Ann company=Acme",),
    ),
    Command(
        arguments=arguments.Remove,
        run=_later("shared.operations.leads:remove"),
        rank=120,
        usage="EMAIL|ld_… [STATUS]",
        summary="Remove a lead from all sequences, after confirmation",
        own_fields=frozenset({"id"}),
        changes=True,
        asks=True,
        role=Role.OPERATOR,
        examples=("remove ann@acme.com", "remove ld_1"),
    ),
    Command(
        arguments=Replies,
        run=_later("shared.operations.replies:replies"),
        rank=130,
        aliases=("open",),
        usage="[mine|today|7d|last week|FROM..TO|PAGE]",
        summary="List unclaimed interested replies, those that you have claimed, or who replied in a period",
        own_fields=frozenset({"alert_id", "received_at", "event"}),
        examples=("replies", "replies mine", "replies today", "replies 2"),
    ),
    Command(
        arguments=channels.Subscribe,
        run=_later("shared.operations.subscriptions.commands:subscribe"),
        rank=140,
        usage="EVENT… [sequence=…] [domain=…] [inbox=…] [here|#channel] [condensed]",
        summary="Choose which events post to a channel",
        changes=True,
        role=Role.OPERATOR,
        examples=(
            "subscribe interested here",
            'subscribe bounces, opt-outs sequence="Q3 founders" #sales condensed',
            "subscribe bounces domain=mail.acme.com here",
        ),
    ),
    Command(
        arguments=channels.Unsubscribe,
        run=_later("shared.operations.subscriptions.commands:unsubscribe"),
        rank=150,
        usage="EVENT… [sequence=…] [domain=…] [inbox=…] [here|#channel]",
        summary="Stop events from posting to a channel, or all of them",
        changes=True,
        role=Role.OPERATOR,
        examples=("unsubscribe bounces here", "unsubscribe all #sales"),
    ),
    Command(
        arguments=channels.Subscriptions,
        run=_later("shared.operations.subscriptions.commands:subscriptions"),
        rank=160,
        usage="[here|#channel]",
        summary="List the subscriptions of a channel",
        examples=("subscriptions", "subscriptions #sales"),
    ),
    Command(
        arguments=channels.Digest,
        run=_later("shared.operations.subscriptions.commands:digest"),
        rank=170,
        usage="now|today|[weekdays|mon,thu] at 09:00 [ZONE]|off [here|#channel]",
        summary="Show a summary of yesterday or of today so far, schedule it for the days you choose, or turn it off",
        changes=True,
        role=Role.OPERATOR,
        examples=(
            "digest now",
            "digest today",
            "digest at 09:00 Europe/Berlin",
            "digest weekdays at 08:30",
            "digest mon,thu at 08:30",
            "digest off",
        ),
    ),
    Command(
        arguments=Guard,
        run=_later("shared.operations.guard:guard"),
        rank=180,
        aliases=("guard",),
        usage="[list|add RULE [as NAME]|test RULE|test NAME|remove NAME|snooze NAME [for 24h]|off [NAME]|on [NAME]]",
        summary="Manage rules that notify you or pause sequences when bounces, replies or health get worse",
        own_fields=frozenset({"at", "last_fired", "state"}),
        changes=True,
        asks=True,
        role=Role.OPERATOR,
        reads=True,
        examples=(
            "guardrails",
            'guardrails add "pause sequence for 4h when bounces > 5% of at least 50 sends in 24h"',
            "guardrails add notify about domain when health < 60 as low-health",
            "guardrails test bounces-5",
            "guardrails snooze bounces-5 for 24h",
            "guardrails off",
        ),
    ),
    Command(
        arguments=Report,
        run=_later("shared.operations.reports.report:report"),
        rank=190,
        usage="[last week|last month|7d|FROM..TO]",
        summary="Show a client report for a period: sends, replies, meetings, health, incidents",
        own_fields=frozenset({"workspace", "from", "to", "made_at", "at"}),
        examples=("report", "report last month", "report 2026-03-01..2026-03-31"),
        # In a shell it is its own program, which writes the page.
        faces=frozenset({Face.SLACK, Face.DASHBOARD}),
    ),
    Command(
        arguments=arguments.Away,
        run=_later("shared.operations.absences:away"),
        rank=210,
        usage="[for 2h|until monday]",
        summary="Get no turns in a rota while you are away",
        changes=True,
        role=Role.OPERATOR,
        examples=("away until monday", "away for 2h", "away"),
        faces=frozenset({Face.SLACK}),  # elsewhere nobody knows who you are in Slack
        assistants=False,
    ),
    Command(
        arguments=arguments.Back,
        run=_later("shared.operations.absences:back"),
        rank=220,
        summary="Get turns in a rota again",
        changes=True,
        role=Role.OPERATOR,
        examples=("back",),
        faces=frozenset({Face.SLACK}),
        assistants=False,
    ),
    Command(
        arguments=arguments.Audit,
        run=_later("shared.operations.replies:audit"),
        rank=230,
        aliases=("log",),
        summary="List recent changes: who, what, when and where",
        own_fields=frozenset({"at", "workspace", "via"}),
        newest_only=True,
        examples=("audit",),
    ),
    Command(
        arguments=arguments.Whoami,
        run=_later("shared.operations.replies:whoami"),
        rank=240,
        summary="Show your role and permissions",
        examples=("whoami",),
        own_fields=frozenset({"role", "workspace", "may"}),
    ),
    Command(
        arguments=arguments.Doctor,
        run=_later("shared.commands.running.help_cards:run_doctor"),
        rank=250,
        summary="Check the connection to the service, Slack, the channels and the database",
        role=Role.ADMIN,
        examples=("doctor",),
        faces=frozenset({Face.SLACK}),  # in a shell it is its own program, which checks more
        assistants=False,
    ),
)
