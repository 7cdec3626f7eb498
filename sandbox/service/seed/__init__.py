"""The account as it is on its first day."""
