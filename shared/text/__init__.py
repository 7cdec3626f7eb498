"""Text from outside: sanitized for terminals, split into words."""
