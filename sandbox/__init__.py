"""The embedded outreach service and Slack stand-in: an independent reading of the documents."""
