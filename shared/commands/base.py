"""The parts of a command: its class, its arguments, and its answer. Pure, and light to import.

A command is a class in a module of this package; to add one, add a module: nothing else names it. Every start of the
program imports them all, so a command imports the client and what reads with it in its functions.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from datetime import UTC, date, datetime, tzinfo
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, dataclass_transform

from shared.api.errors import OutreachError
from shared.api.words import LEAD_STATUSES
from shared.domain.card import Card, Fact, Tone, warning
from shared.domain.roles import Role
from shared.frozen import frozen
from shared.text.formats import clip, show_number, show_time
from shared.text.tokenize import Word, parse_channel, quote

if TYPE_CHECKING:
    from shared.api.client import OutreachClient
    from shared.api.models import Inbox, StatsRow
    from shared.api.models import Sequence as Campaign
    from shared.api.words import Grouping
    from shared.records import Actor, Before, Effect
    from shared.settings import Settings, Workspace
    from shared.store import Store

Words = tuple[Word, ...]
T = TypeVar("T")
ALL, DOMAIN = "all", "domain:"
NOTHING_CHANGED = "Nothing was changed."


class ArgumentError(Exception):
    """The words after the verb make no sense; the message says which, `hint` what would, `example` shows a whole line."""

    def __init__(self, problem: str, *, hint: str = "", example: str = "") -> None:
        self.problem, self.hint, self.example = problem, hint, example
        super().__init__(problem)


class UsageError(Exception):
    """The line isn't a valid command; the card says what would have been right."""

    def __init__(self, card: Card) -> None:
        self.card = card
        title = card.title if card.title.endswith("?") else f"{card.title}."
        super().__init__(" ".join((title, *card.text)))


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
class Data:
    """A frozen dataclass that is given by keyword, without what `dataclass` compiles for each class.

    Compiling that for all classes of the commands would take longer than the rest of `outreach --help`.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __init_subclass__(cls) -> None:
        dataclass(init=False, eq=False, repr=False)(cls)

    def __init__(self, *values: Any, **given: Any) -> None:
        given |= zip((one.name for one in fields(self)), values, strict=False)
        for one in fields(self):
            default = one.default if one.default_factory is MISSING else one.default_factory()
            vars(self)[one.name] = value = given.get(one.name, default)
            if value is MISSING:
                raise TypeError(f"{type(self).__name__} needs {one.name}")

    def __setattr__(self, name: str, _value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    # Buttons and questions are compared and kept in sets, as values of frozen dataclasses are.
    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(**{vars(self)})"


class Arguments(Data, ABC):
    """A command: its class has its name, help and permission, an instance its arguments, and `run` does it.

    The docstring of the class is the summary of its help. `read` and `write` are inverses:
    `read(split(" ".join(write()))) == self`.
    """

    verb = ""
    """Its name; empty: it is what several commands have in common."""
    usage = ""
    changes = False
    asks = False
    """It asks before some of what it does; a shell takes --yes."""
    role = Role.READER
    reads = False
    """True where a command that changes something only reads with some arguments."""
    newest_only = False
    """Shows the newest entries of a long list; a shell takes --limit and --all."""
    examples: ClassVar[tuple[str, ...]] = ()
    slack_only = False
    """True where shell, dashboard and assistants don't have it."""
    aliases: ClassVar[tuple[str, ...]] = ()
    """Other names, which mean exactly the same."""
    own_fields: ClassVar[tuple[str, ...]] = ()
    """Fields of its rows with ids, statuses and times; an assistant gets every other text as quoted from outside."""
    summary: ClassVar[str]
    synopsis: ClassVar[str]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.summary = (cls.__doc__ or "").removesuffix(".")
        cls.synopsis = f"{cls.verb} {cls.usage}".rstrip()

    @classmethod
    def is_offered(cls, _context: CommandContext) -> bool:
        """False where the settings of a context leave it without meaning: then no list shows it."""
        return True

    @abstractmethod
    async def run(self, context: CommandContext) -> Done:
        """Carry it out, as far as it asks nothing. Raises `OutreachError`, `RecordsUnavailable`."""

    @classmethod
    def read(cls, words: Words) -> Self:
        """Raises `ArgumentError`."""
        none_left(words)
        return cls()

    def write(self) -> Iterable[str]:
        """The words that a person would type after the verb: where nothing else is said, the values of its fields."""
        return [quote(value) for value in vars(self).values() if value]

    @property
    def line(self) -> str:
        """The command as a person would type it."""
        return " ".join([self.verb, *self.write()])

    @property
    def only_reads(self) -> bool:
        """True where a command that changes something changes nothing with these arguments."""
        return False


