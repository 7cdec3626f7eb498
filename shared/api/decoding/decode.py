"""Decodes responses in any known format into models. Pure.

Only ids are required. `Unreadable` names the endpoint, the missing value, the existing keys, and the `[fields]` line
that fixes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache, partial
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

from ..errors import Unreadable
from ..models import AddResult, Inbox, Lead, Page, Sequence, Skipped, StatsRow, Subscription
from . import field_names
from .coerce import as_text
from .field_names import Vocabulary, fold
from .fields import PLANS, Leaf, Reader, by_precedence, follow, leaves, spelling
from .list_envelope import Located, locate

M = TypeVar("M")

Overrides = Mapping[str, str]
"""One `[fields.…]` section: the name of a value -> its dotted path. `list` and `next_cursor` are names too."""

NONE: Overrides = {}
KEYS_SHOWN = 12
WRAPPERS = 4
"""How many objects may be wrapped around the list of skipped leads."""
LONGEST_GROUPING = 12
"""Characters of `group_by`, however it is written."""


def leads(body: Any, *, fields: Overrides = NONE) -> Page[Lead]:
    """One page of leads and the next cursor."""
    is_documented = isinstance(body, dict) and isinstance(body.get("data"), list) and "list" not in fields
    make = partial(_lead, is_configured="id" in fields)
    items = _models(body["data"] if is_documented else body, field_names.LEAD, fields=fields, make=make)
    return Page(items=items, next_cursor=next_cursor(body, fields=fields))


def sequences(body: Any, *, fields: Overrides = NONE) -> tuple[Sequence, ...]:
    return _models(body, field_names.SEQUENCE, fields=fields, make=_sequence)


def changed_sequence(body: Any, *, id: str, status: str, fields: Overrides = NONE) -> Sequence:  # noqa: A002 -- as the model
    """The sequence whose status was set; what the answer does not say of it, the request does."""
    item = body if isinstance(body, dict) else {}
    values = Reader(field_names.SEQUENCE, fields).read(item)
    return Sequence(raw=item, **(values | {"id": id, "status": values["status"] or status}))


def inboxes(body: Any, *, fields: Overrides = NONE) -> tuple[Inbox, ...]:
    return _models(body, field_names.INBOX, fields=fields, make=_inbox)


def stats(body: Any, *, group_by: str = "sequence", fields: Overrides = NONE) -> tuple[StatsRow, ...]:
    """One row for each group."""

    def group(item: Mapping[str, Any]) -> str | None:
        return group_of(item, group_by=group_by, fields=fields)

    def row(key: str | None, item: Mapping[str, Any], values: dict[str, Any]) -> StatsRow | None:
        name = group(item) or key
        if name is None:
            return None
        return StatsRow(group=name, id=group_id_of(item, group_by=group_by), raw=item, **values)

    return _models(_by_group_if_by_metric(body), field_names.STATS, fields=fields, make=row, identify=group)


def added(body: Any, *, repeated: bool = False) -> AddResult:
    """What POST /leads answered; a body that says nothing leaves `added` unknown."""
    if not isinstance(body, dict):
        return AddResult(added=None, repeated=repeated)
    count = Reader(field_names.ADDED).read(body)["added"]
    return AddResult(added=count, skipped=tuple(_skipped(body)), repeated=repeated, raw=body)


def subscription(body: Any, *, url: str, events: tuple[str, ...], fields: Overrides = NONE) -> Subscription:
    """A new subscription. Its secret is shown only once, so it is kept even if the id is missing."""
    item = body if isinstance(body, dict) else {}
    values = Reader(field_names.WEBHOOK, fields).read(item)
    if values["secret"] is None:
        raise _missing("secret", item, field_names.WEBHOOK)
    return Subscription(id=values["id"] or "", secret=values["secret"], url=url, events=events, raw=item)


def next_cursor(body: Any, *, fields: Overrides = NONE) -> str | None:
    """The cursor of the next page; None when null, absent, empty, or when the service says that was the last page."""
    if "next_cursor" in fields:
        return _cursor(as_text(follow(body, fields["next_cursor"])))
    if not isinstance(body, dict):
        return None
    outside = {key: value for key, value in body.items() if not isinstance(value, list)}
    found = CURSORS.read(outside)
    return None if found["has_more"] is False else _cursor(found["next_cursor"])


CURSORS = Reader(field_names.CURSOR)


def _cursor(text: str | None) -> str | None:
    """A link to the next page carries its cursor as a parameter."""
    if text is None or not text.startswith(("http://", "https://", "/", "?")):
        return text
    query = parse_qs(urlsplit(text).query)
    return next((query[name][0] for name in ("cursor", "after", "page_token") if name in query), None)


def _lead(
    key: str | None, item: Mapping[str, Any], values: dict[str, Any], *, is_configured: bool
) -> Lead | None:
    """The key it stood under beats any id but the documented one and a configured one: custom fields have any name."""
    is_id = key is not None and "@" not in key and not key.isdecimal()
    if is_id and "id" not in item and not is_configured:
        values["id"] = key
    values["id"] = values["id"] or key
    return Lead(raw=item, **values) if values["id"] else None


def _sequence(key: str | None, item: Mapping[str, Any], values: dict[str, Any]) -> Sequence | None:
    values["id"] = values["id"] or key
    return Sequence(raw=item, **values) if values["id"] else None


def _inbox(key: str | None, item: Mapping[str, Any], values: dict[str, Any]) -> Inbox | None:
    """The address identifies an inbox; where there is none, its id stands for it."""
    address = values["email"] if "@" in (values["email"] or "") else None
    if key is not None and "@" in key:
        address = address or key
    values["id"] = values["id"] or (key if key != address else None)
    values["email"] = address or values["email"] or values["id"]
    return Inbox(raw=item, **values) if values["email"] else None


def _models(
    body: Any,
    words: Vocabulary,
    *,
    fields: Overrides,
    make: Callable[[str | None, Mapping[str, Any], dict[str, Any]], M | None],
    identify: Callable[[Mapping[str, Any]], str | None] = lambda _: None,
) -> tuple[M, ...]:
    """`make` builds a model from the key an item stood under, the item and its values; None where it has no id."""
    reader = Reader(words, fields)
    listed = follow(body, fields["list"]) if "list" in fields else body
    found = locate(
        listed,
        names=words.lists,
        knows=lambda item: reader.knows(item) or (isinstance(item, dict) and bool(identify(item))),
    )
    if found is None:
        raise _missing("list", listed, words)
    models = []
    for key, item in _pairs(found, words.identifier):
        model = make(key, item, reader.read(item))
        if model is None:
            raise _missing(words.identifier, item, words)
        models.append(model)
    return tuple(models)


def _pairs(located: Located, identifier: str) -> Iterator[tuple[str | None, Mapping[str, Any]]]:
    """Each item with the key it stood under; a bare string is an object of its identifier alone."""
    keys = located.keys or (None,) * len(located.items)
    for key, item in zip(keys, located.items, strict=True):
        if isinstance(item, dict):
            yield key, item
        else:
            text = as_text(item)
            yield key, {identifier: text} if text else {}


def _missing(field: str, item: Any, words: Vocabulary) -> Unreadable:
    found = ", ".join(str(key)[:40] for key in list(item)[:KEYS_SHOWN]) if isinstance(item, dict) else ""
    what = "no list was found" if field == "list" else f"an item without a `{field}`"
    if field == "secret":
        what = "the response has no `secret`"
    there = f"its keys are: {found}" if found else f"it is {_kind(item)}"
    return Unreadable(
        f"{what}; {there}.",
        endpoint=words.endpoint,
        hint=(
            "Set its path with the argument `fields`, or in outreach.toml under "
            f'[fields.{words.section}]: {field} = "path.to.it"'
        ),
        argument=f"fields.{words.section}.{field}",
    )


def _kind(item: Any) -> str:
    names = {dict: "an empty object", list: "an empty list", str: "a string", type(None): "null"}
    return names.get(type(item), "a number")


def group_of(item: Mapping[str, Any], *, group_by: str, fields: Overrides = NONE) -> str | None:
    """What a row of stats calls its group: its name before its id, and never the grouping's own name."""
    if "group" in fields and (text := as_text(follow(item, fields["group"]))):
        return text
    if dict in map(type, item.values()):
        values = [value for _, _, value in _group_leaves(item, group_by)]
    else:
        values = [item[key] for key in _group_keys(tuple(item), group_by)]
    for value in values:
        text = as_text(value)
        if text and not _names_the_grouping(text, group_by):
            return text
    return None


