"""How properties are searched: the same examples in every run, new ones by `make fuzz`, and an end to one that hangs."""

from __future__ import annotations

import random
import reprlib
import signal
import time
from types import FrameType

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import engine, providers
from hypothesis.internal.constants_ast import Constants

SHRINKING_SECONDS = 30
AGAIN_SECONDS = 5
"""After which a property is interrupted again, where an event loop has taken the interrupt for a callback's error."""

# Properties are judged by what they find, not by the clock of a shared machine.
settings.register_profile(
    "house", max_examples=25, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "fuzz", settings.get_profile("house"), max_examples=100, derandomize=False, database=None
)
settings.register_profile("deep", settings.get_profile("fuzz"), max_examples=1000)
settings.load_profile("house")  # `--hypothesis-profile=fuzz` comes after this and wins

# Hypothesis's own bound is five minutes, longer than a test may take: the example would never be reported.
engine.MAX_SHRINKING_SECONDS = SHRINKING_SECONDS
# Hypothesis also tries the constants of every module that the process has imported so far, which differ between workers:
# the same seed would make other examples.
providers._get_local_constants = Constants


class TookTooLong(BaseException):
    """Ends a property that hangs. Hypothesis takes an Exception, also pytest-timeout's, for a failing example and tries it
    again, which hangs again."""


@pytest.hookimpl(
    tryfirst=True
)  # before pytest-timeout, whose thread would end the process with every test after it
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    usual = float(config.getini("timeout") or 120)
    for item in items:
        if is_property(item):
            own = item.get_closest_marker("timeout")
            seconds = own.args[0] if own else usual
            item.add_marker(pytest.mark.timeout(seconds + SHRINKING_SECONDS, func_only=True))


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: object) -> bool | None:
    if not is_property(item):
        return None
    seconds: float = settings.timeout  # type: ignore[attr-defined]  # a private class of pytest-timeout

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise TookTooLong(f"{item.nodeid} took longer than {seconds:g} s with {example(frame)}")

    def cancel() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    item.cancel_timeout = cancel  # type: ignore[attr-defined]  # what pytest-timeout calls at the end
    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_SECONDS)
    return True


def example(frame: FrameType | None) -> str:
    """The arguments that were drawn, from the frame of Hypothesis that calls the property with them."""
    while frame and not (frame.f_globals.get("__name__") == "hypothesis.core" and "kw" in frame.f_locals):
        frame = frame.f_back
    return reprlib.repr(frame.f_locals["kw"]) if frame else "an example that wasn't drawn to its end"


def is_property(item: pytest.Item) -> bool:
    return bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))


class Search:
    """Searches new examples: modules in an order that the seed decides, no property started after the time is over."""

    def __init__(self, seed: str, seconds: float) -> None:
        self.seed = seed
        self.ends = time.monotonic() + seconds

    def pytest_report_header(self) -> str:
        return f"seed: {self.seed} (make fuzz SEED={self.seed} searches the same examples again)"

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        modules = sorted({item.path for item in items})
        random.Random(self.seed).shuffle(modules)
        items.sort(key=lambda item: modules.index(item.path))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self) -> bool | None:
        return True if time.monotonic() > self.ends else None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        searched = sum(len(terminalreporter.stats.get(outcome, ())) for outcome in ("passed", "failed"))
        terminalreporter.write_line(f"{searched} properties searched with seed {self.seed}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--search-seconds", type=float, help="search new examples, for so long (make fuzz)")


def pytest_configure(config: pytest.Config) -> None:
    if seconds := config.getoption("--search-seconds"):
        config.pluginmanager.register(Search(config.getoption("--hypothesis-seed"), seconds))