Command = type[Arguments]


class Changing(Arguments):
    """A command that changes something."""

    changes = True
    role = Role.OPERATOR


class OnSequence(Arguments):
    """A command about a sequence: the words that name it, none where any is meant."""

    target: tuple[str, ...] = ()

    @classmethod
    def read(cls, words: Words) -> Self:
        return cls(target=need_target(words))

    def write(self) -> Iterable[str]:
        return write_target(self.target)


NO_CHANNEL = "“here” works only in Slack. Name a channel, like '#sales'."
HERE = ""
"""The channel in which the command is given."""


class InChannel(Arguments):
    """A command about a channel, which may be `HERE`."""

    channel: str = HERE

    @classmethod
    def read(cls, words: Words) -> Self:
        channel, words = take_channel(words)
        none_left(words)
        return cls(channel=channel)

    def write(self) -> Iterable[str]:
        return (mention_channel(self.channel),) if self.channel else ()


def need_channel(arguments: InChannel, context: CommandContext) -> str:
    """The channel that is named, or the one in which the command is given; raises `ArgumentError` where there is none."""
    if channel := arguments.channel or context.actor.channel:
        return channel
    raise ArgumentError("Which channel?", hint=NO_CHANNEL)


def take_channel(words: Words) -> tuple[str, Words]:
    """The first channel that the words name, or `HERE`; and the other words."""
    for at, word in enumerate(words):
        # A shell needs the quotes around `#sales`, where it would begin a comment; whoever copies a line has them.
        is_text = word.key or (word.quoted and not word.text.startswith("#"))
        channel = None if is_text else parse_channel(word.text)
        if channel or word.is_one_of("here"):
            return channel or HERE, (*words[:at], *words[at + 1 :])
    return HERE, words


def mention_channel(channel: str) -> str:
    return channel if channel.startswith("#") else f"<#{channel}>"


def is_email(text: str) -> bool:
    return re.fullmatch(r"[^@\s<>,;]+@[^@\s<>,;]+", text) is not None


def nearest_of(word: str, known: Iterable[str], *, cutoff: float = 0.5) -> list[str]:
    """The known words that are spelled most alike, the nearest first, at most three."""
    import difflib  # late: only a mistake pays for its import

    typed = word.casefold()[:60]
    near = difflib.get_close_matches(typed, tuple(known), cutoff=cutoff)
    # Two letters that changed places are the commonest mistake, and difflib counts them as two.
    return sorted(near, key=lambda name: sorted(name) != sorted(typed))


def did_you_mean(word: str, known: Collection[str]) -> str:
    """A hint naming the nearest of the known words, or all of them."""
    near = nearest_of(word, known)
    return f"Did you mean {near[0]}?" if near else f"Choose from: {', '.join(known)}."


def unknown_word(word: Word, known: Collection[str]) -> ArgumentError:
    return ArgumentError(f"“{clip(word.text)}” isn't an option here.", hint=did_you_mean(word.text, known))


def none_left(words: Words) -> None:
    if words:
        raise ArgumentError(f"“{clip(words[0].text)}” isn't expected here.")


def texts(words: Iterable[Word]) -> tuple[str, ...]:
    return tuple(word.text for word in words)


