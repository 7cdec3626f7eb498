"""Checks of a sending domain's DNS, as receivers of mail want it."""
