"""What the dashboard shows, as plain values. Pure."""