def one_of(words: Words, known: Collection[str]) -> str | None:
    """One of the known words, or none."""
    none_left(words[1:])
    if words and not words[0].is_one_of(*known):
        raise unknown_word(words[0], known)
    return words[0].text.lower() if words else None


TARGET_KEYWORDS = (
    *("for", "until", "till", "til", "reason", "reason:", "to", "by", "here", "condensed", "full"),
    *LEAD_STATUSES,
)


def write_target(target: tuple[str, ...]) -> list[str]:
    lengths = (word.lower() for word in target if word[:1].isdigit())  # `2h` alone is the end of a pause
    words = [quote(word, keywords=(*TARGET_KEYWORDS, *lengths)) for word in target]
    return [quote(" ".join(target))] if words[1:] and words[0].startswith('"') else words


def need_target(words: Words) -> tuple[str, ...]:
    if not any(word.text.strip() for word in words):
        hint = "Enter its id, its name, or a word of its name that fits only one."
        raise ArgumentError("Which sequence?", hint=hint)
    return texts(words)


@frozen
class Part(Generic[T]):
    """One part of an answer: its value, or why there is none. One that can't be read is unknown, and hides no other."""

    value: T | None = None
    error: Exception | None = None

    @property
    def why(self) -> str:
        return self.error.message if isinstance(self.error, OutreachError) else str(self.error)

    def unknown(self, label: str) -> Fact:
        return Fact(label, f"unknown: {self.why}", tone=Tone.UNKNOWN)


async def read_part(reading: Awaitable[T]) -> Part[T]:
    """Read it; a failure of the service or the records is kept as such."""
    from shared.records import RecordsUnavailable  # late: `outreach --help` reads no records

    try:
        return Part(value=await reading)
    except (OutreachError, RecordsUnavailable) as error:
        return Part(error=error)


Rows = Sequence[Mapping[str, object]]


class Result(Data):
    """The outcome of a command. No front end reads the card to learn it."""

    card: Card = field(kw_only=False)
    rows: Rows = ()
    """The card's data as objects, with the service's names as keys, for `--json`."""
    audit: str = ""
    """The entry in the audit; empty where nothing was done or refused: a look, no change."""
    effect: Effect = ""
    sequences: tuple[str, ...] = ()
    """The ids of those that were paused or resumed."""
    until: datetime | None = None
    """The end of a pause."""
    reason: str = ""
    undoable: Mapping[str, Before] = field(default_factory=dict)
    """The sequences of `sequences` that an Undo takes back, as they were before."""
    undoes: int = 0
    """The number of the entry in the audit that this took back."""
    setting: str = ""
    """The setting that it changed, such as `digest C123`: earlier messages about it say from then on how it is."""
    about: str = ""
    """The channel whose subscriptions or digest it changed: nobody reads of it who may not know of that channel."""
    number: int = 0
    """The number of its entry in the audit; 0: there is none."""
    problem: str = ""
    """The reason why nothing was done, without an error: several fit, none fits. A shell exits with 1."""

    @property
    def changed(self) -> bool:
        """Something was done, or may have been; it is news for others."""
        return bool(self.audit and not self.problem)


class Act(Changing):
    """A change with everything resolved to ids: nothing is looked up again. Buttons and answers have it, nobody types it.

    `verb` is the command whose permission it needs, and which a person may type instead.
    """

    asks = True  # a command asks before it comes to this

    @property
    def line(self) -> str:
        return self.verb


@frozen
class Invocation:
    """The arguments of a command, and its workspace where one is named, as `parse` read them from `line`."""

    arguments: Arguments
    workspace: str | None = None
    line: str = ""

    @property
    def changes(self) -> bool:
        return self.arguments.changes and not self.arguments.only_reads


def invocation(arguments: Arguments, *, workspace: str | None = None) -> Invocation:
    """Return the invocation as if a person had typed it."""
    line = arguments.line if isinstance(arguments, Act) else render(arguments, workspace=workspace)
    return Invocation(arguments=arguments, workspace=workspace, line=line)


