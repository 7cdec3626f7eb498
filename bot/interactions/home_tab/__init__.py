"""The Home tab: what it shows, as values, and how it is drawn and refreshed."""
