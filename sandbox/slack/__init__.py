"""A Slack that refuses what Slack refuses."""