def group_id_of(item: Mapping[str, Any], *, group_by: str) -> str | None:
    """The identifier of a row's group, beside its name."""
    if dict in map(type, item.values()):
        named = {folded: value for folded, _, value in reversed(_group_leaves(item, group_by))}
        return next((text for name in _id_names(group_by) if (text := as_text(named.get(name)))), None)
    return next((text for key in _id_keys(tuple(item), group_by) if (text := as_text(item[key]))), None)


def _id_names(group_by: str) -> tuple[str, ...]:
    return f"{group_by}id", f"group{group_by}id", "id"


@lru_cache(maxsize=PLANS)
def _id_keys(keys: tuple[str, ...], group_by: str) -> tuple[str, ...]:
    found = {folded: path[0] for folded, path, _ in reversed(_group_leaves(dict.fromkeys(keys), group_by))}
    return tuple(found[name] for name in _id_names(group_by) if name in found)


def _group_leaves(item: Mapping[str, Any], group_by: str) -> list[Leaf]:
    ranks = _group_ranks(group_by)
    named = [leaf for leaf in leaves(item) if leaf[0] in ranks]
    return sorted(named, key=lambda leaf: (ranks[leaf[0]], by_precedence(leaf)))


@lru_cache(maxsize=PLANS)  # rows of one answer have the same keys
def _group_keys(keys: tuple[str, ...], group_by: str) -> tuple[str, ...]:
    return tuple(path[0] for _, path, _ in _group_leaves(dict.fromkeys(keys), group_by))


