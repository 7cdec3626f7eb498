"""The commented `outreach.toml` that `outreach init` writes, made from the models."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, get_origin

from pydantic.fields import FieldInfo

from shared.settings.sections import SECRETS, VARIABLES, SettingPath, Settings, keys_of, table_model
from shared.storage.files import SUFFIX

NOTHING: Mapping[SettingPath, str] = {}
HEAD = """\
# Settings of outreach-ops. Environment variables override this file.
# Keep it private (chmod 600) if it contains keys. A secret may also be in a file of its own:
# the same key with _file in its name, like api_key_file, has the path.
"""


def commented_template(values: Mapping[SettingPath, str] = NOTHING) -> str:
    """An `outreach.toml` with every setting, its meaning and its default, commented out but for `values`."""
    lines = "\n".join([HEAD, *_table(Settings, (), values)])
    return re.sub(r"\n{3,}", "\n\n", lines).rstrip() + "\n"


def _table(
    model: type[Any], path: SettingPath, values: Mapping[SettingPath, str] = NOTHING, *, brief: bool = False
) -> Iterator[str]:
    """The keys of a table, then the tables in it; `brief`: the keys alone, which were explained before."""
    tables = {}
    for key, field in keys_of(model).items():
        place, example = (*path, key), _example(field)
        if table_model(field.annotation) or isinstance(example, Mapping):
            tables[place] = field, example
        elif example is not None:
            yield from () if brief else _meaning(field, place)
            given = values.get(place)
            yield f"# {_assignment(key, example)}" if given is None else _assignment(key, given)
            yield from [""] if field.description and not brief else []
    for place, (field, example) in {} if brief else tables.items():
        yield from ("", *_comment(field.description or ""))
        inner, kind, name = table_model(field.annotation), get_origin(field.annotation), ".".join(place)
        if inner is None:
            yield from _example_table(example or {}, place)
        elif kind is dict:
            yield f"# [{name}.{example}]"
            yield from _table(inner, place, brief=True)
        elif kind is tuple:
            yield f"# [[{name}]]"
            yield from _table(inner, place)
        else:
            # Left as it is where every key has a variable: an empty table changes nothing.
            live = all((*place, key) in VARIABLES for key in keys_of(inner))
            yield f"[{name}]\n" if live else f"# [{name}]"
            yield from _table(inner, place, values)


def _example(field: FieldInfo) -> Any:
    """The example of a setting; a default is its own, unless another is given."""
    example = (field.examples or [None])[0]
    is_plain = isinstance(field.default, str | float | int) and field.default != ""
    return field.default if example is None and is_plain else example


def _example_table(example: Mapping[str, Any], path: SettingPath) -> Iterator[str]:
    plain = {key: value for key, value in example.items() if not isinstance(value, Mapping)}
    if plain:
        yield f"# [{'.'.join(path)}]"
        yield from (f"# {_assignment(key, value)}" for key, value in plain.items())
    for key, value in example.items():
        if isinstance(value, Mapping):
            yield from _example_table(value, (*path, key))


def _meaning(field: FieldInfo, path: SettingPath) -> Iterator[str]:
    if not field.description:
        return
    name = VARIABLES.get(path, "")
    variable = f" ({name}{f', {name}{SUFFIX}' if path in SECRETS else ''})" if name else ""
    default = field.default
    usual = json.dumps(default) if isinstance(default, bool) else default
    known = f" Default: {usual}." if isinstance(default, str | float | int) and default else ""
    yield from _comment(f"{field.description}{known}{variable}")


def _comment(text: str) -> Iterator[str]:
    return (f"# {line}" for line in textwrap.wrap(text, 96))


def _assignment(key: str, value: Any) -> str:
    name = key if re.fullmatch(r"[\w-]+", key, re.ASCII) else json.dumps(key)
    return f"{name} = {json.dumps(value, ensure_ascii=False)}"
