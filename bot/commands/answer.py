"""The answer to a command, and who sees it."""

from __future__ import annotations

from shared.domain.card import Card
from shared.frozen import frozen


@frozen
class Answer:
    """An answer, and whether the whole channel sees it."""

    card: Card
    public: bool = False
    by: str = ""
    """The signature of who did it, empty where the card says so itself."""
    items: tuple[Card, ...] = ()
    """Listed below the card, each with its own buttons."""
    settles: bool = False
    """The clicked question is answered and can be removed."""
    on_card: bool = False
    """The alert's card shows it; only people who clicked elsewhere get it as an answer."""
    edited: bool = False
    """The message of a change shows it by now; who clicked there needs no answer."""
    noted: bool = False
    """A note in the thread of the alert's card says it: an answer there would be a second message."""
    workspace: str = ""
    setting: str = ""
    """The setting whose message it is."""
    about: str = ""
    """The channel that it tells of."""
    number: int = 0
    """The number of the change in the audit."""
