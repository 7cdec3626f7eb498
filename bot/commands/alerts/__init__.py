"""What people do with an alert: claim it, assign it, acknowledge it, and find it by name."""
