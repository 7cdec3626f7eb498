"""Makes models of responses. Pure.

A list may be bare, under `data` or under its own name; the names of values are in `models`, and `[fields]` settings say
where any other is. Only ids are required. `Unreadable` names the endpoint, the missing value, the keys that were there,
and the `[fields]` line that cures it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qs, urlsplit

from pydantic import TypeAdapter, ValidationError

from .errors import Unreadable
from .models import AddResult, Inbox, Lead, Page, Sequence, Skipped, StatsRow, Subscription
from .values import as_count, as_flag, as_object, as_text, first, follow

M = TypeVar("M", Lead, Sequence, Inbox, StatsRow)

Overrides = Mapping[str, str]
"""One `[fields.…]` section: the name of a value -> its dotted path. `list` and `next_cursor` are names too."""

NONE: Overrides = {}
KEYS_SHOWN = 12
DEPTH_OF_LISTS = 2
MOST_SKIPPED = 1000
"""Leads of one request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind(Generic[M]):
    """How the objects of one endpoint are read."""

    section: str
    """Of the settings: `[fields.SECTION]`."""
    endpoint: str
    identifier: str
    lists: tuple[str, ...]
    """The names under which their list may lie, beside `data`."""
    model: type[M]

    @property
    def names(self) -> frozenset[str]:
        """The values that a `[fields]` line can name."""
        return frozenset(one.name for one in fields(self.model)) - {"raw"}


LEADS = Kind(section="lead", endpoint="GET /leads", identifier="id", lists=("leads",), model=Lead)
SEQUENCES = Kind(
    section="sequence",
    endpoint="GET /sequences",
    identifier="id",
    lists=("sequences", "campaigns"),
    model=Sequence,
)
INBOXES = Kind(
    section="inbox",
    endpoint="GET /inboxes",
    identifier="email",
    lists=("inboxes", "mailboxes"),
    model=Inbox,
)
STATS = Kind(
    section="stats", endpoint="GET /stats", identifier="group", lists=("stats", "rows"), model=StatsRow
)
_ADAPTERS: Mapping[type, TypeAdapter[Any]] = {
    kind.model: TypeAdapter(kind.model) for kind in (LEADS, SEQUENCES, INBOXES, STATS)
}


def leads(body: Any, *, fields: Overrides = NONE) -> Page[Lead]:
    """One page of leads and the next cursor."""
    return Page(items=_models(body, LEADS, fields), next_cursor=next_cursor(body, fields=fields))


def sequences(body: Any, *, fields: Overrides = NONE) -> tuple[Sequence, ...]:
    return _models(body, SEQUENCES, fields)


def inboxes(body: Any, *, fields: Overrides = NONE) -> tuple[Inbox, ...]:
    """The inboxes; the address identifies one, and where there is none, its id stands for it."""
    return _models(body, INBOXES, fields, prepare=_with_address)


def stats(body: Any, *, group_by: str = "sequence", fields: Overrides = NONE) -> tuple[StatsRow, ...]:
    """One row for each group."""

    def prepare(item: Mapping[str, Any]) -> dict[str, Any]:
        configured = as_text(follow(item, fields["group"])) if "group" in fields else None
        group = configured or group_of(item, group_by=group_by)
        return {**item, "group": group, "id": group_id_of(item, group_by=group_by)}

    return _models(body, STATS, fields, prepare=prepare)


def changed_sequence(body: Any, *, id: str, status: str, fields: Overrides = NONE) -> Sequence:  # noqa: A002 -- as the model
    """The sequence whose status was set; what the answer does not say of it, the request does."""
    item = body if isinstance(body, dict) else {}
    inner = next((item[name] for name in ("data", "sequence") if isinstance(item.get(name), dict)), item)
    found: Sequence = _validated({**inner, "id": id}, SEQUENCES, fields)
    return replace(found, id=id, status=found.status or status, raw=item)


def added(body: Any, *, repeated: bool = False) -> AddResult:
    """What POST /leads answered; a body that says nothing leaves `added` unknown."""
    inner = follow(body, "data") if isinstance(follow(body, "data"), dict) else body
    return AddResult(
        added=first(inner, as_count, "added", "leads_added", "created"),
        skipped=tuple(_skipped(follow(inner, "skipped"))),
        repeated=repeated,
        raw=as_object(body),
    )


def _skipped(listed: Any) -> Iterator[Skipped]:
    """The leads that weren't added; of a mere count, as many that nothing is known of."""
    if isinstance(listed, list):
        for item in listed:
            text = as_text(item)
            is_address = text is not None and "@" in text
            yield Skipped(
                email=text if is_address else first(item, as_text, "email", "lead.email"),
                reason=None if is_address else text or first(item, as_text, "reason", "code", "error.code"),
                raw=item,
            )
    elif isinstance(listed, int) and not isinstance(listed, bool):
        yield from (Skipped() for _ in range(min(listed, MOST_SKIPPED)))


def subscription(body: Any, *, url: str, events: tuple[str, ...], fields: Overrides = NONE) -> Subscription:
    """A new subscription. Its secret is shown only once, so it is kept even if the id is missing."""

    def value(name: str, *others: str) -> str | None:
        places = (name, *others)
        wrapped = (f"{wrapper}.{place}" for wrapper in ("data", "webhook") for place in places)
        configured = [fields[name]] if name in fields else []
        return first(body, as_text, *configured, *places, *wrapped)

    secret = value("secret", "signing_secret", "webhook_secret")
    if secret is None:
        raise _missing("secret", body, section="webhook", endpoint="POST /webhooks")
    return Subscription(
        id=value("id", "webhook_id") or "", secret=secret, url=url, events=events, raw=as_object(body)
    )