def render(arguments: Arguments, *, workspace: str | None = None) -> str:
    """The line that `parse` reads back to the same arguments and workspace."""
    return f"{arguments.line} @{workspace}" if workspace else arguments.line


class Choice(Data):
    """One answer to a question: the label of its button, and what it carries out."""

    label: str = field(kw_only=False)
    act: Act = field(kw_only=False)


class Question(Data):
    """The question of a command before it changes anything. A face draws it and hands an act back to `run`."""

    card: Card
    """The card that says what will change, without buttons."""
    choices: tuple[Choice, ...]
    """The first is what the command says."""
    is_open: bool = False
    """True: the command says none of the choices, so that nobody may confirm it unseen."""
    no: str = "Cancel"
    line: str = ""
    """The command, for the audit."""


Done = Result | Question | Act
"""What a command comes to: a result, the question that it asks first, or what it does without a question."""


def which(noun: str, query: str, fitting: int, *text: str, **more: Any) -> Card:
    """The card where the words of a person fit none, or several; with `more` of it, such as buttons."""
    title = f"“{clip(query)}” matches {show_number(fitting, noun)}"
    if not fitting:
        title = f"No {noun} matches “{clip(query)}”"
    asked = " ".join(filter(None, (*text, "Which one?" if fitting else "")))
    return warning(title, asked, **more)


def is_over(end: str) -> Result:
    return refused(f"{end} has passed", NOTHING_CHANGED, why="the time has passed")


def ask(title: str, *text: str, label: str, act: Act) -> Question:
    """The question whether to carry one act out."""
    return Question(card=warning(title, *text), choices=(Choice(label, act),))


def refused(title: str, *text: str, why: str) -> Result:
    """The result of a command that may not or can't be carried out; nothing was changed."""
    return refusal(warning(title, *text), why=why)


def refusal(card: Card, *, why: str) -> Result:
    return Result(card, audit=f"refused: {why}", effect="refused", problem=why)


def not_done(title: str, *text: str, why: str) -> Result:
    """The result of a command with nothing to do or to show, which the audit needn't have."""
    return Result(warning(title, *text), problem=why)


class Stop(Exception):  # a command ends with a result; nothing has gone wrong
    """Ends a command from anywhere in it, with a result that says why it isn't carried out."""

    def __init__(self, result: Result) -> None:
        self.result = result
        super().__init__(result.card.title)


UNCHECKED = "Not checked with Slack: this channel may not exist, or may not accept messages."


class Place(Data):
    """A channel to post to. `refusal` says why that is impossible, `fix` what to do about it; `error` is Slack's word."""

    channel: str
    error: str = ""
    refusal: str = ""
    fix: str = ""
    note: str = ""
    """A note that the answer adds where the channel is taken as it is."""


async def no_link(_alert: str) -> str:
    return ""


async def take_as_is(channel: str) -> Place:
    return Place(channel=channel, note=UNCHECKED)


