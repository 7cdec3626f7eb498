"""The models of the outreach service.

Every field except an id can be None: unknown, not zero or healthy. A status is one of the documented words, or any
other that the service sends.
`raw` keeps the whole object as the service sent it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from sys import intern
from typing import Annotated, Any, Generic, TypeVar

from pydantic import AliasChoices, AliasPath, Field, PlainValidator, SkipValidation
from pydantic.dataclasses import dataclass as model

from ..frozen import frozen
from .values import as_count, as_number, as_text, as_word, spellings

T = TypeVar("T")

NOTHING: Mapping[str, Any] = {}

Identifier = Annotated[str, PlainValidator(lambda value: intern(as_text(value) or ""))]
"""Interned: of ten thousand inboxes the addresses come with each poll, with the counts, and in the history."""
Text = Annotated[str | None, PlainValidator(as_text)]
Word = Annotated[str | None, PlainValidator(as_word)]
Number = Annotated[float | None, PlainValidator(as_number)]
Count = Annotated[int | None, PlainValidator(as_count)]
Raw = Annotated[Mapping[str, Any], SkipValidation, Field(exclude=True)]


def _named(*names: str, default: Any = None) -> Any:
    """A value under the document's name, that in camel case, or a plausible synonym; a dot leads into an object.

    The first name that is there counts, even if its value can't be read: then the value is unknown. A custom field
    may have any name, and must not stand for a documented one.
    """
    spelled = dict.fromkeys(form for name in names for form in spellings(name))
    choices = [AliasPath(*form.split(".")) if "." in form else form for form in spelled]
    return Field(default, validation_alias=AliasChoices(*choices))


def _raw() -> Any:
    return field(default_factory=dict, repr=False, compare=False)


@model(frozen=True, slots=True, kw_only=True)
class Lead:
    """A person who gets the emails of a sequence."""

    id: Identifier = _named("id", "lead_id", "uuid", default=...)
    email: Text = _named("email", "email_address")
    status: Word = _named("status", "state")
    first_name: Text = _named("first_name", "firstname", "given_name")
    last_name: Text = _named("last_name", "lastname", "surname", "family_name")
    company: Text = _named("company", "company_name", "organization")
    raw: Raw = _raw()


@model(frozen=True, slots=True, kw_only=True)
class Sequence:
    """A series of emails; `steps` is a count."""

    id: Identifier = _named("id", "sequence_id", "uuid", default=...)
    name: Text = _named("name", "title", "label")
    status: Word = _named("status", "state")
    steps: Count = _named("steps", "step_count", "steps_count", "total_steps")
    raw: Raw = _raw()

    @property
    def label(self) -> str:
        """Its name, or its id if it has none."""
        return self.name or self.id


@model(frozen=True, slots=True, kw_only=True)
class Inbox:
    """A connected sending address; health 0-100, daily limit in messages."""

    email: Identifier = _named("email", "email_address", "address", "mailbox", default="")
    """The address; the id stands for it where there is none."""
    id: Text = _named("id", "inbox_id", "uuid")
    health_score: Number = _named("health_score", "health.score", "health", "score", "reputation")
    daily_limit: Count = _named("daily_limit", "daily_send_limit", "daily_cap", "sending_limit", "limit")
    status: Word = _named("status", "state")
    raw: Raw = _raw()

    @property
    def domain(self) -> str:
        """The part after the last @, in lower case; empty if the address is unknown."""
        return self.email.rpartition("@")[2].lower() if "@" in self.email else ""


@model(frozen=True, slots=True, kw_only=True)
class StatsRow:
    """Counts of one group over a range of days."""

    group: Identifier
    id: Text = None
    """The group's identifier, if the service gives one: names may be shared."""
    sends: Count = _named("sends", "sent", "send_count", "sends_count")
    replies: Count = _named("replies", "replied", "reply_count", "replies_count")
    positive_replies: Count = _named("positive_replies", "positive", "interested", "positive_reply_count")
    meetings: Count = _named("meetings", "meetings_booked", "meeting_count", "meetings_count")
    raw: Raw = _raw()


@frozen
class Skipped:
    """A lead that wasn't added, with the reason if the service gives one."""

    email: str | None = None
    reason: str | None = None
    raw: Any = field(default=None, repr=False, compare=False)


@frozen
class AddResult:
    """The result of POST /leads.

    `repeated` is True when the request was sent twice after an uncertain outcome, so that some of `skipped`
    may be what the first sending added.
    """

    added: int | None
    skipped: tuple[Skipped, ...] = ()
    repeated: bool = False
    raw: Mapping[str, Any] = _raw()


@frozen
class Subscription:
    """A webhook subscription; the service shows `secret` only once."""

    id: str
    secret: str = field(repr=False)
    url: str = ""
    events: tuple[str, ...] = ()
    raw: Mapping[str, Any] = _raw()


@frozen
class Page(Generic[T]):
    """One page of a list, and the cursor of the next (None: this was the last)."""

    items: tuple[T, ...]
    next_cursor: str | None = None


Model = Lead | Sequence | Inbox | StatsRow


def as_dict(value: Model) -> dict[str, Any]:
    """All fields except `raw`, under the service's names."""
    return {name: getattr(value, name) for name in fields_of(type(value))}


def fields_of(kind: type[Any]) -> tuple[str, ...]:
    """The names of the values of a model, or of another dataclass; `raw` is none of them."""
    return tuple(name for name in kind.__dataclass_fields__ if name != "raw")


def names_of(kind: type[Model]) -> frozenset[str]:
    """The names under which the values of a model are read."""
    values = kind.__pydantic_fields__.values()  # type: ignore[union-attr] # all of them have it
    aliases = [alias for value in values for alias in getattr(value.validation_alias, "choices", ())]
    return frozenset(alias if isinstance(alias, str) else alias.path[-1] for alias in aliases)
