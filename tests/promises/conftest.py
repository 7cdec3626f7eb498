"""The fixtures of every promise; `tests/kit` says how to write one."""

from tests.kit.fixtures import account, no_idle_waiting, real_time, screen, shell, team

__all__ = ["account", "no_idle_waiting", "real_time", "screen", "shell", "team"]
