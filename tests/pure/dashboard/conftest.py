"""Times of day in UTC."""

from tests.tui.conftest import _in_utc  # noqa: F401 -- a fixture of every test here
