"""The `/docs` page, drawn from the OpenAPI document: no script, nothing from elsewhere, readable without a network."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

_STYLE = """
:root { color-scheme: light dark; --soft: #6b7280; --line: #8884; --tint: #8881; }
body { font: 15px/1.55 system-ui, sans-serif; max-width: 60rem; margin: 3rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.05rem; margin: 0; } p { margin: .4rem 0; }
section { border: 1px solid var(--line); border-radius: 10px; padding: 1rem 1.25rem; margin: 1rem 0; }
code, pre { font: 13px/1.5 ui-monospace, monospace; } b { font-family: ui-monospace, monospace; margin-right: .5rem; }
pre { background: var(--tint); border-radius: 8px; padding: .75rem; overflow-x: auto; margin: .4rem 0; }
table { border-collapse: collapse; margin: .5rem 0; } td { padding: .2rem 1rem .2rem 0; vertical-align: top; }
summary { cursor: pointer; color: var(--soft); } small { color: var(--soft); }
"""
_POLICY = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}


def add_manual(app: FastAPI, path: str) -> None:
    """Serve the page of an application at `path`."""

    async def manual(request: Request) -> Response:
        return HTMLResponse(page(app.openapi(), source=str(app.openapi_url)), headers=_POLICY)

    app.add_route(path, manual, include_in_schema=False)


def page(spec: dict[str, Any], *, source: str) -> str:
    """The whole page."""
    info = spec["info"]
    operations = "".join(
        _operation(path, method, one)
        for path, methods in spec["paths"].items()
        for method, one in methods.items()
    )
    schemas = spec.get("components", {}).get("schemas", {})
    shapes = "".join(_shape(name, schema) for name, schema in schemas.items())
    title, told = html.escape(info["title"]), html.escape(info.get("description", ""))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
        f'<h1>{title}</h1><p>{told}</p><p><small>For machines: <a href="{html.escape(source)}">'
        f"{html.escape(source)}</a></small></p>{operations}<h2>Shapes</h2>{shapes}</html>"
    )


def _operation(path: str, method: str, one: dict[str, Any]) -> str:
    return (
        f"<section><h2><b>{method.upper()}</b><code>{html.escape(path)}</code></h2>"
        f"<p>{html.escape(one.get('description') or one.get('summary', ''))}</p>"
        f"{_table(_parameters(one))}{_table(_bodies(one))}{_table(_answers(one))}</section>"
    )


def _table(rows: Iterator[tuple[str, str, str]]) -> str:
    cells = ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>" if cells else ""


def _parameters(one: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for parameter in one.get("parameters", ()):
        where = f"{parameter['in']}{', required' if parameter.get('required') else ''}"
        told = html.escape(parameter.get("description", ""))
        yield f"<code>{parameter['name']}</code><br><small>{where}</small>", _said(parameter["schema"]), told


def _bodies(one: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for kind, content in one.get("requestBody", {}).get("content", {}).items():
        yield "body", _said(content.get("schema", {})), f"<small>{html.escape(kind)}</small>"


def _answers(one: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for status, answer in sorted(one.get("responses", {}).items()):
        content: dict[str, Any] = next(iter(answer.get("content", {}).values()), {})
        yield status, _said(content.get("schema", {})), html.escape(answer["description"])


def _said(schema: dict[str, Any]) -> str:
    """A shape in a few words: a link to a named one, or its JSON."""
    name = schema.get("$ref", "").rpartition("/")[2]
    if name:
        return f'<a href="#{html.escape(name)}">{html.escape(name)}</a>'
    kept = {key: value for key, value in schema.items() if key not in {"title", "description"}}
    return f"<code>{html.escape(json.dumps(kept))}</code>" if kept else ""


def _shape(name: str, schema: dict[str, Any]) -> str:
    text = html.escape(json.dumps(schema, indent=2))
    return (
        f'<details id="{html.escape(name)}"><summary>{html.escape(name)}</summary><pre>{text}</pre></details>'
    )