def _names_the_grouping(text: str, group_by: str) -> bool:
    """What is longer is data, and would fill the memory of names that `fold` has."""
    return len(text) <= LONGEST_GROUPING and fold(text) in {group_by, "groupby"}


@cache
def _group_ranks(group_by: str) -> dict[str, int]:
    """Folded name -> rank; the lowest rank wins."""
    own = tuple(
        f"{group_by}{part}"
        for part in ("name", "title", "label", "email", "address", "number", "", "key", "id")
    )
    address = ("email", "emailaddress", "address") if group_by == "inbox" else ()
    names = (*own, *field_names.GROUP_NAMES, *address, "id", *(f"group{name}" for name in own))
    return {name: rank for rank, name in reversed(list(enumerate(names)))}


def _by_group_if_by_metric(body: Any) -> Any:
    """`{sends: {A: 3, B: 4}, replies: {…}}` -> `{A: {sends: 3, …}, B: …}`; anything else as it is."""
    inner = body.get("data") or body.get("stats") if isinstance(body, dict) else None
    table = inner if isinstance(inner, dict) else body
    if not isinstance(table, dict):
        return body
    metrics = {key: value for key, value in table.items() if fold(key) in field_names.STAT_NAMES}
    if len(metrics) < 2 or not all(_is_column(value) for value in metrics.values()):
        return body
    if all(fold(cell) in field_names.STAT_NAMES for column in metrics.values() for cell in column):
        return body  # rows, whose groups are called like metrics
    groups = dict.fromkeys(group for column in metrics.values() for group in column)
    return {group: {key: column.get(group) for key, column in metrics.items()} for group in groups}


def _is_column(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and bool(value)
        and not any(isinstance(cell, (dict, list)) for cell in value.values())
    )


def _skipped(body: Mapping[str, Any]) -> Iterator[Skipped]:
    ranks = {name: rank for rank, name in enumerate(field_names.SKIPPED_NAMES)}
    lists = [found for found in _with_depth(body) if fold(found[1]) in ranks]
    for _, _, value in sorted(lists, key=lambda one: (ranks[fold(one[1])], one[0], spelling(one[1])))[:1]:
        yield from _skipped_entries(value)


def _with_depth(body: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[int, str, Any]]:
    """Depth, key and value of everything at the top of the body and in its wrappers."""
    for key, value in body.items():
        yield depth, key, value
        if isinstance(value, dict) and fold(key) in field_names.NEUTRAL and depth < WRAPPERS:
            yield from _with_depth(value, depth + 1)


def _skipped_entries(value: Any) -> Iterator[Skipped]:
    if isinstance(value, list):
        reader = Reader(field_names.SKIPPED)
        yield from (_skipped_one(item, reader) for item in value)
    elif isinstance(value, dict):
        yield from _skipped_by_key(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield from (Skipped() for _ in range(min(value, 1000)))


def _skipped_one(item: Any, reader: Reader) -> Skipped:
    if isinstance(item, dict):
        return Skipped(raw=item, **reader.read(item))
    text = as_text(item)
    return Skipped(email=text, raw=item) if "@" in (text or "") else Skipped(reason=text, raw=item)


def _skipped_by_key(value: Mapping[str, Any]) -> Iterator[Skipped]:
    """`{address: reason}` or `{reason: [addresses]}`, or `{reason: how many}`."""
    for key, entry in value.items():
        if isinstance(entry, list):
            for item in entry:
                one = _skipped_one(item, Reader(field_names.SKIPPED))
                yield Skipped(email=one.email, reason=one.reason or key, raw=item)
        elif isinstance(entry, int):
            yield from (Skipped(reason=key) for _ in range(min(entry, 1000)))
        else:
            reason = entry.get("reason") if isinstance(entry, dict) else entry
            yield Skipped(email=key, reason=as_text(reason), raw=entry)
