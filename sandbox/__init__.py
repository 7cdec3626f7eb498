"""The embedded outreach service and Slack stand-in: an independent reading of the documents."""

SCENARIOS = ("calm-week", "deliverability-crisis", "reply-storm", "empty")
"""Here, where a name costs no library: help and completion list them."""
