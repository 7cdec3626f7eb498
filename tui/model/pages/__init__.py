"""The content of pages and cards. Pure."""
