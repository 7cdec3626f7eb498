"""Turns responses in any known format into models. Pure."""
