"""The pytest plugin: fixtures that start a stand-in when a test first asks for one.

pytest imports this module in every project that has the package installed, so it imports nothing else until needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from outreach_ops.testing import AsyncSlack, Service, Slack


@pytest.fixture(scope="session")
def slack_standin_session() -> Iterator[Slack]:
    """The Slack stand-in of this pytest process; under xdist every worker has its own."""
    from outreach_ops.testing.process import running
    from outreach_ops.testing.slack import Slack

    with running("slack-standin") as announcement:
        yield Slack(announcement)


@pytest.fixture
def slack_standin(slack_standin_session: Slack) -> Slack:
    """A fresh Slack for this test."""
    slack_standin_session.reset()
    return slack_standin_session


@pytest.fixture
def async_slack_standin(slack_standin: Slack) -> AsyncSlack:
    """The same for an asynchronous test."""
    from outreach_ops.testing.async_slack import AsyncSlack

    return AsyncSlack(slack_standin)


@pytest.fixture(scope="session")
def outreach_service_session() -> Iterator[Service]:
    """The outreach service of this pytest process; under xdist every worker has its own."""
    from outreach_ops.testing.process import running
    from outreach_ops.testing.service import Service

    with running("sandbox", "--speed", "0") as announcement:
        yield Service(announcement)


@pytest.fixture
def outreach_service(outreach_service_session: Service) -> Service:
    """The outreach service, with its account reset to the first day."""
    outreach_service_session.reset()
    return outreach_service_session
