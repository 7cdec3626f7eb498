"""The `outreach` command."""
