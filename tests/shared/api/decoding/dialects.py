"""Shapes in which a service might say a thing: meaning in, JSON out. Written without a look at the decoder's table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

Meaning = dict[str, Any]

STYLES: dict[str, Callable[[list[str]], str]] = {
    "snake": "_".join,
    "camel": lambda words: words[0] + "".join(word.capitalize() for word in words[1:]),
    "kebab": "-".join,
    "pascal": lambda words: "".join(word.capitalize() for word in words),
    "screaming": lambda words: "_".join(words).upper(),
    "spaced": lambda words: " ".join(word.capitalize() for word in words),
}

LEAD = {
    "id": ("id", "lead id", "uuid", "attributes.id"),
    "email": ("email", "email address", "lead email", "contact.email", "attributes.email"),
    "status": ("status", "state", "lead status", "status.name", "attributes.status"),
    "first_name": ("first name", "given name", "name.first", "person.first name", "attributes.first name"),
    "last_name": ("last name", "surname", "family name", "name.last", "attributes.last name"),
    "company": ("company", "company name", "organization", "company.name", "organization.name"),
}
SEQUENCE = {
    "id": ("id", "sequence id", "campaign id", "sequence.id", "uid"),
    "name": ("name", "title", "sequence name", "label", "sequence.name"),
    "status": ("status", "state", "sequence status", "status.value", "attributes.state"),
    "steps": (
        "steps",
        "step count",
        "steps count",
        "number of steps",
        "total steps",
        "steps.count",
        "stats.steps",
    ),
}
INBOX = {
    "email": (
        "email",
        "address",
        "email address",
        "inbox email",
        "mailbox",
        "inbox.address",
        "attributes.email",
    ),
    "id": ("id", "inbox id", "uuid"),
    "health_score": (
        "health score",
        "health",
        "health.score",
        "metrics.health.value",
        "deliverability score",
    ),
    "daily_limit": (
        "daily limit",
        "daily cap",
        "daily sending limit",
        "limits.daily",
        "daily limit.value",
        "max per day",
    ),
    "status": ("status", "state", "inbox status", "status.name", "attributes.status"),
}
STATS = {
    "group": ("group", "name", "key", "label", "group.name", "sequence name"),
    "sends": (
        "sends",
        "sent",
        "emails sent",
        "send count",
        "total sent",
        "metrics.sends",
        "counts.sent",
        "sends.total",
    ),
    "replies": ("replies", "replied", "reply count", "total replies", "metrics.replies", "replies.total"),
    "positive_replies": (
        "positive replies",
        "positive",
        "interested",
        "positive reply count",
        "replies.positive",
    ),
    "meetings": (
        "meetings",
        "meetings booked",
        "booked",
        "meeting count",
        "metrics.meetings",
        "meetings.count",
    ),
}

ENVELOPES = ("bare", "data", "own", "data.own", "own.data", "result.items", "wrapped")

NOISE = st.dictionaries(
    st.sampled_from(["x_region", "createdAt", "_links", "tags", "owner", "schema-version", "x_notes"]),
    st.sampled_from(["eu-1", 7, None, True, [], ["a", "b"], {"self": None}, {"since": "2026-01-02"}, ""]),
    max_size=4,
)


@dataclass(frozen=True)
class Dialect:
    """One way to say objects of one kind."""

    style: str
    names: Mapping[str, str]
    numbers: str
    case: str

    def say(self, meaning: Meaning, noise: Mapping[str, Any]) -> dict[str, Any]:
        payload: dict[str, Any] = dict(noise)
        for field, value in meaning.items():
            self._put(payload, self.names[field].split("."), self._value(field, value))
        return payload

    def key(self, words: str) -> str:
        return STYLES[self.style](words.split(" "))

    def _put(self, payload: dict[str, Any], path: list[str], value: Any) -> None:
        *wrappers, last = path
        for wrapper in wrappers:
            payload = payload.setdefault(self.key(wrapper), {})
        payload[self.key(last)] = value

    def _value(self, field: str, value: Any) -> Any:
        if isinstance(value, (int, float)):
            return _number(field, value, self.numbers)
        return STYLES_OF_CASE[self.case](value) if field == "status" else value


STYLES_OF_CASE: dict[str, Callable[[str], str]] = {"lower": str, "upper": str.upper, "title": str.title}


def _number(field: str, value: float, form: str) -> Any:
    if form == "text":
        return str(value)
    if form == "percent" and field == "health_score":
        return f"{value}%"
    if form == "grouped" and isinstance(value, int):
        return f"{value:,}"
    return float(value) if form == "float" else value


@st.composite
def dialects(draw: st.DrawFn, vocabulary: Mapping[str, Sequence[str]]) -> Dialect:
    names = {field: draw(st.sampled_from(choices)) for field, choices in vocabulary.items()}
    return Dialect(
        style=draw(st.sampled_from(sorted(STYLES))),
        names=_without_collisions(names, vocabulary),
        numbers=draw(st.sampled_from(["number", "text", "percent", "grouped", "float"])),
        case=draw(st.sampled_from(sorted(STYLES_OF_CASE))),
    )


def _without_collisions(names: dict[str, str], vocabulary: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """No key is a value here and an object there: `replies: 3` leaves no place for `replies: {positive: 1}`."""
    taken: set[str] = set()
    for field in sorted(names, key=lambda field: "." in names[field]):
        path = names[field]
        if path.partition(".")[0] in taken and "." in path:
            names[field] = path = vocabulary[field][0]
        if "." not in path:
            taken.add(path)
    return names


def enclose(items: list[Any], envelope: str, own: str) -> Any:
    """A list, where a service might put it."""
    body: Any = items
    for name in reversed([] if envelope == "bare" else envelope.split(".")):
        body = {own if name == "own" else name: body}
    return (
        {"meta": {"request_id": "r-1"}, **body} if isinstance(body, dict) and envelope != "wrapped" else body
    )


def enclose_keyed(items: dict[str, Any], envelope: str, own: str) -> Any:
    """Objects keyed by their identifier, where a service might put them."""
    return items if envelope == "bare" else {own if envelope == "own" else "data": items}


TEXTS = st.sampled_from(
    ["A", "Ada", "O'Neil & Sons", "Q4 – Berlin", "7 days", "Größe", "x.y", "Bot, Inc.", "true"]
)
