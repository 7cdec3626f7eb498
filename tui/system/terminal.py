"""Ends the dashboard with its terminal, and on SIGTERM, even when it is stuck.

The signal that tells of a terminal's end does not reach everybody (nohup, a session that lost its leader), so the
terminal is asked. What asks, and what insists, are threads: a terminal that takes no more output stops the event loop,
because Textual's driver waits for room in its writer's queue
(https://github.com/Textualize/textual/blob/main/src/textual/drivers/_writer_thread.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import threading
import unicodedata
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from queue import Full
from types import FrameType

from rich.console import Console
from textual.drivers.linux_driver import LinuxDriver

EVERY = 1.0
"""Seconds between looks."""
LAST_RESORT = 7.0
"""Seconds for an orderly end; what still runs then is ended the hard way."""
GONE = select.POLLHUP | select.POLLERR | select.POLLNVAL
ENDING = (signal.SIGTERM, signal.SIGHUP)
CLOSING = 1.0
"""Seconds for the last output to be written."""


def is_gone(descriptor: int) -> bool:
    return is_hung_up(descriptor) or not os.isatty(descriptor)


def is_hung_up(descriptor: int) -> bool:
    """True where the other end of a terminal, pipe or socket is closed; a file has none."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return any(state & GONE for _, state in poll.poll(0))


@contextlib.asynccontextmanager
async def exit_when_terminal_gone(
    leave: Callable[[], object], *, descriptor: int = 0, is_lost: Callable[[int], bool] = is_gone
) -> AsyncIterator[None]:
    """Call `leave` in the event loop when the terminal is lost or a signal asks for the end.

    Without a terminal, nothing is watched, unless something else tells that the other end is lost.
    """
    if is_lost is is_gone and not os.isatty(descriptor):
        yield
        return
    loop, stopped = asyncio.get_running_loop(), threading.Event()

    def end() -> None:
        insist()
        with contextlib.suppress(RuntimeError):  # the loop is closed: it has ended
            loop.call_soon_threadsafe(leave)

    def watch() -> None:
        while not stopped.wait(EVERY):
            if is_lost(descriptor) and not stopped.is_set():  # what is closed after the end isn't lost
                end()
                return

    watcher = threading.Thread(target=watch, name="dashboard-terminal-watch", daemon=True)
    watcher.start()
    with _on_ending_signals(end):
        try:
            yield
        finally:
            stopped.set()


@contextlib.contextmanager
def _on_ending_signals(end: Callable[[], None]) -> Iterator[None]:
    """Call `end` at SIGTERM and SIGHUP, beside what the event loop does with them.

    A loop that is stopped learns of no signal. A handler of Python's own runs while the main thread waits for a lock
    (https://docs.python.org/3/library/threading.html#threading.Lock.acquire), and the loop's wakeup descriptor is
    written to all the same.
    """

    def handle(_: int, __: FrameType | None) -> None:
        end()

    before = {number: signal.getsignal(number) for number in ENDING}
    taken = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in taken:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, before[number])


def insist(seconds: float = LAST_RESORT) -> None:
    """End this process the hard way unless it has ended by then."""
    last_resort = threading.Timer(seconds, os._exit, args=(1,))
    last_resort.daemon = True
    last_resort.start()


class TerminalDriver(LinuxDriver):
    """Writes to a terminal that may be lost: then it accepts no output, and must not block."""

    def _get_terminal_size(self) -> tuple[int, int]:
        """Give the size that the app takes: for a terminal that says none, the framework's two defaults differ.

        Then it would lay out and paint for the one and the other, without end.
        """
        return self._app.console.size

    def write(self, data: str) -> None:
        self._put(data)

    def _put(self, data: str | None) -> None:
        """Queue output; dropped where the thread that writes has ended, or the terminal that would take it."""
        writer = self._writer_thread
        assert writer, "Driver must be in application mode"
        while writer.is_alive():
            try:
                writer._queue.put(data, timeout=EVERY)  # noqa: SLF001 # `write` would wait forever
            except Full:
                if is_gone(self.fileno):
                    return
            else:
                return

    def close(self) -> None:
        if self._writer_thread is None:
            return
        self._put(None)
        self._writer_thread.join(CLOSING)


SIGNS = {
    ">": "→›►", ".": "·░", "-": "–─╸━╌", "=": "‖╍", "~": "…◐±", " ": "\u00a0", "x": "×⊘", "|": "│┃▌▎", "+": "╭╮╰╯┏┓┗┛┌┐└┘┬┴┼",
    "_": "▁▂", ",": "▃▄", ":": "▅▆", "#": "▇█▀", "/": "╱", '"': "“”", "'": "’╵", "o": "●", "z": "○▓", "X": "◆▚",
    "!": "▲▒", "v": "▼", "*": "✓", "D": "✗", "<": "←", "^": "↑",
}  # fmt: skip
ASCII = {ord(sign): plain for plain, signs in SIGNS.items() for sign in signs}
"""One cell for one, so that nothing moves: for a console whose font lacks them."""


def speaks_unicode(encoding: str | None) -> bool:
    return (encoding or "").lower().replace("-", "").startswith("utf")


def writable(text: str, encoding: str) -> str:
    """The text in what an encoding can write: plain signs, letters without accents, and `?` for the rest."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        plain = unicodedata.normalize("NFKD", text.translate(ASCII))
        bare = "".join(sign for sign in plain if not unicodedata.combining(sign))
        return bare.encode(encoding, errors="replace").decode(encoding)
    return text


class AsciiDriver(TerminalDriver):
    """Writes no sign that a plain console can't show; letters of names stay."""

    def write(self, data: str) -> None:
        super().write(data if data.isascii() else data.translate(ASCII))


def plain_theme(environ: Mapping[str, str], *, is_browser: bool = False) -> str:
    """The only theme for a terminal with sixteen colors, or none; empty for others."""
    if "NO_COLOR" in environ:
        return "mono"
    if is_browser:  # it shows all colors, whatever terminal its server was started in
        return ""
    colors = Console(force_terminal=True, _environ=environ).color_system
    return "basic" if colors in {None, "standard"} else ""
