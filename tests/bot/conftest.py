"""Fixtures are found by their names."""

from tests.kit.bot_fixtures import *  # noqa: F403 -- fixtures are found by their names
