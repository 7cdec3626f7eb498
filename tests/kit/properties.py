"""How properties are searched: the same examples in every run, new ones by `make fuzz`, and an end to one that hangs."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import engine, providers
from hypothesis.internal.constants_ast import Constants

# Properties are judged by what they find, not by the clock of a shared machine.
settings.register_profile(
    "repeatable",
    max_examples=25,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "fuzz", settings.get_profile("repeatable"), max_examples=100, derandomize=False, database=None
)
settings.register_profile("deep", settings.get_profile("fuzz"), max_examples=1000)
settings.load_profile("repeatable")  # `--hypothesis-profile=fuzz` comes after this and wins

# Hypothesis's own bound is five minutes, longer than a test may take: the example would never be reported.
engine.MAX_SHRINKING_SECONDS = 30
# Hypothesis also tries the constants of every module that the process has imported so far, which differ between workers:
# the same seed would make other examples.
providers._get_local_constants = Constants


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Have a property that hangs end its process, with its stack: Hypothesis would take an error for a failing example,
    and try that again, which hangs again."""
    usual = float(config.getini("timeout"))
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            own = item.get_closest_marker("timeout")
            item.add_marker(pytest.mark.timeout(own.args[0] if own else usual, method="thread"), append=False)


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
