"""Where older tests look for the kit's way around the rate."""

from tests.kit.pace import lift_rate_limit

__all__ = ["lift_rate_limit"]
