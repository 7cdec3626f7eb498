"""What people do in Slack: type, click, submit."""
