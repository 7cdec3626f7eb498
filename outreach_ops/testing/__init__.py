"""Test any Slack bot, or any program that uses the outreach service: see docs/testing-your-bot.md.

The stand-ins run in separate processes, so nothing of this program is imported next to the code under test.
"""

from outreach_ops.testing.async_slack import AsyncChannel, AsyncSlack, AsyncUser, expect_async
from outreach_ops.testing.control import Refused
from outreach_ops.testing.expectations import expect
from outreach_ops.testing.models import Message, Modal, Result
from outreach_ops.testing.service import Service
from outreach_ops.testing.slack import App, Channel, Slack, User

__all__ = [
    "App",
    "AsyncChannel",
    "AsyncSlack",
    "AsyncUser",
    "Channel",
    "Message",
    "Modal",
    "Refused",
    "Result",
    "Service",
    "Slack",
    "User",
    "expect",
    "expect_async",
]
