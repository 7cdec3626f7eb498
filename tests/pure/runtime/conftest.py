"""A store for every test."""

from tests.kit.bot_fixtures import clock, store

__all__ = ["clock", "store"]