_CURSORS = tuple(
    f"{place}{name}"
    for place in (
        "",
        "meta.",
        "pagination.",
        "meta.pagination.",
        "paging.",
        "page_info.",
        "cursor.",
        "links.",
        "data.",
    )
    for name in ("next_cursor", "next", "end_cursor")
)
"""Many, because a cursor that isn't found would end a list without an error."""


def next_cursor(body: Any, *, fields: Overrides = NONE) -> str | None:
    """The cursor of the next page; None where it is null, absent or empty, or the service says there is none."""
    if "next_cursor" in fields:
        return _cursor(as_text(follow(body, fields["next_cursor"])))
    has_more = first(body, as_flag, "has_more", "meta.has_more", "page_info.has_next_page")
    if not isinstance(body, dict) or has_more is False:
        return None
    if "next_cursor" in body:
        return _cursor(as_text(body["next_cursor"]))  # the document's own name: null is the end
    return _cursor(first(body, as_text, *_CURSORS))


def _cursor(text: str | None) -> str | None:
    """A link to the next page carries its cursor as a parameter."""
    if text is None or not text.startswith(("http://", "https://", "/", "?")):
        return text
    query = parse_qs(urlsplit(text).query)
    return next(iter(query.get("cursor", ())), None)


def _models(
    body: Any,
    kind: Kind[M],
    overrides: Overrides,
    *,
    prepare: Callable[[Mapping[str, Any]], dict[str, Any]] = dict,
) -> tuple[M, ...]:
    listed = follow(body, overrides["list"]) if "list" in overrides else body
    found = list_in(listed, kind.lists)
    if found is None:
        raise _missing("list", listed, section=kind.section, endpoint=kind.endpoint)
    models = []
    for item in found:
        if not isinstance(item, dict):
            raise _missing(kind.identifier, item, section=kind.section, endpoint=kind.endpoint)
        model = _validated(prepare(item), kind, overrides, raw=item)
        if not getattr(model, kind.identifier):
            raise _missing(kind.identifier, item, section=kind.section, endpoint=kind.endpoint)
        models.append(model)
    return tuple(models)


def list_in(body: Any, own_names: tuple[str, ...], depth: int = DEPTH_OF_LISTS) -> list[Any] | None:
    """The list itself, the one under `data`, or the one under its own name; null stands for an empty one."""
    if isinstance(body, list):
        return body
    if not isinstance(body, dict) or not depth:
        return None
    for name in ("data", *own_names):
        if name in body:
            found = list_in(body[name], own_names, depth - 1)
            if found is not None:
                return found
    is_empty = any(body.get(name, body) is None for name in ("data", *own_names))
    return [] if is_empty else None


def _validated(
    item: dict[str, Any], kind: Kind[M], overrides: Overrides, *, raw: Mapping[str, Any] | None = None
) -> M:
    """The model of an object; a `[fields]` line that finds something beats the names, one that doesn't, doesn't."""
    source = item if raw is None else raw
    for name, path in overrides.items():
        if name in kind.names and (value := follow(source, path)) is not None:
            item[name] = value
    try:
        model: M = _ADAPTERS[kind.model].validate_python({**item, "raw": source})
    except ValidationError:  # of a missing id alone: every other value may be unknown
        raise _missing(kind.identifier, source, section=kind.section, endpoint=kind.endpoint) from None
    return model


def _with_address(item: Mapping[str, Any]) -> dict[str, Any]:
    known = first(item, as_text, "email", "email_address", "address", "mailbox")
    return dict(item) if known else {**item, "email": first(item, as_text, "id", "inbox_id")}


def group_of(item: Mapping[str, Any], *, group_by: str) -> str | None:
    """What a row of stats calls its group: its name before its id, and never the grouping's own name."""
    own = ("name", "email", "title", "value", "id")
    places = (
        "group", *(f"group.{name}" for name in own), f"{group_by}_name", f"{group_by}_email", group_by,
        *(f"{group_by}.{name}" for name in own), "name", "email", "label", "title", f"{group_by}_id", "group_id", "id",
    )  # fmt: skip
    texts = (as_text(follow(item, place)) for place in places)
    return next((text for text in texts if text and text.lower() != group_by), None)


def group_id_of(item: Mapping[str, Any], *, group_by: str) -> str | None:
    """The identifier of a row's group, beside its name."""
    return first(item, as_text, f"{group_by}_id", f"{group_by}.id", "group_id", "group.id", "id")


def _missing(field: str, item: Any, *, section: str, endpoint: str) -> Unreadable:
    found = ", ".join(str(key)[:40] for key in list(item)[:KEYS_SHOWN]) if isinstance(item, dict) else ""
    what = {"list": "no list was found", "secret": "the response has no `secret`"}
    there = f"its keys are: {found}" if found else f"it is {_kind_of(item)}"
    return Unreadable(
        f"{what.get(field, f'an item without a `{field}`')}; {there}.",
        endpoint=endpoint,
        hint=(
            "Set its path with the argument `fields`, or in outreach.toml under "
            f'[fields.{section}]: {field} = "path.to.it"'
        ),
        argument=f"fields.{section}.{field}",
    )


def _kind_of(item: Any) -> str:
    names = {dict: "an empty object", list: "an empty list", str: "a string", type(None): "null"}
    return names.get(type(item), "a number")
