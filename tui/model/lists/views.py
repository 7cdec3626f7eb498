"""Views: a panel with the columns, filter and order that somebody saved under a name. Pure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from shared.text.sanitize import visible
from tui.model.lists import layout
from tui.model.lists.columns import INTERESTED, LISTS, RECORDED, STATS_BY, Column
from tui.model.lists.filter_sort import Arrangement

LONGEST_NAME = 40
MOST = 100
"""Views of a workspace."""
RESERVED = frozenset({"save", "delete"})
"""Words of the command, which no view can have as its name."""
_TYPES: Mapping[str, str] = {"str": "a text", "bool": "true or false", "tuple[str, ...]": "a list of columns"}


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a person wants to see of a panel; `columns` and `sort` are ids, and no columns means all of them."""

    panel: str
    columns: tuple[str, ...] = ()
    filter: str = ""
    problems: bool = False
    sort: str = ""
    descending: bool = False

    @classmethod
    def of(cls, panel: str, *, columns: Sequence[str], arrangement: Arrangement) -> View:
        return cls(
            panel=panel,
            columns=tuple(columns),
            filter=arrangement.find.strip(),
            problems=arrangement.problems,
            sort=arrangement.order,
            descending=arrangement.descending,
        )

    @property
    def arrangement(self) -> Arrangement:
        return Arrangement(
            find=self.filter, problems=self.problems, order=self.sort, descending=self.descending
        )

    @property
    def words(self) -> str:
        """`inboxes, problems only, /acme, by Health`."""
        titles = _titles(self.panel)
        order = f"by {titles[self.sort]}{', descending' if self.descending else ''}" if self.sort else ""
        find = f"/{self.filter}" if self.filter else ""
        columns = f"columns {', '.join(titles[one] for one in self.columns)}" if self.columns else ""
        return ", ".join(
            filter(None, (self.panel, "problems only" if self.problems else "", find, order, columns))
        )

    def as_data(self) -> dict[str, Any]:
        """What the file keeps: without what is as usual."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        data = {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}
        return {name: value for name, value in data.items() if value}


Views = Mapping[str, Mapping[str, View]]
"""By workspace and name."""


class ViewsBroken(Exception):
    """The file can't be read as TOML; the text says where."""


def columns_of(panel: str) -> tuple[Column, ...]:
    """All columns that a panel may have, in its own order; one whose title changes, once with each."""
    known = [*LISTS[panel]]
    if panel == "stats":
        known = [column for columns in STATS_BY.values() for column in columns]
    elif panel == "interested":
        known = [*INTERESTED, *RECORDED]
    return tuple(column for column in known if column.title)


