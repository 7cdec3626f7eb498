"""Keeps a screen running after an exception in a handler.

By default, Textual ends a widget's message loop, and then the app, at the first exception of a handler. Here, the failed
message is dropped and reported to the app, and the next one is handled.
"""

from __future__ import annotations

import asyncio

from textual._styles_cache import StylesCache
from textual.await_complete import AwaitComplete
from textual.geometry import Region
from textual.message import Message
from textual.message_pump import MessagePump
from textual.screen import Screen, ScreenResultType
from textual.strip import Strip


class ErrorBoundary(MessagePump):
    """Keeps messages coming after an exception; named first among the bases of an app, a screen or a widget."""

    async def _dispatch_message(self, message: Message) -> None:
        try:
            await super()._dispatch_message(message)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 # whatever it is, the screen goes on
            self.app._handle_exception(error)  # noqa: SLF001 # the framework's one place for it

    def render_lines(self, crop: Region) -> list[Strip]:
        """Leave blank what can't be painted; everything else is painted."""
        try:
            return super().render_lines(crop)  # type: ignore[misc, no-any-return] # a widget has it
        except Exception as error:  # noqa: BLE001 # likewise
            self.app._handle_exception(error)  # noqa: SLF001 # likewise
            return [Strip.blank(crop.width)] * crop.height


class SafeScreen(ErrorBoundary, Screen[ScreenResultType]):
    """A screen that keys in a hurry leave once: the framework would pop the one below, too.

    Nothing of it stays in memory when it is left.
    """

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        return super().dismiss(result) if self.is_active else AwaitComplete()

    def on_unmount(self) -> None:
        # The framework caches this by widget (an `lru_cache` on a method), which would keep the painted lines of the
        # last thousand widgets that are gone: some 40 MB. Two colors are quickly mixed again.
        StylesCache.get_inner_outer.cache_clear()
