"""The kit of the tests: a service, a Slack with the bot, a shell, a screen and one clock.

It is the only part of the tests that imports the product's inside: where a room is rewritten, the kit
changes in one file, and the promises stay as they are. `tests/test_kit.py` holds that.

How to write a promise
----------------------

A promise is one test of something that `docs/contract.md` says, in `tests/promises/test_<feature>.py`.
It is told through a face, as a person, the service or Slack would see it, and names nothing of the product:

    from tests.kit import Team, interested

    async def test_a_repeated_delivery_is_shown_once(team: Team) -> None:
        assert await team.deliver(interested("Ada")) == 200
        assert await team.deliver(interested("Ada")) == 200
        card = await team.card("Ada")
        assert "Claim" in card.buttons

- The fixtures are `team` (service, Slack and bot), `account` (the service alone), `shell` and `screen`;
  each test gets its own, and none needs the network.
- Time moves by `await team.pass_time(hours=2)`; nothing sleeps. What has no moment is awaited: `team.card`
  and `team.until` ask again until it is there, and fail after a bound.
- Expectations are what people read, spelled out in the test; no constant of the product.
- Every promise is kept, and no test is silenced.
- Add the test's name behind the promise in `docs/contract.md`; a test keeps that list true.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.kit.build import bounced, interested, paused_domain, signature
    from tests.kit.service import Account
    from tests.kit.shell import Run, Shell
    from tests.kit.team import Message, Team

__all__ = [
    "Account",
    "Message",
    "Run",
    "Shell",
    "Team",
    "bounced",
    "interested",
    "paused_domain",
    "signature",
]
_PLACES = {"Account": "service", "Message": "team", "Run": "shell", "Shell": "shell", "Team": "team"}


def __getattr__(name: str) -> Any:
    """Load a part of the kit when it is asked for: all of it takes a second, in each process that a test starts."""
    if name not in __all__:
        raise AttributeError(name)
    return getattr(import_module(f"tests.kit.{_PLACES.get(name, 'build')}"), name)
