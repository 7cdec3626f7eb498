"""Responses of any tolerable shape into models. Pure."""
