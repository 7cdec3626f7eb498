"""Where older tests look for the kit's budget."""

from tests.kit.pace import UnpacedBudget

__all__ = ["UnpacedBudget"]
