"""Makes models of responses. Pure.

A list may be bare, under `data` or under its own name; the names of values are in `models`, and `[fields]` settings say
where any other is. Only ids are required. `Unreadable` names the endpoint, the missing value, the keys that were there,
and the `[fields]` line that cures it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ..frozen import frozen
from .errors import Unreadable
from .models import AddResult, Inbox, Lead, Page, Sequence, Skipped, StatsRow, Subscription, fields_of
from .values import as_count, as_object, as_text, first, follow

Json = Mapping[str, Any]
Overrides = Mapping[str, str]
"""One `[fields.…]` section: the name of a value -> its dotted path. `list` and `next_cursor` are names too."""

NONE: Overrides = {}
KEYS_SHOWN = 12


@frozen
class Kind:
    """The rules by which the objects of one endpoint are read."""

    section: str
    """The section of the settings: `[fields.SECTION]`."""
    endpoint: str
    model: TypeAdapter[Any]
    names: tuple[str, ...]
    """The values that a `[fields]` line can name."""
    lists: tuple[str, ...]
    """The names under which their list may lie."""
    identifier: str = "id"
    prepare: Callable[..., Json] = dict
    """Gives an object with the identifier under its own name, where that may be elsewhere."""

    def __call__(self, body: Any, *, fields: Overrides = NONE, **about: Any) -> tuple[Any, ...]:
        """The models of a list; `about` is what was asked for."""
        listed = follow(body, fields["list"]) if "list" in fields else body
        items = _list_in(listed, self.lists)
        if items is None:
            raise missing("list", listed, self)
        models = []
        for item in items:
            if not isinstance(item, dict):
                raise missing(self.identifier, item, self)
            models.append(_model(self.prepare(item, **about), item, self, fields))
        return tuple(models)


def _kind(section: str, model: type, *lists: str, **more: Any) -> Kind:
    usual = {"endpoint": f"GET /{lists[0]}", "names": fields_of(model), "lists": ("data", *lists)}
    return Kind(section=section, model=TypeAdapter(model), **usual | more)


def _with_group(item: Json, group_by: str = "sequence") -> Json:
    """A row of stats with the name of its group, never that of the grouping itself, and beside it the group's id."""
    texts = (as_text(follow(item, place)) for place in _group_places(group_by))
    group = next((text for text in texts if text and text.lower() != group_by), None)
    identifier = first(item, as_text, f"{group_by}_id", f"{group_by}.id", "group_id", "group.id", "id")
    return {**item, "group": group, "id": identifier}


LEADS = _kind("lead", Lead, "leads")
sequences = _kind("sequence", Sequence, "sequences", "campaigns")
inboxes = _kind("inbox", Inbox, "inboxes", "mailboxes", identifier="email")
stats = _kind("stats", StatsRow, "stats", "rows", identifier="group", prepare=_with_group)
WEBHOOK = _kind("webhook", Subscription, "webhooks", endpoint="POST /webhooks")


def field_names(section: str) -> tuple[str, ...]:
    """The values that a `[fields.SECTION]` line can name."""
    kind = next(kind for kind in (LEADS, sequences, inboxes, stats) if kind.section == section)
    return (*kind.names, "list", *(("next_cursor",) if kind is LEADS else ()))


def leads(body: Any, *, fields: Overrides = NONE) -> Page[Lead]:
    """One page of leads and the next cursor."""
    return Page(items=LEADS(body, fields=fields), next_cursor=next_cursor(body, fields=fields))


def changed_sequence(body: Any, *, id: str, status: str, fields: Overrides = NONE) -> Sequence:  # noqa: A002 -- as the model
    """The sequence whose status was set; what the answer does not say of it, the request does."""
    item = as_object(body)
    inner = next((item[name] for name in ("data", "sequence") if isinstance(item.get(name), dict)), item)
    changed: Sequence = _model({**inner, "id": id}, inner, sequences, fields)
    return replace(changed, id=id, status=changed.status or status, raw=item)


def added(body: Any) -> AddResult:
    """Read the answer to POST /leads; a body that says nothing leaves `added` unknown."""
    inner = as_object(follow(body, "data")) or body
    return AddResult(
        added=first(inner, as_count, "added", "leads_added", "created"),
        skipped=tuple(_skipped(follow(inner, "skipped"))),
        raw=as_object(body),
    )


