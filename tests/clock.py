"""Where older tests look for the kit's clock."""

from tests.kit.clock import CLOCK, NOW, moment

__all__ = ["CLOCK", "NOW", "moment"]
