"""`webhooks.json`, where earlier versions kept webhook subscriptions; read once, to import it into the database."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shared.api.models import Subscription

FILE_NAME = "webhooks.json"


class WebhookFileUnreadable(Exception):
    """The file of webhook subscriptions cannot be read; it holds secrets that exist nowhere else."""


def read_webhook_file(path: Path) -> Mapping[str, tuple[Subscription, ...]]:
    """The subscriptions by workspace; none without a file. Raises `WebhookFileUnreadable`."""
    try:
        return {name: tuple(map(_subscription, kept)) for name, kept in json.loads(path.read_bytes()).items()}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise WebhookFileUnreadable(f"{path} can't be read: {error.strerror}.") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        fix = "Repair it, or move it away and subscribe again with `outreach webhooks create`."
        raise WebhookFileUnreadable(f"{path} is damaged. {fix}") from None


def _subscription(kept: Mapping[str, Any]) -> Subscription:
    return Subscription(
        id=str(kept["id"]),
        secret=str(kept["secret"]),
        url=str(kept["url"]),
        events=tuple(map(str, kept["events"])),
    )