def named_columns(panel: str, given: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """The ids of columns given by id or title, and what is wrong with those that the panel doesn't have."""
    titles = _titles(panel)
    ids = {column.title.casefold(): column.id for column in columns_of(panel)} | {one: one for one in titles}
    found, problems = [], []
    for one in given:
        column = ids.get(one.strip().casefold())
        if column:
            found.append(column)
        else:
            near = _nearest(one.casefold(), {name: titles[of] for name, of in ids.items()})
            problems.append(f"{panel} has no column “{visible(one)}”{near}")
    return tuple(dict.fromkeys(found)), problems


def _titles(panel: str) -> Mapping[str, str]:
    """Titles by id; the id itself where the title changes with what is shown."""
    titles: dict[str, str] = {}
    for column in columns_of(panel):
        titles[column.id] = column.title if titles.get(column.id, column.title) == column.title else column.id
    return titles


def read_views(text: str) -> tuple[Views, list[str]]:
    """The views of a file, and what is wrong with others, with the line. Raises `ViewsBroken`."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ViewsBroken(_with_line_first(str(error))) from None
    except (
        RecursionError,
        ValueError,
        OverflowError,
    ) as error:  # nested too deep, an impossible date or number
        raise ViewsBroken(f"it can't be read: {error}") from None
    found: dict[str, dict[str, View]] = {}
    problems: list[str] = []
    for workspace, views in document.items():
        if not isinstance(views, dict):
            problems.append(f"{_place(text, workspace)}“{visible(workspace)}” isn't a table of views.")
            continue
        for name, given in list(views.items())[:MOST]:
            view = _read_view(text, (workspace, name), given, problems)
            if view and not name_problem(name):
                found.setdefault(workspace, {})[name] = view
            elif view:
                problems.append(f"{_place(text, workspace, name)}{name_problem(name)}")
    return found, problems


def name_problem(name: str) -> str:
    """Why a view can't have this name; empty where it can."""
    if not name or visible(name) != name or len(name) > LONGEST_NAME:
        return f"The name of a view has 1 to {LONGEST_NAME} visible characters."
    return f"A view can't be named “{name}”." if name.casefold() in RESERVED else ""


def _read_view(text: str, place: tuple[str, str], given: Any, problems: list[str]) -> View | None:
    """A wrong key is left out; a view without a panel is left out whole."""

    def tell(what: str, key: str = "") -> None:
        end = "" if what.endswith("?") else "."
        problems.append(f"{_place(text, *place, key=key)}view “{visible(place[1])}”: {what}{end}")

    if not isinstance(given, dict):
        tell("it isn't a table")
        return None
    panel = given.get("panel")
    if panel not in layout.PANELS:
        tell(f"panel is one of {', '.join(layout.PANELS)}", "panel")
        return None
    values: dict[str, Any] = {"panel": panel}
    types = {one.name: str(one.type) for one in fields(View)}
    for key, value in given.items():
        if key not in types:
            tell(f"“{visible(key)}” isn't a key{_nearest(key, {name: name for name in types})}", key)
        elif not _fits(value, types[key]):
            tell(f"{key} must be {_TYPES[types[key]]}", key)
        elif key in {"columns", "sort"}:
            titles, wrong = named_columns(str(panel), value if key == "columns" else [value])
            for one in wrong:
                tell(one, key)
            values[key] = titles if key == "columns" else next(iter(titles), "")
        else:
            values[key] = value
    return View(**values)


def _fits(value: Any, wanted: str) -> bool:
    if wanted == "bool":
        return isinstance(value, bool)
    if wanted == "str":
        return isinstance(value, str)
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _nearest(given: str, known: Mapping[str, str]) -> str:
    import difflib  # late: only a mistake pays for it

    near = difflib.get_close_matches(given, known, n=1)
    return f"; did you mean {known[near[0]]}?" if near else ""


def _with_line_first(error: str) -> str:
    """`line 3: Expected '='`, from the parser's `Expected '=' (at line 3, column 5)`."""
    place = re.search(r" \(at (line \d+)[^)]*\)$", error)
    return f"{place[1]}: {error[: place.start()]}" if place else error


def _place(text: str, workspace: str, name: str = "", *, key: str = "") -> str:
    """`line 12: `, of a key, a view or a workspace; of what it is in, where it isn't written as usual."""
    names = tuple(one for one in (workspace, name, key) if one)
    found, deepest = 0, 0
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.split("\n"), start=1):
        header = _path_of(line)
        table = table if header is None else header
        path = table if header is not None else (*table, _key_of(line))
        depth = len(path) if path == names[: len(path)] else 0
        if depth > deepest or (header is not None and header[: len(names)] == names and not found):
            found, deepest = number, max(depth, deepest)
    return f"line {found}: " if found else ""


def _key_of(line: str) -> str:
    key = re.match(r"\s*[\"']?([^\"'=]+?)[\"']?\s*=", line)
    return key[1] if key else ""


def _path_of(line: str) -> tuple[str, ...] | None:
    """The names of a table's header; None of another line."""
    if not line.lstrip().startswith("["):
        return None
    try:
        inner: Any = tomllib.loads(line)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return None
    path = []
    while isinstance(inner, dict) and inner:
        (name, inner) = next(iter(inner.items()))
        path.append(name)
    return tuple(path)