def _skipped(listed: Any) -> Iterator[Skipped]:
    """The leads that weren't added."""
    for item in listed if isinstance(listed, list) else ():
        text = as_text(item)
        is_address = text is not None and "@" in text
        yield Skipped(
            email=text if is_address else first(item, as_text, "email", "lead.email"),
            reason=None if is_address else text or first(item, as_text, "reason", "code", "error.code"),
            raw=item,
        )


def subscription(body: Any, *, url: str, events: tuple[str, ...], fields: Overrides = NONE) -> Subscription:
    """A new subscription. Its secret is shown only once, so it is kept even if the id is missing."""

    def value(name: str, *others: str) -> str | None:
        places = [prefix + place for prefix in ("", "data.", "webhook.") for place in (name, *others)]
        return first(body, as_text, fields.get(name, name), *places)

    # The subscription exists: to refuse the answer would lose the secret for good.
    secret = value("secret", "signing_secret", "webhook_secret")
    if secret is None:
        raise missing("secret", body, WEBHOOK)
    identifier = value("id", "webhook_id") or ""
    return Subscription(id=identifier, secret=secret, url=url, events=events, raw=as_object(body))


_CURSORS = tuple(
    place + name
    for place in ("", "meta.", "pagination.", "meta.pagination.", "paging.", "page_info.", "data.")
    for name in ("next_cursor", "next", "end_cursor")
)
"""Many, because a cursor that isn't found would end a list without an error."""


def next_cursor(body: Any, *, fields: Overrides = NONE) -> str | None:
    """The cursor of the next page; None where it is null, absent or empty."""
    # The document's own name counts alone: where it is null, the list ends.
    places = ("next_cursor",) if "next_cursor" in as_object(body) else _CURSORS
    return first(as_object(body), as_text, *([fields["next_cursor"]] if "next_cursor" in fields else places))


def _list_in(body: Any, names: tuple[str, ...], depth: int = 2) -> list[Any] | None:
    """The list itself, the one under `data`, or the one under its own name; null stands for an empty one."""
    # Two envelopes at most, as in {"data": {"inboxes": […]}}: a list further down is of something else.
    if isinstance(body, list) or not depth:
        return body if isinstance(body, list) else None
    inside = [value for value in map(as_object(body).get, names) if value is not None]
    lists = (_list_in(value, names, depth - 1) for value in inside)
    first_list = next((items for items in lists if items is not None), None)
    is_empty = not inside and any(name in as_object(body) for name in names)
    return [] if is_empty else first_list


def _model(item: Json, raw: Json, kind: Kind, overrides: Overrides) -> Any:
    """The model of an object; a `[fields]` line that finds something beats the names, one that doesn't, doesn't."""
    configured = {name: follow(raw, path) for name, path in overrides.items() if name in kind.names}
    read = {name: value for name, value in configured.items() if value is not None}
    try:
        model = kind.model.validate_python({**item, **read, "raw": raw})
    except ValidationError:  # only because there is no id: every other value may be unknown
        raise missing(kind.identifier, raw, kind) from None
    # An inbox without an address, or a row without a name, can still be told from the others by its id.
    if getattr(model, kind.identifier):
        return model
    if not model.id:
        raise missing(kind.identifier, raw, kind)
    return replace(model, **{kind.identifier: model.id})


@cache
def _group_places(group_by: str) -> tuple[str, ...]:
    """The paths at which a row may name its group; where none does, its id stands for the name."""
    own = ("name", "email", "title", "value")
    inside = [f"{place}.{name}" for place in ("group", group_by) for name in own]
    return (
        "group", f"{group_by}_name", f"{group_by}_email", group_by, *inside,
        "name", "email", "label", "title",
    )  # fmt: skip


def missing(field: str, item: Any, kind: Kind) -> Unreadable:
    """The error for a value without which nothing can be read: what was there, and the line that cures it."""
    what = {"list": "no list was found", "secret": "the response has no `secret`"}
    names = {dict: "an empty object", list: "an empty list", str: "a string", type(None): "null"}
    there = f"it is {names.get(type(item), 'a number')}"
    if isinstance(item, dict) and item:
        there = f"its keys are: {', '.join(str(key)[:40] for key in list(item)[:KEYS_SHOWN])}"
    return Unreadable(
        f"{what.get(field, f'an item without `{field}`')}; {there}.",
        endpoint=kind.endpoint,
        hint=f'Set its path with the argument `fields`, or in outreach.toml under [fields.{kind.section}]: {field} = "path.to.it"',
        argument=f"fields.{kind.section}.{field}",
    )
