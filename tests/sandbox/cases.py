"""Cases that stand in files as JSON, where long values are written short."""

from __future__ import annotations

import json
from typing import Any


def built(value: Any, times: int) -> Any:
    """A case with each `repeat` written out so often, or as often as it says; `#` is the place of an item."""
    if isinstance(value, list):
        return [built(item, times) for item in value]
    if not isinstance(value, dict):
        return value
    if "repeat" not in value:
        return {name: built(item, times) for name, item in value.items()}
    part, times = value["repeat"], value.get("times", times)
    if isinstance(part, list):
        item = json.dumps(built(part[0], times))
        return [json.loads(item.replace("#", str(place))) for place in range(times)]
    return times * part if isinstance(part, int) else value.get("after", "").ljust(times, part)
