"""Offers of the palette while someone types: commands, the actions of the screen, and sequences as arguments. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from textual.fuzzy import FuzzySearch

from shared.commands import COMMANDS, find_command
from shared.frozen import frozen
from shared.text.tokenize import quote
from tui.model.lines import SequenceLine

MOST = 36
MOST_SEQUENCES = 12
LONGEST = 24
"""Letters of what is typed up to which they may be spread over a name: the search tries every way to spread them."""
_BEGINS = 500.0
"""The score of a name that begins so, less its length: above every other match, and the name itself above longer ones."""
_IN_SUMMARY = 0.5
"""The score of a match in the summary: below every name that fits."""


@frozen
class Offer:
    """A line that may be completed and run, or an action of the screen."""

    line: str
    about: str = ""
    key: str = ""
    """The key of an action, as people see it."""
    action: str = ""
    """The action that the screen runs; empty for a line."""
    names: tuple[str, ...] = ()
    """Names that find it, also former ones; where there are none, its line does."""
    beginning: str = ""
    """The beginning of a line to be typed on; empty where the offer runs as it is."""

    @property
    def words(self) -> str:
        """The text beside the name."""
        return f"{self.key}  {self.about}" if self.key else self.about


def is_line(typed: str) -> bool:
    """True where it begins with a command, and runs as it is."""
    return find_command(typed.strip().split(" ")[0]) is not None


def offers(
    typed: str,
    *,
    sequences: Sequence[SequenceLine] = (),
    actions: Sequence[Offer] = (),
    only_reads: bool = False,
) -> list[Offer]:
    """The offers that fit what is typed, the best first; `actions` are those of the screen.

    `only_reads` leaves out the commands that change something, which would be refused.
    """
    word, _, arguments = typed.strip().partition(" ")
    command = find_command(word)
    if command and (arguments or typed.endswith(" ")) and "SEQUENCE" in command.usage:
        wanted = arguments.strip().strip('"').casefold()
        fitting = [line for line in sequences if wanted in line.label.casefold()]
        if fitting:
            return [_on_sequence(command.verb, line) for line in fitting[:MOST_SEQUENCES]]
    listed = [*_commands(only_reads=only_reads), *actions]
    asked = typed.strip().casefold()
    if not asked:
        return listed[:MOST]
    # As the framework's own palette does (https://textual.textualize.io/api/fuzzy_matcher), which takes no arguments.
    search = FuzzySearch()
    ranked = [(_score(asked, offer.names or (offer.line,), offer.about, search), offer) for offer in listed]
    return [offer for score, offer in sorted(ranked, key=lambda pair: -pair[0]) if score > 0][:MOST]


def _on_sequence(command: str, one: SequenceLine) -> Offer:
    """Offer a command on a sequence by its name; by its id where another one has the same name."""
    named = one.key if one.is_namesake else quote(one.sequence.label)
    line = f"{command} {named}"
    return Offer(line=line, about=one.label if one.is_namesake else "", beginning=f"{line} ")


def _commands(*, only_reads: bool) -> list[Offer]:
    return [
        Offer(
            line=command.synopsis,
            names=(command.verb, *command.aliases),
            about=command.summary,
            beginning=f"{command.verb} " if command.usage else "",
        )
        for command in COMMANDS.values()
        if not command.slack_only and not (only_reads and command.changes and not command.reads)
    ]


def _score(asked: str, names: Sequence[str], about: str, search: FuzzySearch) -> float:
    return max(_of_name(asked, name.casefold(), search) for name in names) or (
        _IN_SUMMARY if asked in about.casefold() else 0.0
    )


def _of_name(asked: str, name: str, search: FuzzySearch) -> float:
    if name.startswith(asked):
        return _BEGINS - len(name)
    return search.match(asked, name)[0] if len(asked) <= LONGEST else 0.0
