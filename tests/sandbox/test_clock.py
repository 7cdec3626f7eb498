"""The clock of both halves of the sandbox."""

from __future__ import annotations

import pytest

from sandbox.clock import Clock


class Real:
    """A real time that tests set."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_runs_at_its_speed_and_keeps_what_has_passed_when_the_speed_changes() -> None:
    real = Real()
    clock = Clock(50.0, speed=60.0, source=real)
    real.now += 2.0
    assert clock.now() == 170.0
    clock.speed = 0.0
    real.now += 100.0
    assert clock.now() == 170.0
    clock.speed = 2.0
    real.now += 5.0
    assert clock.now() == 180.0


def test_follows_the_real_time_without_a_start_and_can_be_advanced_and_reset() -> None:
    real = Real()
    clock = Clock(source=real)
    clock.advance(30.0)
    real.now += 1.0
    assert clock.now() == 1_031.0
    clock.reset()
    assert clock.now() == 1_001.0
    with pytest.raises(ValueError, match="advanced"):
        clock.advance(-1.0)


def test_never_runs_backwards_when_the_real_time_steps_back() -> None:
    real = Real()
    clock = Clock(50.0, source=real)
    # As NTP may step it: what has happened must not lie in the future.
    real.now -= 500.0
    assert clock.now() == 50.0
