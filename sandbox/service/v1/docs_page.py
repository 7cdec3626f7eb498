"""The `/docs` page, made from the OpenAPI document, without scripts or external resources."""

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


def add_docs_page(app: FastAPI, path: str, *, source: str) -> None:
    """Serve the page of an application at `path`; `source` is where its OpenAPI document is."""

    async def docs_page(request: Request) -> Response:
        return HTMLResponse(page(app.openapi(), source=source), headers=_POLICY)

    app.add_route(path, docs_page, include_in_schema=False)


def page(spec: dict[str, Any], *, source: str) -> str:
    """The whole page."""
    title, description = (html.escape(spec["info"].get(name, "")) for name in ("title", "description"))
    paragraphs = "".join(f"<p>{text}</p>" for text in description.split("\n\n"))
    operations = [
        f"<section><h2><b>{html.escape(kind)}</b><code>{html.escape(path)}</code></h2>"
        f"<p>{html.escape(one.get('description') or one.get('summary', ''))}</p><table>{''.join(_rows(one))}</table></section>"
        for kind, path, one in _operations(spec)
    ]
    shapes = [
        f'<details id="{html.escape(name)}"><summary>{html.escape(name)}</summary>'
        f"<pre>{html.escape(json.dumps(schema, indent=2))}</pre></details>"
        for name, schema in spec.get("components", {}).get("schemas", {}).items()
    ]
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
        f'<h1>{title}</h1>{paragraphs}<p><small>For machines: <a href="{html.escape(source)}">'
        f"{html.escape(source)}</a></small></p>{''.join(operations)}<h2>Shapes</h2>{''.join(shapes)}</html>"
    )


def _operations(spec: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in spec["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation
    for event, methods in spec.get("webhooks", {}).items():
        for operation in methods.values():
            yield "Delivery", event, operation


def _rows(operation: dict[str, Any]) -> Iterator[str]:
    for one in operation.get("parameters", ()):
        where = f"{one['in']}{', required' if one.get('required') else ''}"
        yield _row(one["name"], one["schema"], f"{where}. {one.get('description', '')}")
    for kind, body in operation.get("requestBody", {}).get("content", {}).items():
        yield _row("body", body.get("schema", {}), kind)
    for status, answer in sorted(operation.get("responses", {}).items()):
        content: dict[str, Any] = next(iter(answer.get("content", {}).values()), {})
        yield _row(status, content.get("schema", {}), answer["description"])


def _row(name: str, schema: dict[str, Any], note: str) -> str:
    reference = html.escape(schema.get("$ref", "").rpartition("/")[2])
    kept = {key: value for key, value in schema.items() if key not in {"title", "description"}}
    inline = f"<code>{html.escape(json.dumps(kept))}</code>" if kept else ""
    shape = f'<a href="#{reference}">{reference}</a>' if reference else inline
    return f"<tr><td><code>{html.escape(name)}</code></td><td>{shape}</td><td>{html.escape(note)}</td></tr>"
