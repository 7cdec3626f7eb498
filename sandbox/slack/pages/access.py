"""Who may enter: only this machine by its own name, and pages only from the stand-in itself."""

from __future__ import annotations

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def guard(port: int) -> Middleware:
    """Refuse other host names (a rebound name) and other origins (a page elsewhere that posts here)."""
    hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
    origins = {f"http://{host}" for host in hosts}

    @web.middleware
    async def enforce(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.host not in hosts:
            return web.json_response({"ok": False, "error": "wrong_host"}, status=421)
        origin = request.headers.get("Origin")
        if origin is not None and origin not in origins:
            return web.json_response({"ok": False, "error": "wrong_origin"}, status=403)
        response = await handler(request)
        if not response.prepared:
            for name, value in HEADERS.items():
                response.headers.setdefault(name, value)
        return response

    return enforce
