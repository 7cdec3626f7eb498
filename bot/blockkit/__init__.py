"""A Card as Block Kit, within Slack's limits. Pure."""
