"""The bot's fixtures, for what happens to it in a bad moment."""

from tests.kit.bot_fixtures import *  # noqa: F403 -- fixtures are found by their names