class CommandContext(Data):
    """The context in which a person's or a timer's command runs. `now` gives aware times in UTC."""

    settings: Settings
    workspace: Workspace
    client: OutreachClient
    actor: Actor
    records: Store
    """The bot's records; where the database can't be opened, each act on them raises `RecordsUnavailable`."""
    now: Callable[[], datetime]
    asks_always: bool = False
    """Every change is asked about first: a key is pressed by mistake more easily than a line is typed."""
    unseen: bool = False
    """True if a question is answered by yes without being shown, so that nothing is read only to show it."""
    pages_searched: int = 20
    """Pages to search for one lead: the service offers no search, so each is a request."""
    progress: Callable[[int], None] = lambda _count: None
    """Told how many leads a search has looked at."""
    role: Role = Role.ADMIN
    """The person's role, as it is shown: whoever sits at the machine may do everything; Slack says who its people are."""
    allows: Callable[[str], bool] = lambda _verb: True
    """Says if the person may use the command with this name here."""
    problems: Callable[[], Sequence[str]] = tuple
    """The running bot's own current problems."""
    zone: tzinfo = UTC
    """The reader's time zone."""
    limit: int | None = None
    """The number of entries of a list to show; None: the command's default."""
    permalink: Callable[[str], Awaitable[str]] = no_link
    """The address of an alert's card, for faces that can lead there; empty where there is none."""
    find_place: Callable[[str], Awaitable[Place]] = take_as_is
    """Says if a channel exists and takes posts; only Slack knows."""

    def show(self, at: datetime) -> str:
        """A moment as the reader reads it."""
        return show_time(at, now=self.now(), zone=self.zone)

    def until(self, at: datetime | None) -> str:
        """` until 16:40 UTC`; empty without an end."""
        return f" until {self.show(at)}" if at else ""

    def titled(self, what: str) -> str:
        """`Status`, or `Status of acme` where the workspace has a name."""
        from shared.settings import DEFAULT

        return what if self.workspace.name == DEFAULT else f"{what} of {self.workspace.name}"

    @property
    def today(self) -> date:
        """The day by the service's calendar, by which it counts."""
        return (self.client.service_time or self.now()).date()

    @property
    def local_day(self) -> date:
        """The day of the reader."""
        return self.now().astimezone(self.zone).date()

    # A person waits for these, so they go before whatever a poll has asked for.

    async def sequences(self) -> tuple[Campaign, ...]:
        from shared.api.pace import Priority

        return await self.client.list_sequences(priority=Priority.INTERACTIVE)

    async def inboxes(self) -> tuple[Inbox, ...]:
        from shared.api.pace import Priority

        return await self.client.list_inboxes(priority=Priority.INTERACTIVE)

    async def stats(
        self, start: date | None = None, end: date | None = None, *, by: Grouping = "sequence"
    ) -> tuple[StatsRow, ...]:
        from shared.api.pace import Priority

        return await self.client.stats(group_by=by, start=start, end=end, priority=Priority.INTERACTIVE)

    async def need_place(self, channel: str) -> Place:
        """The channel to post to; raises `Stop` where that is impossible."""
        place = await self.find_place(channel)
        if place.refusal:
            raise Stop(refused(place.refusal, place.fix, why=place.refusal))
        return place


LEADING = (
    "help status sequences pause resume inboxes domains domain stats leads lead add remove replies subscribe "
    "unsubscribe subscriptions digest guardrails report undo away back audit whoami doctor"
)
"""The commands in the order of lists, which lead with what people use most; any other comes last."""
NO_COMMANDS = frozenset({"base", "domain_page", "errors", "hold", "rules", "run", "times"})
"""The modules of this package without a command."""
COMMANDS: dict[str, Command] = {}
"""The commands by name, in the order of lists."""
ALIASES: dict[str, str] = {}
"""The name that each alias stands for."""


def find_command(word: str) -> Command | None:
    """The command of a name or an alias, in any case."""
    name = word.lower()
    return COMMANDS.get(ALIASES.get(name, name))


def discover(package: str, folders: Iterable[str]) -> None:
    """Find the commands of all modules of a package, which lie in these folders."""
    found: set[Command] = set()
    for one in pkgutil.iter_modules(folders):
        if one.name not in NO_COMMANDS:
            values = vars(importlib.import_module(f"{package}.{one.name}")).values()
            kinds = (value for value in values if isinstance(value, type))
            commands = (kind for kind in kinds if issubclass(kind, Arguments) and kind.verb)
            found.update(kind for kind in commands if not issubclass(kind, Act))
    # Not in the order of files.
    places = {name: place for place, name in enumerate(LEADING.split())}
    ordered = sorted(found, key=lambda one: places.get(one.verb, len(places)))
    COMMANDS.update((command.verb, command) for command in ordered)
    ALIASES.update((alias, command.verb) for command in ordered for alias in command.aliases)
