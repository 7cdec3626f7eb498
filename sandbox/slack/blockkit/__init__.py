"""Block Kit's rules as Slack enforces them; source: docs.slack.dev/reference/block-kit."""
