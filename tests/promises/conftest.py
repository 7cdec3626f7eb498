"""The fixtures of every promise; `tests/kit` says how to write one."""

from tests.kit.fixtures import account, impatient, no_idle_waiting, real_time, screen, shell, team

__all__ = ["account", "impatient", "no_idle_waiting", "real_time", "screen", "shell", "team"]
