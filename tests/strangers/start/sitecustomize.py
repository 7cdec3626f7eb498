"""Python imports this before an example runs: the SDK's default address is that of the stand-in."""

import os

URL = os.environ.get("SLACK_API_URL")
if URL:
    from slack_sdk.web.async_base_client import AsyncBaseClient
    from slack_sdk.web.base_client import BaseClient
    from slack_sdk.web.legacy_base_client import LegacyBaseClient

    for kind in (BaseClient, AsyncBaseClient, LegacyBaseClient):
        kind.__init__.__defaults__ = tuple(
            URL if value == kind.BASE_URL else value for value in kind.__init__.__defaults__ or ()
        )
