"""The dashboard application."""
