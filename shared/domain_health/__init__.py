"""Whether a sending domain's DNS is as receivers of mail want it."""
